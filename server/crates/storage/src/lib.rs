//! The Storage trait: etcd v3 semantics that every engine offers.
//!
//! One monotonic revision per store; every write is compared with the revision that its writer
//! last saw; ranges are read at one revision; a watch delivers every change after a revision,
//! in order, once. Knows keys and bytes, nothing of Kubernetes objects.

pub mod entry;
pub mod error;
mod select;

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

pub use entry::{Annex, Entry, Key, Revision};
pub use error::Error;
pub use select::{Facet, Only, Select};

/// The longest value, which is what etcd takes unless it is told otherwise.
pub const VALUE_BYTES_MAX: usize = 3 << 19;

/// What a storage operation gives.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The moment to read at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The newest revision that any acknowledged write has: a linearizable read.
    Latest,
    /// The newest revision that is at hand, if it is no older than this; 0 for whatever there is.
    /// An engine that lags behind others waits a little; then [`Error::Future`].
    NotOlderThan(Revision),
    /// Exactly this revision; [`Error::Compacted`] or [`Error::Future`] where it is out of reach.
    Revision(Revision),
}

/// What a write expects to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing under the key.
    Absent,
    /// The entry last modified at this revision.
    Revision(Revision),
}

/// What a write does.
#[derive(Clone, Debug)]
pub enum Change {
    /// Puts a value under the key.
    Put {
        /// The encoded object.
        value: Bytes,
        /// Seconds after which the engine deletes it by itself.
        ttl_seconds: Option<u32>,
    },
    /// Deletes what is under the key.
    Delete,
}

/// How a write ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It happened, durably. For a delete, `entry` is what was there, `revision` that of the delete.
    Done {
        /// The revision of the write.
        revision: Revision,
        /// The new entry, or the deleted one.
        entry: Arc<Entry>,
    },
    /// It did not: this is what is there instead.
    Mismatch {
        /// The revision at which this was seen.
        revision: Revision,
        /// What is under the key.
        current: Option<Arc<Entry>>,
    },
}

/// A part of a range.
#[derive(Clone, Debug)]
pub struct Page {
    /// The revision at which it was read.
    pub revision: Revision,
    /// In key order.
    pub entries: Vec<Arc<Entry>>,
    /// How many more entries the range holds behind these.
    pub remaining: u64,
}

/// What to read of the keys below a prefix.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// All keys that start with it.
    pub prefix: &'a str,
    /// Only keys after this one, exclusive.
    pub after: Option<&'a str>,
    /// At most so many entries; 0 for all.
    pub limit: usize,
    /// The moment.
    pub at: At,
}

/// A change that a watch delivers.
#[derive(Clone, Debug)]
pub enum Event {
    /// An entry was created or changed.
    Put {
        /// As it is now; its `mod_revision` is that of the change.
        entry: Arc<Entry>,
        /// As it was before; `None` for a creation.
        previous: Option<Arc<Entry>>,
    },
    /// An entry was deleted or expired.
    Delete {
        /// As it last was.
        previous: Arc<Entry>,
        /// The revision of the deletion.
        revision: Revision,
    },
    /// Everything up to this revision has been delivered. Where the engine can tell, one comes when
    /// the watch has caught up with the present; others from time to time.
    Progress(Revision),
}

impl Event {
    /// The revision of the change.
    pub fn revision(&self) -> Revision {
        match self {
            Self::Put { entry, .. } => entry.mod_revision,
            Self::Delete { revision, .. } | Self::Progress(revision) => *revision,
        }
    }

    /// The key that changed; `None` for progress.
    pub fn key(&self) -> Option<&Key> {
        match self {
            Self::Put { entry, .. } => Some(&entry.key),
            Self::Delete { previous, .. } => Some(&previous.key),
            Self::Progress(_) => None,
        }
    }
}

/// The changes below a prefix. Ends after an error: [`Error::Compacted`] where the receiver was
/// too slow or the start too old.
pub type Watch = BoxStream<'static, Result<Event>>;

/// The changes up to a revision, for somebody who keeps the entries and so knows what was there before.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// With these changes, everything up to this revision has been delivered.
    pub revision: Revision,
    /// In order; of each revision all or none.
    pub changes: Vec<Step>,
}

/// What happened to one key.
#[derive(Clone, Debug)]
pub enum Step {
    /// An entry was created or changed.
    Put(Arc<Entry>),
    /// It was deleted or expired.
    Delete(Key, Revision),
}

impl From<Event> for Batch {
    fn from(event: Event) -> Self {
        let revision = event.revision();
        let changes = match event {
            Event::Put { entry, .. } => vec![Step::Put(entry)],
            Event::Delete { previous, .. } => vec![Step::Delete(previous.key.clone(), revision)],
            Event::Progress(_) => Vec::new(),
        };
        Self { revision, changes }
    }
}

/// A [`Watch`] in batches. Ends after an error, as that does.
pub type Feed = BoxStream<'static, Result<Batch>>;

/// An engine.
pub trait Storage: Send + Sync + 'static {
    /// The newest revision.
    fn revision(&self) -> BoxFuture<'_, Result<Revision>>;

    /// One entry, and the revision at which it was read.
    fn get<'a>(&'a self, key: &'a str, at: At) -> BoxFuture<'a, Result<(Revision, Option<Arc<Entry>>)>>;

    /// Entries below a prefix.
    fn range<'a>(&'a self, range: Range<'a>) -> BoxFuture<'a, Result<Page>>;

    /// The entries of a range that are wanted; the limit counts these. What remains is what comes behind the last
    /// one, wanted or not.
    fn select<'a>(&'a self, range: Range<'a>, wanted: &'a dyn Select) -> BoxFuture<'a, Result<Page>> {
        Box::pin(select::by_range(self, range, wanted))
    }

    /// Compares and writes, durably, as one step. A delete that expects nothing never happens: it
    /// always answers [`Outcome::Mismatch`].
    fn commit(&self, key: Key, expect: Expect, change: Change) -> BoxFuture<'_, Result<Outcome>>;

    /// Every change below `prefix` with a revision greater than `after`, then those to come. `after`
    /// may be in the future: what happens until then is left out.
    fn watch<'a>(&'a self, prefix: &'a str, after: Revision) -> BoxFuture<'a, Result<Watch>>;

    /// As [`Storage::watch`], for a mirror of the entries. An engine in which several changes may share
    /// a revision has to make them one batch.
    fn feed<'a>(&'a self, prefix: &'a str, after: Revision) -> BoxFuture<'a, Result<Feed>> {
        Box::pin(async move {
            let watch = self.watch(prefix, after).await?;
            Ok(watch.map(|event| event.map(Batch::from)).boxed())
        })
    }

    /// As [`Storage::watch`], for who cares about some entries only: a change may be left out where they include
    /// the entry neither as it was nor as it is.
    fn watch_only<'a>(
        &'a self,
        prefix: &'a str,
        after: Revision,
        only: Option<&'a Only>,
    ) -> BoxFuture<'a, Result<Watch>> {
        let _ = only;
        self.watch(prefix, after)
    }

    /// Forgets the past before `revision`, which itself stays readable. [`Error::Compacted`] where
    /// that has already happened, [`Error::Future`] where the revision is still to come.
    fn compact(&self, revision: Revision) -> BoxFuture<'_, Result<()>>;

    /// Whether reads and writes can be served: what the readiness check asks.
    fn health(&self) -> BoxFuture<'_, Result<()>>;

    /// Whether an entry would be stored differently today, so that a write that changes nothing is one all the same.
    fn is_stale(&self, entry: &Entry) -> bool {
        let _ = entry;
        false
    }

    /// Whether writes of one caller that begin one after the other, without waiting, happen in that order.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Flushes and stops; later calls fail with [`Error::Unavailable`].
    fn close(&self) -> BoxFuture<'_, Result<()>>;
}
