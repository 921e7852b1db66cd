//! What an informer knows of one resource, for observers to look things up in.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_registry::Store;
use apiwright_storage::Entry;

/// The objects of one resource, as the last event left them. Cheap to clone; the entries are the
/// store's own, not copies.
#[derive(Clone)]
pub struct Cache {
    /// Reads them.
    pub store: Arc<Store>,
    entries: Arc<RwLock<HashMap<Arc<str>, Arc<Entry>>>>,
}

impl Cache {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, entries: Arc::default() }
    }

    /// One object. `namespace` is empty for cluster-scoped ones.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<Entry>> {
        self.at(&self.store.key(namespace, name).ok()?)
    }

    /// All of them, in no order.
    pub fn list(&self) -> Vec<Arc<Entry>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One object, decoded.
    ///
    /// # Errors
    /// 500 where it cannot be read.
    pub fn object(&self, namespace: &str, name: &str) -> Result<Option<Value>> {
        self.get(namespace, name).map(|entry| self.store.decode(&entry)).transpose()
    }

    /// The keys in storage of all of them.
    pub(crate) fn keys(&self) -> Vec<Arc<str>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// What is known under a key in storage.
    pub(crate) fn at(&self, key: &str) -> Option<Arc<Entry>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// What became of a key.
    pub(crate) fn put(&self, key: &Arc<str>, entry: Option<&Arc<Entry>>) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        match entry {
            Some(entry) => drop(entries.insert(Arc::clone(key), Arc::clone(entry))),
            None => drop(entries.remove(key)),
        }
    }
}
