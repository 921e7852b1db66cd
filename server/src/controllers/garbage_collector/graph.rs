//! Who owns what: kept up to date by every change, in their order.
//!
//! Only objects with owners are in it, and objects that wait for their dependents; an owner is known
//! by its uid, whether it is there or not.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use apiwright_controllers::{Change, Key, Queue};
use apiwright_json::{Str, Value};
use apiwright_meta::object;

use super::{FOREGROUND, ORPHAN};

/// Below it is everything.
const ROOT: &str = "/registry/";

/// The graph.
#[derive(Default)]
pub(in crate::controllers) struct Graph {
    state: Mutex<State>,
    /// Where keys go that are to be looked at.
    queue: OnceLock<Arc<Queue>>,
}

#[derive(Default)]
struct State {
    /// Of each object with owners, these.
    owned: HashMap<Key, Vec<Reference>>,
    /// Of each owner, the keys of its dependents.
    dependents: HashMap<Str, HashSet<Key>>,
    /// The objects that wait for their dependents, by uid.
    waiting: HashMap<Str, Key>,
    /// The owners of which it is known that they are gone for good, as long as they have dependents.
    gone: HashSet<Str>,
    /// The references that somebody was told of: the dependent's uid and the owner's.
    told: HashSet<(Str, Str)>,
}

/// A reference to an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reference {
    uid: Str,
    blocking: bool,
}

/// An object that has an owner.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependent {
    /// Its place in storage.
    pub(super) key: Key,
    /// Whether the owner, deleted in the foreground, waits for it.
    pub(super) blocking: bool,
}

impl Graph {
    /// Has the collector look at some objects.
    pub(super) fn look_at(&self, keys: impl Iterator<Item = Key>) {
        if let Some(queue) = self.queue.get() {
            keys.for_each(|key| queue.add(&key));
        }
    }

    /// Where keys go.
    pub(in crate::controllers) fn feed(&self, queue: Arc<Queue>) {
        // There is one queue for as long as there is a collector.
        let _ = self.queue.set(queue);
    }

    /// What an owner owns.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Dependent> {
        let state = self.lock();
        let keys = state.dependents.get(uid).into_iter().flatten();
        keys.map(|key| Dependent { key: Key::clone(key), blocking: state.blocks(key, uid) }).collect()
    }

    /// Whether an owner was seen to go.
    pub(super) fn is_gone(&self, uid: &str) -> bool {
        self.lock().gone.contains(uid)
    }

    /// Whether somebody was told of a reference.
    pub(super) fn is_told(&self, dependent: &str, owner: &str) -> bool {
        self.lock().told.contains(&(dependent.into(), owner.into()))
    }

    /// Somebody is told of a reference.
    pub(super) fn tell(&self, dependent: &str, owner: &str) {
        self.lock().told.insert((dependent.into(), owner.into()));
    }

    /// Whether an object waits for its dependents.
    pub(super) fn is_waiting(&self, key: &str) -> bool {
        self.lock().waiting.values().any(|one| **one == *key)
    }

    /// Takes a change in; adds what is to be looked at for it.
    pub(super) fn changed(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        let (Some(entry), Some(facts)) = (change.entry(), change.facts()) else { return };
        let Some(key) = entry.key.strip_prefix(ROOT) else { return };
        let now = change.new.is_some();
        // Most objects have no owners, no finalizers, and never had: nothing to decode.
        let value =
            (now && (facts.owned || facts.deleting && facts.finalizers)).then(|| change.decode()).flatten();
        let references: Vec<Reference> = value.iter().flat_map(references).collect();
        let held = |which: &str| {
            value.as_ref().is_some_and(|value| object::finalizers(value).any(|one| one == which))
        };
        let waits = facts.deleting && held(FOREGROUND);
        let orphans = facts.deleting && held(ORPHAN);

        let mut state = self.lock();
        let before = state.place(key, references.clone());
        let waited = match waits {
            true => state.waiting.insert(facts.uid.clone(), key.into()).is_some(),
            false => state.waiting.remove(&facts.uid).is_some(),
        };
        let unblocked = before.iter().filter(|old| !references.contains(old));
        let owners = unblocked.chain(references.iter().filter(|new| !before.contains(new)));
        let mut keys: Vec<Key> = owners.filter_map(|owner| state.waiting.get(&owner.uid).cloned()).collect();
        if !now {
            let state = &mut *state;
            if let Some(dependents) = state.dependents.get(&facts.uid) {
                keys.extend(dependents.iter().cloned());
                state.gone.insert(facts.uid.clone());
            }
            state.told.retain(|(dependent, _)| *dependent != facts.uid);
        }
        drop(state);
        if orphans || waits && !waited || now && !references.is_empty() && before != references {
            add(key);
        }
        for key in &keys {
            add(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Sets an object's owners; gives what they were.
    fn place(&mut self, key: &str, references: Vec<Reference>) -> Vec<Reference> {
        let known = self.owned.remove_entry(key);
        if known.is_none() && references.is_empty() {
            return Vec::new();
        }
        let (key, before) = known.unwrap_or_else(|| (key.into(), Vec::new()));
        for old in &before {
            if let Some(keys) = self.dependents.get_mut(&old.uid) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.dependents.remove(&old.uid);
                    self.gone.remove(&old.uid);
                }
            }
        }
        for new in &references {
            self.dependents.entry(new.uid.clone()).or_default().insert(Key::clone(&key));
        }
        if !references.is_empty() {
            self.owned.insert(key, references);
        }
        before
    }

    fn blocks(&self, key: &Key, uid: &str) -> bool {
        let references = self.owned.get(key);
        references.is_some_and(|all| all.iter().any(|one| one.uid == uid && one.blocking))
    }
}

fn references(value: &Value) -> impl Iterator<Item = Reference> {
    object::owner_references(value)
        .map(|owner| Reference { uid: owner.uid.into(), blocking: owner.block_owner_deletion })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(list: &[(&str, bool)]) -> Vec<Reference> {
        list.iter().map(|(uid, blocking)| Reference { uid: (*uid).into(), blocking: *blocking }).collect()
    }

    #[test]
    fn dependents_are_found_by_their_owners() {
        let graph = Graph::default();
        graph.lock().place("pods/n/a", owners(&[("1", true), ("2", false)]));
        graph.lock().place("pods/n/b", owners(&[("1", false)]));
        let found = |uid: &str| {
            let mut all: Vec<(String, bool)> =
                graph.dependents(uid).into_iter().map(|one| (one.key.to_string(), one.blocking)).collect();
            all.sort();
            all
        };
        assert_eq!(found("1"), [("pods/n/a".to_owned(), true), ("pods/n/b".to_owned(), false)]);
        assert_eq!(found("2"), [("pods/n/a".to_owned(), false)]);
        let before = graph.lock().place("pods/n/a", owners(&[("2", true)]));
        assert_eq!(before, owners(&[("1", true), ("2", false)]));
        assert_eq!(found("1"), [("pods/n/b".to_owned(), false)]);
        assert_eq!(found("2"), [("pods/n/a".to_owned(), true)]);
        graph.lock().place("pods/n/a", Vec::new());
        graph.lock().place("pods/n/b", Vec::new());
        let state = graph.lock();
        assert!(state.owned.is_empty() && state.dependents.is_empty(), "nothing is left over");
    }
}
