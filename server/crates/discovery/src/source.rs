//! The group versions that are served, and the documents made of them.

use std::sync::{Arc, OnceLock};

use apiwright_json::Value;
use apiwright_registry::Resource;
use arc_swap::ArcSwap;

use crate::aggregated::{self, Aggregated};
use crate::{documents, order};

/// A group version as discovery knows it.
#[derive(Clone, Debug)]
pub struct Source {
    /// Empty for the core group.
    pub group: String,
    /// For instance `v1`.
    pub version: String,
    /// `groupPriorityMinimum`: groups with a higher one come first.
    pub group_priority: i32,
    /// `versionPriority`: versions with a higher one come first in their group.
    pub version_priority: i32,
    /// What it holds, in the order in which it is told.
    pub resources: Vec<Arc<Resource>>,
    /// Whether `resources` is what the owner says now.
    pub freshness: Freshness,
}

/// Whether a group version's resources are up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// They are.
    Current,
    /// Their server did not answer; they are what it said last.
    Stale,
}

/// All served group versions. Readers never wait: a change swaps in a new snapshot.
#[derive(Debug, Default)]
pub struct Discovery {
    current: ArcSwap<Snapshot>,
}

/// One moment's group versions, in discovery order, and the documents made of them so far.
#[derive(Debug, Default)]
pub struct Snapshot {
    sources: Vec<Arc<Source>>,
    core: OnceLock<Aggregated>,
    groups: OnceLock<Aggregated>,
}

impl Discovery {
    /// Adds a group version, or replaces what was said of it.
    pub fn set(&self, source: Source) {
        let source = Arc::new(source);
        self.change(|sources| {
            sources.retain(|one| !(one.group == source.group && one.version == source.version));
            sources.push(Arc::clone(&source));
        });
    }

    /// Takes a group version out.
    pub fn remove(&self, group: &str, version: &str) {
        self.change(|sources| sources.retain(|one| !(one.group == group && one.version == version)));
    }

    /// What there is now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    fn change(&self, change: impl Fn(&mut Vec<Arc<Source>>)) {
        self.current.rcu(|snapshot| {
            let mut sources = snapshot.sources.clone();
            change(&mut sources);
            order::sort(&mut sources);
            Snapshot { sources, ..Snapshot::default() }
        });
    }
}

impl Snapshot {
    /// The group versions in discovery order.
    pub fn sources(&self) -> &[Arc<Source>] {
        &self.sources
    }

    /// The versions of a group in discovery order; empty for an unknown group.
    pub fn group<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Arc<Source>> + Clone {
        self.sources.iter().filter(move |one| one.group == group)
    }

    /// One group version.
    pub fn version(&self, group: &str, version: &str) -> Option<&Arc<Source>> {
        self.sources.iter().find(|one| one.group == group && one.version == version)
    }

    /// `APIVersions`, the answer of `/api`; `address` is where this server is reached.
    pub fn api_versions(&self, address: &str) -> Value {
        documents::api_versions(self, address)
    }

    /// `APIGroupList`, the answer of `/apis`.
    pub fn api_group_list(&self) -> Value {
        documents::api_group_list(self)
    }

    /// `APIGroup`, the answer of `/apis/<group>`.
    pub fn api_group(&self, group: &str) -> Option<Value> {
        documents::api_group(self, group)
    }

    /// `APIResourceList`, the answer of `/apis/<group>/<version>`.
    pub fn api_resource_list(&self, group: &str, version: &str) -> Option<Value> {
        self.version(group, version).map(|source| documents::api_resource_list(source))
    }

    /// The aggregated document of the core group, the answer of `/api`.
    pub fn aggregated_core(&self) -> &Aggregated {
        self.core.get_or_init(|| aggregated::build(self.sources.iter().filter(|one| one.group.is_empty())))
    }

    /// The aggregated document of all named groups, the answer of `/apis`.
    pub fn aggregated_groups(&self) -> &Aggregated {
        self.groups.get_or_init(|| aggregated::build(self.sources.iter().filter(|one| !one.group.is_empty())))
    }
}
