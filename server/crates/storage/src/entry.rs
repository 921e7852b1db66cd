//! What is stored under a key.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

/// A store's clock: every write takes the next one. A new store is at 1, so that 0 is free to mean
/// no revision at all.
pub type Revision = u64;

/// The key of an entry, `/registry/pods/default/web-0`.
pub type Key = Arc<str>;

/// A value and its history. Immutable and shared: one in memory, however many hold it.
#[derive(Debug)]
pub struct Entry {
    /// Where it is.
    pub key: Key,
    /// The encoded object.
    pub value: Bytes,
    /// The write that created the key.
    pub create_revision: Revision,
    /// The last write.
    pub mod_revision: Revision,
    /// How many writes since the creation, from 1.
    pub version: u64,
    /// What a layer above derived from `value` and keeps with it.
    pub annex: Annex,
}

/// A slot that a layer above fills once per entry, for instance with extracted labels.
#[derive(Default)]
pub struct Annex(OnceLock<Box<dyn Any + Send + Sync>>);

impl Annex {
    /// What was derived, deriving it now if nobody has.
    ///
    /// # Panics
    /// When two layers use the slot for different types, which is a bug.
    pub fn get_or_derive<T: Any + Send + Sync>(&self, derive: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(|| Box::new(derive())).downcast_ref().expect("one layer owns the annex")
    }
}

impl std::fmt::Debug for Annex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.get().is_some() { "Annex(derived)" } else { "Annex" })
    }
}
