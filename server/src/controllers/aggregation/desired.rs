//! The APIServices that this process should have, by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use apiwright_controllers::Queue;
use apiwright_json::{Object, Value};
use apiwright_registry::catalogue::Version;

/// What tells how an APIService is managed.
pub(super) const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// How an APIService is managed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Managed {
    /// Once, at the start; whoever changes it later may.
    OnStart,
    /// As long as it is wanted.
    Continuously,
}

/// An APIService that should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    group: String,
    version: String,
    group_priority: i32,
    version_priority: i32,
    /// How.
    pub(super) managed: Managed,
}

/// The APIServices that should be. Whoever wants another one wakes autoregister.
#[derive(Default)]
pub struct Desired {
    wanted: Mutex<BTreeMap<String, Wanted>>,
    queue: OnceLock<Arc<Queue>>,
}

impl Desired {
    /// Those of the group versions that this process serves, except for the aggregator's own.
    pub fn of<'a>(served: impl Iterator<Item = (&'a Version, i32)>) -> Self {
        let wanted = served.filter(|(version, _)| &*version.group != "apiregistration.k8s.io").map(
            |(version, group_priority)| {
                let wanted = Wanted {
                    group: version.group.to_string(),
                    version: version.name.to_string(),
                    group_priority,
                    version_priority: version.priority,
                    managed: Managed::OnStart,
                };
                (wanted.name(), wanted)
            },
        );
        Self { wanted: Mutex::new(wanted.collect()), queue: OnceLock::new() }
    }

    /// The names of those that are made at the start.
    pub fn names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// Tells a queue of every change from now on, and of all that is wanted already.
    pub(super) fn tell(&self, queue: &Arc<Queue>) {
        if self.queue.set(Arc::clone(queue)).is_ok() {
            for name in self.lock().keys() {
                queue.add(name);
            }
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<Wanted> {
        self.lock().get(name).cloned()
    }

    /// Wants the APIService of a custom group version, unless one is wanted already.
    pub(super) fn want(&self, group: &str, version: &str) {
        let wanted = Wanted {
            group: group.to_owned(),
            version: version.to_owned(),
            group_priority: 1000,
            version_priority: 100,
            managed: Managed::Continuously,
        };
        let name = wanted.name();
        self.lock().entry(name.clone()).or_insert(wanted);
        self.wake(&name);
    }

    /// Wants it no longer, if it was wanted for a custom group version.
    pub(super) fn give_up(&self, group: &str, version: &str) {
        let name = format!("{version}.{group}");
        let mut wanted = self.lock();
        if wanted.get(&name).is_some_and(|one| one.managed == Managed::Continuously) {
            wanted.remove(&name);
        }
        drop(wanted);
        self.wake(&name);
    }

    fn wake(&self, name: &str) {
        if let Some(queue) = self.queue.get() {
            queue.add(name);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wanted {
    fn name(&self) -> String {
        format!("{}.{}", self.version, self.group)
    }

    /// Its spec, in normal form.
    pub(super) fn spec(&self) -> Value {
        let mut spec = Object::new();
        if !self.group.is_empty() {
            spec.push("group", self.group.as_str());
        }
        spec.push("version", self.version.as_str());
        spec.push("groupPriorityMinimum", i64::from(self.group_priority));
        spec.push("versionPriority", i64::from(self.version_priority));
        spec.into()
    }

    /// The object.
    pub(super) fn object(&self) -> Value {
        let managed = match self.managed {
            Managed::OnStart => "onstart",
            Managed::Continuously => "true",
        };
        let labels = Object::from_iter([(AUTOMANAGED, managed)]);
        let mut metadata = Object::new();
        metadata.push("name", self.name());
        metadata.push("labels", labels);
        let mut object = Object::new();
        object.push("metadata", metadata);
        object.push("spec", self.spec());
        object.into()
    }
}
