//! The newest changes, and the past that can be rebuilt from them.
//!
//! Every revision is exactly one change, so the window is an array: its first change is the one
//! after `floor`, its last the newest. The past is read by undoing changes on a later snapshot;
//! the results are kept for the next page of the same list.

use std::collections::VecDeque;

use apiwright_storage::{Error, Event, Result, Revision};

use crate::Options;
use crate::snapshot::{Map, Snapshot};

/// How many rebuilt snapshots are kept.
const VIEWS_MAX: usize = 16;
/// What a change costs beside the bytes of its value.
const EVENT_OVERHEAD_BYTES: usize = 256;

/// A bounded window of changes.
#[derive(Debug)]
pub(crate) struct History {
    /// The newest revision whose change is forgotten: what can be read and resumed from.
    floor: Revision,
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
    pub(crate) fn new(floor: Revision, options: &Options) -> Self {
        Self {
            floor,
            events: VecDeque::new(),
            bytes: 0,
            views: VecDeque::new(),
            events_max: options.window_events_max,
            bytes_max: options.window_bytes_max,
        }
    }

    /// The oldest revision that can be read.
    pub(crate) fn floor(&self) -> Revision {
        self.floor
    }

    /// The newest revision.
    pub(crate) fn newest(&self) -> Revision {
        self.floor + self.events.len() as Revision
    }

    /// Adds the change after the newest, and forgets the oldest ones that are too many.
    pub(crate) fn push(&mut self, event: Event) {
        debug_assert_eq!(event.revision(), self.newest() + 1);
        self.bytes += cost(&event);
        self.events.push_back(event);
        while self.events.len() > self.events_max || self.bytes > self.bytes_max {
            self.forget_one();
        }
        self.drop_views();
    }

    /// Forgets the changes up to a revision.
    pub(crate) fn compact(&mut self, revision: Revision) -> Result<()> {
        let (oldest, newest) = (self.floor, self.newest());
        if revision < oldest {
            return Err(Error::Compacted { requested: revision, oldest });
        }
        if revision > newest {
            return Err(Error::Future { requested: revision, newest });
        }
        while self.floor < revision {
            self.forget_one();
        }
        self.events.shrink_to(self.events.len() * 2);
        self.drop_views();
        Ok(())
    }

    /// The changes after a revision, oldest first.
    pub(crate) fn after(&self, revision: Revision) -> Result<impl Iterator<Item = &Event>> {
        if revision < self.floor {
            return Err(Error::Compacted { requested: revision, oldest: self.floor });
        }
        let start = ((revision - self.floor) as usize).min(self.events.len());
        Ok(self.events.range(start..))
    }

    /// What it takes to read the past. Cheap, as it is made under the lock of the window;
    /// [`Rewind::run`] does the work outside.
    pub(crate) fn rewind(&self, newest: &Snapshot, to: Revision) -> Result<Rewind> {
        if to > newest.revision {
            return Err(Error::Future { requested: to, newest: newest.revision });
        }
        let later = self.views.iter().filter(|view| view.revision >= to).min_by_key(|view| view.revision);
        let from = later.unwrap_or(newest).clone();
        let count = (from.revision - to) as usize;
        let undo = self.after(to)?.take(count).cloned().collect();
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

/// The memory that a change holds: its own value, which an older change or the map then lets go.
fn cost(event: &Event) -> usize {
    let value = match event {
        Event::Put { entry, .. } => entry.value.len(),
        Event::Delete { .. } | Event::Progress(_) => 0,
    };
    EVENT_OVERHEAD_BYTES + value
}
