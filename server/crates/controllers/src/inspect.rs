//! How a controller's keys stand, for those who look behind it. Nothing is remembered for it: each key is
//! observed when somebody asks.

use std::collections::BTreeSet;

use apiwright_meta::status::Result;

use crate::cache::Cache;
use crate::change::object_key;
use crate::controllers::Running;
use crate::queue::Key;
use crate::reconcile::Standing;
use crate::spec::{KeyFrom, WatchSpec};
use crate::worker::Worker;

/// What a controller does, and how its keys stand.
#[derive(Debug)]
pub struct Inspected {
    /// What it is up to.
    pub state: &'static str,
    /// How many keys wait in its queue.
    pub queued: usize,
    /// The keys, by name.
    pub keys: Vec<InspectedKey>,
    /// How many keys there are besides.
    pub more: usize,
}

/// How a key stands.
#[derive(Debug)]
pub struct InspectedKey {
    /// The key.
    pub key: Key,
    /// The facts and what they call for, or why they cannot be had.
    pub standing: Result<Standing>,
    /// How often it failed in a row.
    pub failures: u32,
}

impl Running {
    /// How the keys of a controller stand, at most so many; `None` where no such controller runs.
    pub async fn inspect(&self, name: &str, keys_max: usize) -> Option<Inspected> {
        let worker = self.find(name)?;
        let all = worker.keys();
        let mut keys = Vec::new();
        for key in all.iter().take(keys_max) {
            let standing = worker.controller.stand(key).await;
            keys.push(InspectedKey { key: Key::clone(key), standing, failures: worker.queue.failures(key) });
        }
        let state = match (worker.is_at_work(), *worker.synced().borrow()) {
            (true, true) => "at work",
            (true, false) => "looking at everything for the first time",
            (false, _) => "standing aside",
        };
        Some(Inspected { state, queued: worker.queue.len(), more: all.len() - keys.len(), keys })
    }
}

impl Worker {
    /// The keys of what is there, as the watches say, and of what is to be done.
    fn keys(&self) -> BTreeSet<Key> {
        let mut keys: BTreeSet<Key> = self.queue.pending().into_iter().collect();
        for (watch, cache) in &self.sources {
            if let Some(cache) = cache {
                keys.extend(cache.list().iter().filter_map(|entry| key_of(watch, cache, entry)));
            }
            if let KeyFrom::Always(key) = watch.from {
                keys.insert(key.into());
            }
        }
        keys
    }
}

fn key_of(watch: &WatchSpec, cache: &Cache, entry: &apiwright_storage::Entry) -> Option<Key> {
    let facts = cache.store.facts(entry);
    let object = object_key(&facts.namespace, &facts.name);
    if watch.only.is_some_and(|only| only != object) {
        return None;
    }
    match watch.from {
        KeyFrom::Object => Some(object.into()),
        KeyFrom::Name => Some(facts.name.as_str().into()),
        KeyFrom::Namespace => Some(facts.namespace.as_str().into()),
        KeyFrom::Always(key) => Some(key.into()),
        // Only the controller knows, and what it does with a change it does once.
        KeyFrom::Hook => None,
    }
}
