//! The newest changes, and the past that can be rebuilt from them.
//!
//! Changes have positions, counted from the first one ever pushed: several may share a revision,
//! and revisions may be without any. The past is read by undoing changes on a later snapshot; the
//! results are kept for the next page of the same list.

use std::collections::VecDeque;

use apiwright_storage::{Error, Event, Result, Revision};

use crate::Limits;
use crate::snapshot::{Map, Snapshot};

/// How many rebuilt snapshots are kept.
const VIEWS_MAX: usize = 16;
/// What a change costs beside the bytes of its value.
const EVENT_OVERHEAD_BYTES: usize = 256;

/// Where a change stands in the order of all changes.
pub(crate) type Position = u64;

/// A bounded window of changes.
#[derive(Debug)]
pub(crate) struct History {
    /// The newest revision of which a change is forgotten: what can be read and resumed from.
    floor: Revision,
    newest: Revision,
    /// Of what happened between these two, only the outcome is known.
    gap: Option<(Revision, Revision)>,
    /// The position of the first change that is there.
    first: Position,
    events: VecDeque<Event>,
    bytes: usize,
    views: VecDeque<Snapshot>,
    events_max: usize,
    bytes_max: usize,
}

/// A snapshot and the changes to undo on it.
pub(crate) struct Rewind {
    from: Snapshot,
    to: Revision,
    undo: Vec<Event>,
}

impl History {
    pub(crate) fn new(floor: Revision, limits: &Limits) -> Self {
        Self {
            floor,
            newest: floor,
            gap: None,
            first: 0,
            events: VecDeque::new(),
            bytes: 0,
            views: VecDeque::new(),
            events_max: limits.window_events_max,
            bytes_max: limits.window_bytes_max,
        }
    }

    /// The oldest revision that can be read.
    pub(crate) fn floor(&self) -> Revision {
        self.floor
    }

    /// The newest revision.
    pub(crate) fn newest(&self) -> Revision {
        self.newest
    }

    /// Where the next change will stand.
    pub(crate) fn end(&self) -> Position {
        self.first + self.events.len() as Position
    }

    /// Adds a change after the newest, and forgets the oldest ones that are too many.
    pub(crate) fn push(&mut self, event: Event) {
        debug_assert!(event.revision() >= self.newest);
        self.newest = event.revision();
        self.bytes += cost(&event);
        self.events.push_back(event);
        while self.events.len() > self.events_max || self.bytes > self.bytes_max {
            self.forget_one();
        }
        self.drop_views();
    }

    /// There are no more changes up to a revision.
    pub(crate) fn advance(&mut self, revision: Revision) {
        self.newest = self.newest.max(revision);
    }

    /// What comes next is the difference between the newest revision and a later one.
    pub(crate) fn leap(&mut self, to: Revision) {
        // One gap is enough to look out for.
        if let Some((_, end)) = self.gap.replace((self.newest, to))
            && end > self.floor
        {
            let _ = self.compact(end);
        }
    }

    /// Forgets the changes up to a revision.
    pub(crate) fn compact(&mut self, revision: Revision) -> Result<()> {
        let (oldest, newest) = (self.floor, self.newest);
        if revision < oldest {
            return Err(Error::Compacted { requested: revision, oldest });
        }
        if revision > newest {
            return Err(Error::Future { requested: revision, newest });
        }
        while self.events.front().is_some_and(|event| event.revision() <= revision) {
            self.forget_one();
        }
        self.floor = revision;
        self.events.shrink_to(self.events.len() * 2);
        self.drop_views();
        Ok(())
    }

    /// Where the changes after a revision begin.
    pub(crate) fn after(&self, revision: Revision) -> Result<Position> {
        if revision < self.floor {
            return Err(Error::Compacted { requested: revision, oldest: self.floor });
        }
        if let Some((start, end)) = self.gap
            && revision > start
            && revision < end
        {
            return Err(Error::Compacted { requested: revision, oldest: end });
        }
        let index = self.events.partition_point(|event| event.revision() <= revision);
        Ok(self.first + index as Position)
    }

    /// The changes from a position on, oldest first; `None` where some of them are forgotten.
    pub(crate) fn from(&self, position: Position) -> Option<impl Iterator<Item = &Event>> {
        let start = position.checked_sub(self.first)? as usize;
        Some(self.events.range(start.min(self.events.len())..))
    }

    /// What it takes to read the past. Cheap, as it is made under the lock of the window;
    /// [`Rewind::run`] does the work outside.
    pub(crate) fn rewind(&self, newest: &Snapshot, to: Revision) -> Result<Rewind> {
        if to > newest.revision {
            return Err(Error::Future { requested: to, newest: newest.revision });
        }
        let later = self.views.iter().filter(|view| view.revision >= to).min_by_key(|view| view.revision);
        let from = later.unwrap_or(newest).clone();
        let undo = self
            .from(self.after(to)?)
            .into_iter()
            .flatten()
            .take_while(|event| event.revision() <= from.revision)
            .cloned()
            .collect();
        Ok(Rewind { from, to, undo })
    }

    /// Keeps a rebuilt snapshot.
    pub(crate) fn keep(&mut self, view: Snapshot) {
        if view.revision < self.floor || self.views.iter().any(|kept| kept.revision == view.revision) {
            return;
        }
        if self.views.len() == VIEWS_MAX {
            self.views.pop_front();
        }
        self.views.push_back(view);
    }

    fn forget_one(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.bytes -= cost(&event);
            self.floor = event.revision();
            self.first += 1;
        }
    }

    fn drop_views(&mut self) {
        let floor = self.floor;
        self.views.retain(|view| view.revision >= floor);
    }
}

impl Rewind {
    /// The snapshot of the past, and whether it is worth keeping.
    pub(crate) fn run(self) -> (Snapshot, bool) {
        let Self { from, to, undo } = self;
        let mut map: Map = from.map;
        for event in undo.iter().rev() {
            match event {
                Event::Put { previous: Some(entry), .. } | Event::Delete { previous: entry, .. } => {
                    map.insert(entry.key.clone(), entry.clone());
                }
                Event::Put { entry, previous: None } => {
                    map.remove(&*entry.key);
                }
                Event::Progress(_) => {}
            }
        }
        (Snapshot { revision: to, map }, !undo.is_empty())
    }
}

/// The memory that a change holds: the value that it replaced, since its own is in the map or is what a
/// later change replaced.
fn cost(event: &Event) -> usize {
    let replaced = match event {
        Event::Put { previous, .. } => previous.as_ref().map_or(0, |previous| previous.value.len()),
        Event::Delete { previous, .. } => previous.value.len(),
        Event::Progress(_) => 0,
    };
    EVENT_OVERHEAD_BYTES + replaced
}
