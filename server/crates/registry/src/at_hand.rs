//! What a write begins with: the entry at hand, which a cache in front of the engine may hold a moment
//! longer than it is true.
//!
//! Invariant: nothing is answered from an outdated entry. A write that was compared has proved it to be
//! current; where nothing was written (a refusal, no change, a dry run), the newest one is asked for,
//! and the work is done again if that is another one. So does upstream's GuaranteedUpdate.

use std::sync::Arc;

use apiwright_meta::status::Result;
use apiwright_storage::{At, Entry, Key};

use crate::store::Store;

/// An entry to work on, or that there is none.
pub(crate) struct AtHand {
    pub(crate) entry: Option<Arc<Entry>>,
    is_current: bool,
}

impl AtHand {
    /// What a comparison showed to be there.
    pub(crate) fn current(entry: Option<Arc<Entry>>) -> Self {
        Self { entry, is_current: true }
    }

    /// The write that made it; 0 where there is none.
    pub(crate) fn revision(&self) -> u64 {
        self.entry.as_ref().map_or(0, |entry| entry.mod_revision)
    }
}

impl Store {
    /// What is at hand of a key.
    pub(crate) async fn at_hand(&self, key: &Key, operation: &str) -> Result<AtHand> {
        let read = self.storage.get(key, At::NotOlderThan(0)).await;
        let (_, entry) = read.map_err(|error| self.storage_error(error, operation))?;
        Ok(AtHand { entry, is_current: false })
    }

    /// What is there now, where that is not what was at hand.
    pub(crate) async fn newer(&self, key: &Key, seen: &AtHand, operation: &str) -> Result<Option<AtHand>> {
        if seen.is_current {
            return Ok(None);
        }
        let read = self.storage.get(key, At::Latest).await;
        let (_, entry) = read.map_err(|error| self.storage_error(error, operation))?;
        let newest = AtHand::current(entry);
        Ok((newest.revision() != seen.revision()).then_some(newest))
    }
}
