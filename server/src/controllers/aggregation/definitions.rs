//! Which group versions CustomResourceDefinitions serve, and so which APIServices should be.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use apiwright_controllers::{Change, Next, Result};
use apiwright_json::Value;

use super::desired::Desired;
use crate::generated::controllers::crd_registration::{Controller, Facts};

/// The controller.
pub(super) struct CrdRegistration {
    desired: Arc<Desired>,
    served: Mutex<Served>,
}

/// Who serves what.
#[derive(Default)]
struct Served {
    by_definition: HashMap<String, BTreeSet<String>>,
    /// How many definitions serve a group version.
    counts: HashMap<String, usize>,
}

impl CrdRegistration {
    pub(super) fn new(desired: Arc<Desired>) -> Self {
        Self { desired, served: Mutex::default() }
    }
}

impl Controller for CrdRegistration {
    type Observed = ();

    async fn observe(&self, key: &str) -> Result<(Facts, ())> {
        let served = self.served.lock().unwrap_or_else(PoisonError::into_inner).counts.contains_key(key);
        let (group, version) = group_version(key);
        let wanted = self.desired.get(&format!("{version}.{group}")).is_some();
        Ok((Facts { served, wanted }, ()))
    }

    async fn want(&self, key: &str, (): ()) -> Result<Next> {
        let (group, version) = group_version(key);
        self.desired.want(group, version);
        Ok(Next::Done)
    }

    async fn give_up(&self, key: &str, (): ()) -> Result<Next> {
        let (group, version) = group_version(key);
        self.desired.give_up(group, version);
        Ok(Next::Done)
    }

    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        let now = match change.new {
            Some(_) => change.decode().map(|definition| versions(&definition)).unwrap_or_default(),
            None => BTreeSet::new(),
        };
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        for key in served.set(change.key(), now) {
            add(&key);
        }
    }
}

impl Served {
    /// Notes what a definition serves now; gives what that changes.
    fn set(&mut self, definition: String, now: BTreeSet<String>) -> Vec<String> {
        let before = self.by_definition.remove(&definition).unwrap_or_default();
        for key in now.difference(&before) {
            *self.counts.entry(key.clone()).or_default() += 1;
        }
        for key in before.difference(&now) {
            let count = self.counts.get_mut(key).map_or(0, |count| {
                *count -= 1;
                *count
            });
            if count == 0 {
                self.counts.remove(key);
            }
        }
        let changed = before.symmetric_difference(&now).cloned().collect();
        if !now.is_empty() {
            self.by_definition.insert(definition, now);
        }
        changed
    }
}

/// The group versions that a definition serves.
fn versions(definition: &Value) -> BTreeSet<String> {
    let group = definition.text_at(&["spec", "group"]);
    let versions = definition.at(&["spec", "versions"]).and_then(Value::as_array).into_iter().flatten();
    versions
        .filter(|version| version.at(&["served"]).and_then(Value::as_bool) == Some(true))
        .map(|version| format!("{group}/{}", version.text_at(&["name"])))
        .collect()
}

fn group_version(key: &str) -> (&str, &str) {
    key.rsplit_once('/').unwrap_or(("", key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_served_while_any_definition_serves_it() {
        let mut served = Served::default();
        let keys = |all: &[&str]| all.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        for (definition, now, changed, counts) in [
            ("a", &["g/v1", "g/v2"][..], &["g/v1", "g/v2"][..], &[("g/v1", 1), ("g/v2", 1)][..]),
            ("b", &["g/v1"], &["g/v1"], &[("g/v1", 2), ("g/v2", 1)]),
            ("a", &["g/v2"], &["g/v1"], &[("g/v1", 1), ("g/v2", 1)]),
            ("a", &["g/v2"], &[], &[("g/v1", 1), ("g/v2", 1)]),
            ("b", &[], &["g/v1"], &[("g/v2", 1)]),
            ("a", &[], &["g/v2"], &[]),
        ] {
            let mut found = served.set(definition.to_owned(), keys(now));
            found.sort();
            assert_eq!(found, changed, "{definition} {now:?}");
            let mut left: Vec<(&str, usize)> =
                served.counts.iter().map(|(key, count)| (key.as_str(), *count)).collect();
            left.sort_unstable();
            assert_eq!(left, counts, "{definition} {now:?}");
        }
    }
}
