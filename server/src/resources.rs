//! Everything that is stored, built in and custom, for controllers.

use std::collections::HashMap;
use std::sync::Arc;

use apiwright_apiextensions::CustomResources;
use apiwright_controllers::Resources;
use apiwright_policy::Kinds;
use apiwright_registry::Store;

use crate::chain::Stores;

/// The stores of all resources.
pub struct AllResources {
    /// Of those that are built in, by prefix in storage: that of the version that is stored, where it
    /// is served.
    built_in: HashMap<String, Arc<Store>>,
    /// The same in a steady order.
    listed: Vec<Arc<Store>>,
    stores: Stores,
    custom: Arc<CustomResources>,
}

impl AllResources {
    /// What is served of what is built in, and what definitions add.
    pub fn new(stores: Stores, custom: Arc<CustomResources>) -> Self {
        let mut built_in: HashMap<String, Arc<Store>> = HashMap::new();
        let mut served: Vec<Arc<Store>> = stores.iter().cloned().collect();
        served.sort_by(|a, b| name(a).cmp(&name(b)));
        for store in served.iter().filter(|store| !store.resource.storage.prefix.is_empty()) {
            let resource = &store.resource;
            let is_stored = *resource.storage.kind.group == *resource.group
                && *resource.storage.kind.version == *resource.version;
            let prefix = resource.storage.prefix.to_string();
            if is_stored || !built_in.contains_key(&prefix) {
                built_in.insert(prefix, Arc::clone(store));
            }
        }
        let mut listed: Vec<Arc<Store>> = built_in.values().cloned().collect();
        listed.sort_by(|a, b| name(a).cmp(&name(b)));
        Self { built_in, listed, stores, custom }
    }
}

impl Resources for AllResources {
    fn at(&self, prefix: &str) -> Option<Arc<Store>> {
        if let Some(store) = self.built_in.get(prefix) {
            return Some(Arc::clone(store));
        }
        let (group, plural) = prefix.split_once('/')?;
        self.custom.stored(group, plural)
    }

    fn all(&self) -> Vec<Arc<Store>> {
        self.listed.iter().cloned().chain(self.custom.all_stored()).collect()
    }

    fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Store>> {
        let built_in = self.stores.iter().find(|store| {
            let resource = &store.resource;
            *resource.group == *group
                && *resource.version == *version
                && *resource.kind == *kind
                && !resource.storage.prefix.is_empty()
        });
        built_in.cloned().or_else(|| self.custom.stored_kind(group, version, kind))
    }
}

impl Kinds for AllResources {
    fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Store>> {
        Resources::of_kind(self, group, version, kind)
    }
}

fn name(store: &Store) -> (&str, &str, &str) {
    (&store.resource.group, &store.resource.plural, &store.resource.version)
}
