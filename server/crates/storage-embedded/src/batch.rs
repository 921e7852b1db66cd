//! The writes that share one commit.
//!
//! Each write is compared with what the writes before it leave behind, so a batch is exactly a
//! sequence of single writes. Nobody sees any of it before it is published.

use std::sync::Arc;

use apiwright_cache::Snapshot;
use apiwright_storage::{Annex, Change, Entry, Event, Expect, Key, Outcome, Result};
use tokio::sync::oneshot;

use crate::expiry::{Deadline, Millis};

/// Who waits for a write.
pub(crate) type Reply = oneshot::Sender<Result<Outcome>>;

/// One write, as it was asked for.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) key: Key,
    pub(crate) expect: Expect,
    pub(crate) change: Change,
    pub(crate) reply: Reply,
}

/// What a batch does to one key.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The new entry, or the one that goes.
    pub(crate) entry: Arc<Entry>,
    pub(crate) deleted: bool,
    pub(crate) deadline: Option<Deadline>,
}

/// Writes on top of a snapshot.
#[derive(Debug)]
pub(crate) struct Batch {
    /// What is there once the batch is committed.
    pub(crate) head: Snapshot,
    pub(crate) steps: Vec<Step>,
    pub(crate) events: Vec<Event>,
    pub(crate) outcomes: Vec<(Reply, Outcome)>,
    /// The bytes of all values put.
    pub(crate) bytes: usize,
}

impl Batch {
    pub(crate) fn new(head: Snapshot) -> Self {
        Self { head, steps: Vec::new(), events: Vec::new(), outcomes: Vec::new(), bytes: 0 }
    }

    /// Compares and does one write.
    pub(crate) fn write(&mut self, write: Write, now: Millis) {
        let Write { key, expect, change, reply } = write;
        let current = self.head.map.get(&*key).cloned();
        let found = match (expect, &current) {
            (Expect::Absent, None) => matches!(change, Change::Put { .. }),
            (Expect::Revision(revision), Some(entry)) => entry.mod_revision == revision,
            _ => false,
        };
        let outcome = match (change, current) {
            (Change::Put { value, ttl_seconds }, previous) if found => {
                let deadline = ttl_seconds.map(|seconds| Deadline::after(now, seconds));
                self.put(key, value, previous, deadline)
            }
            (Change::Delete, Some(previous)) if found => self.delete(previous),
            (_, current) => Outcome::Mismatch { revision: self.head.revision, current },
        };
        self.outcomes.push((reply, outcome));
    }

    /// Deletes an entry whose time has come.
    pub(crate) fn expire(&mut self, key: &str) {
        if let Some(previous) = self.head.map.get(key).cloned() {
            self.delete(previous);
        }
    }

    fn put(
        &mut self,
        key: Key,
        value: bytes::Bytes,
        previous: Option<Arc<Entry>>,
        deadline: Option<Deadline>,
    ) -> Outcome {
        self.head.revision += 1;
        self.bytes += value.len();
        let revision = self.head.revision;
        let (key, create_revision, version) = match &previous {
            // The map keeps its first copy of the key; so everyone shares that one.
            Some(previous) => (previous.key.clone(), previous.create_revision, previous.version + 1),
            None => (key, revision, 1),
        };
        let entry = Arc::new(Entry {
            key: key.clone(),
            value,
            create_revision,
            mod_revision: revision,
            version,
            annex: Annex::default(),
        });
        self.head.map.insert(key, entry.clone());
        self.events.push(Event::Put { entry: entry.clone(), previous });
        self.steps.push(Step { entry: entry.clone(), deleted: false, deadline });
        Outcome::Done { revision, entry }
    }

    fn delete(&mut self, previous: Arc<Entry>) -> Outcome {
        self.head.revision += 1;
        let revision = self.head.revision;
        self.head.map.remove(&*previous.key);
        self.events.push(Event::Delete { previous: previous.clone(), revision });
        self.steps.push(Step { entry: previous.clone(), deleted: true, deadline: None });
        Outcome::Done { revision, entry: previous }
    }
}
