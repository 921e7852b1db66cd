//! What the writer publishes and everyone else reads.
//!
//! Invariant: only durable writes get here.

use apiwright_cache::{Limits, Memory, Snapshot};
use apiwright_storage::{Error, Event};
use parking_lot::Mutex;

/// The published state.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) memory: Memory,
    /// Why writes fail at present.
    pub(crate) failure: Mutex<Option<Error>>,
}

impl Shared {
    pub(crate) fn new(snapshot: Snapshot, past: Vec<Event>, limits: &Limits) -> Self {
        Self { memory: Memory::with_past(snapshot, past, limits), failure: Mutex::new(None) }
    }
}
