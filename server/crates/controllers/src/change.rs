//! A change of one stored object, as controllers hear of it.

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_registry::{ObjectFacts, Store};
use apiwright_storage::Entry;
use tracing::error;

use crate::spec::ResourceName;

/// What became of an object. At the start, and after a gap, every object is as if it were new.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    /// Reads it.
    pub store: &'a Arc<Store>,
    /// As it was; `None` where it was not, or where nobody remembers.
    pub old: Option<&'a Arc<Entry>>,
    /// As it is; `None` where it is gone.
    pub new: Option<&'a Arc<Entry>>,
}

impl<'a> Change<'a> {
    /// The object as it is, or as it last was.
    pub fn entry(&self) -> Option<&'a Arc<Entry>> {
        self.new.or(self.old)
    }

    /// What is known of it without decoding it.
    pub fn facts(&self) -> Option<&'a ObjectFacts> {
        // The store outlives the borrow of self, not the facts: they are the entry's.
        self.entry().map(|entry| self.store.facts(entry))
    }

    /// Whether it is of this resource, of whatever version.
    pub fn is_of(&self, group: &str, plural: &str) -> bool {
        *self.store.resource.group == *group && *self.store.resource.plural == *plural
    }

    /// Whether it is of the resource that a spec names.
    pub fn is(&self, resource: ResourceName) -> bool {
        self.is_of(resource.group, resource.plural)
    }

    /// The object as it is, or as it last was.
    pub fn decode(&self) -> Option<Value> {
        let entry = self.entry()?;
        match self.store.decode(entry) {
            Ok(value) => Some(value),
            Err(why) => {
                error!(key = &*entry.key, why = why.message, "cannot read an object");
                None
            }
        }
    }

    /// `namespace/name`, or `name`.
    pub fn key(&self) -> String {
        self.facts().map(|facts| object_key(&facts.namespace, &facts.name)).unwrap_or_default()
    }
}

/// `namespace/name`, or `name`.
pub(crate) fn object_key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}
