//! A store on disk: a table of the entries as of some revision, and a log of what came after.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use apiwright_cache::Snapshot;
use apiwright_storage::{Error, Event, Revision};

use crate::Options;
use crate::batch::{Batch, Step};
use crate::checkpoint::{Checkpoints, Part};
use crate::disk::Disk;
use crate::expiry::Deadlines;
use crate::failure::Failure;
use crate::log::{self, AppendError, Log, LoggedChange};
use crate::open_error::OpenError;
use crate::table::{self, Entries, Table};

/// The store on disk.
#[derive(Debug)]
pub(crate) struct Durable {
    log: Log,
    checkpoints: Checkpoints,
}

/// What was on disk.
pub(crate) struct Loaded {
    pub(crate) snapshot: Snapshot,
    pub(crate) deadlines: Deadlines,
    /// The newest changes, which led to this.
    pub(crate) events: Vec<Event>,
}

/// Why a batch was not written.
#[derive(Debug)]
pub(crate) struct WriteError {
    pub(crate) error: Error,
    /// Whether it may turn up all the same; [`Durable::settle`] sees to it that it does not.
    pub(crate) in_doubt: bool,
}

impl Loaded {
    /// What a new store has in it.
    pub(crate) fn empty() -> Self {
        let Entries { snapshot, deadlines } = Entries::none();
        Self { snapshot, deadlines, events: Vec::new() }
    }
}

/// Reads all of a store, which is there. Gives the changes that only the log has, too.
pub(crate) fn load(
    disk: Arc<dyn Disk>,
    dir: &Path,
    options: &Options,
) -> Result<(Table, Log, Loaded, VecDeque<Part>), OpenError> {
    let failed = |failure: Failure| failure.into_open_error(&dir.join(table::FILE));
    let (table, entries, segment) = Table::open(disk.clone()).map_err(failed)?;
    let Entries { mut snapshot, mut deadlines } = entries;
    let mut events = Vec::new();
    let mut pending = VecDeque::new();
    let (log, newest) =
        Log::open(disk, segment, snapshot.revision, options.segment_bytes(), |revision, change| {
            let step = apply(&mut snapshot, revision, change, &mut events)?;
            deadlines.set(&step.entry.key, step.deadline);
            pending.push_back(Part { revision, bytes: step.entry.value.len(), steps: vec![step] });
            Ok(())
        })
        .map_err(|failure| failure.into_open_error(&dir.join("log")))?;
    snapshot.revision = newest;
    Ok((table, log, Loaded { snapshot, deadlines, events }, pending))
}

impl Durable {
    /// Whether there is a store.
    pub(crate) fn exists(disk: &dyn Disk, dir: &Path) -> Result<bool, OpenError> {
        Table::exists(disk, dir)
    }

    /// Makes a store where there is none.
    pub(crate) fn create(disk: Arc<dyn Disk>, dir: &Path, entries: &Entries) -> Result<(), OpenError> {
        // An earlier attempt may have got somewhere.
        log::remove_all(&*disk)
            .and_then(|()| Table::create(disk, entries)?.close())
            .map_err(|failure| failure.into_open_error(&dir.join(table::FILE)))
    }

    /// Opens the store, which is made where there is none, and reads all of it.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        dir: &Path,
        options: &Options,
    ) -> Result<(Self, Loaded), OpenError> {
        if !Self::exists(&*disk, dir)? {
            let path = dir.join(table::FILE);
            if log::exists(&*disk).map_err(|failure| failure.into_open_error(&path))? {
                let what = "it is missing, though its log is there".into();
                return Err(OpenError::Corrupt { path, what });
            }
            Self::create(disk.clone(), dir, &Entries::none())?;
        }
        let (table, log, mut loaded, pending) = load(disk, dir, options)?;
        loaded.deadlines.bound(options.clock.now());
        let checkpoints = Checkpoints::start(table, pending, options)
            .map_err(|source| OpenError::Io { path: dir.to_owned(), source })?;
        Ok((Self { log, checkpoints }, loaded))
    }

    /// Makes a batch durable, which goes on from `newest`.
    pub(crate) fn append(&mut self, newest: Revision, batch: &Batch) -> Result<(), WriteError> {
        match self.log.append(newest, &batch.steps) {
            Ok(bytes) => {
                if !batch.steps.is_empty() {
                    let steps = batch.steps.clone();
                    self.checkpoints.add(Part { revision: batch.head.revision, steps, bytes });
                }
                Ok(())
            }
            Err(AppendError { failure, in_doubt }) => {
                Err(WriteError { error: failure.into_error(), in_doubt })
            }
        }
    }

    /// Sees to it that nothing after `newest` turns up.
    pub(crate) fn settle(&mut self, newest: Revision) -> Result<(), Error> {
        self.log.begin_segment(newest).map_err(Failure::into_error)
    }

    /// Does what keeps the log short.
    pub(crate) fn tidy(&mut self, newest: &Snapshot, deadlines: &Deadlines) {
        self.checkpoints.run(&mut self.log, newest, deadlines);
    }

    /// Closes the files.
    pub(crate) fn close(mut self, newest: Revision) -> Result<(), Error> {
        // So that damage to the last change shows as such: see the log.
        let ended = if self.log.is_broken() { Ok(()) } else { self.log.append(newest, &[]).map(drop) };
        let ended = ended.map_err(|error| error.failure.into_error());
        self.checkpoints.close().map_err(Failure::into_error).and(ended)
    }
}

/// Does a change that the log has.
fn apply(
    snapshot: &mut Snapshot,
    revision: Revision,
    change: LoggedChange<'_>,
    events: &mut Vec<Event>,
) -> Result<Step, Failure> {
    match change {
        LoggedChange::Put(entry, deadline) => {
            if entry.mod_revision != revision {
                let found = entry.mod_revision;
                return Err(Failure::Damage(format!("{} is of revision {found}, not {revision}", entry.key)));
            }
            let previous = snapshot.map.insert(entry.key.clone(), entry.clone());
            events.push(Event::Put { entry: entry.clone(), previous });
            Ok(Step { entry, deleted: false, deadline })
        }
        LoggedChange::Delete(key) => {
            let Some(previous) = snapshot.map.remove(key) else {
                return Err(Failure::Damage(format!(
                    "{key} is deleted at revision {revision}, and is not there"
                )));
            };
            events.push(Event::Delete { previous: previous.clone(), revision });
            Ok(Step { entry: previous, deleted: true, deadline: None })
        }
    }
}
