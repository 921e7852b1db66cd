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
    pub content: Content,
    /// Whether `content` is what the owner says now.
    pub freshness: Freshness,
}

/// What a group version holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// What this process serves.
    Here(Vec<Arc<Resource>>),
    /// What a server outside tells of itself: the items of `resources` in aggregated discovery. It
    /// goes before what this process has of the same group version.
    Told(Arc<[Value]>),
}

impl Content {
    fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }
}

/// A group version that the legacy lists of groups name, whoever serves it: an APIService.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Breaks ties between groups.
    pub name: String,
    /// Empty for the core group.
    pub group: String,
    /// For instance `v1`.
    pub version: String,
    /// Groups with a higher one come first.
    pub group_priority: i32,
    /// Versions with a higher one come first in their group.
    pub version_priority: i32,
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
    /// In order; `None` where nothing is ever registered, and the sources are all that there is.
    registered: Option<Arc<[Registered]>>,
    core: OnceLock<Aggregated>,
    groups: OnceLock<Aggregated>,
}

impl Discovery {
    /// Adds a group version, or replaces what was said of it.
    pub fn set(&self, source: Source) {
        let source = Arc::new(source);
        let here = source.content.is_here();
        self.change(|sources| {
            sources.retain(|one| !one.is(&source.group, &source.version, here));
            sources.push(Arc::clone(&source));
        });
    }

    /// Takes a group version of this process out.
    pub fn remove(&self, group: &str, version: &str) {
        self.change(|sources| sources.retain(|one| !one.is(group, version, true)));
    }

    /// Takes a group version of a server outside out.
    pub fn remove_told(&self, group: &str, version: &str) {
        let known = self.current.load().sources.iter().any(|one| one.is(group, version, false));
        if known {
            self.change(|sources| sources.retain(|one| !one.is(group, version, false)));
        }
    }

    /// From now on the legacy lists of groups name these, and nothing else.
    pub fn register(&self, mut all: Vec<Registered>) {
        order::sort_registered(&mut all);
        let all: Arc<[Registered]> = all.into();
        self.current.rcu(|snapshot| {
            if snapshot.registered.as_ref() == Some(&all) {
                return Arc::clone(snapshot);
            }
            Arc::new(Snapshot {
                registered: Some(Arc::clone(&all)),
                ..snapshot.with(snapshot.sources.clone())
            })
        });
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
            snapshot.with(sources)
        });
    }
}

impl Source {
    fn is(&self, group: &str, version: &str, here: bool) -> bool {
        self.group == group && self.version == version && self.content.is_here() == here
    }
}

impl Snapshot {
    /// The group versions in discovery order.
    pub fn sources(&self) -> &[Arc<Source>] {
        &self.sources
    }

    /// The versions of a group that this process serves, in discovery order; empty for an unknown group.
    pub fn group<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Arc<Source>> + Clone {
        self.sources.iter().filter(move |one| one.group == group && one.content.is_here())
    }

    /// One group version that this process serves.
    pub fn version(&self, group: &str, version: &str) -> Option<&Arc<Source>> {
        self.sources.iter().find(|one| one.is(group, version, true))
    }

    /// The named groups of the legacy list, each with its versions, in order.
    pub(crate) fn groups(&self) -> Vec<(&str, Vec<&str>)> {
        match &self.registered {
            Some(registered) => by_group(registered.iter().map(|one| (&*one.group, &*one.version))),
            None => by_group(self.sources.iter().map(|one| (&*one.group, &*one.version))),
        }
    }

    /// The versions of a group that the legacy document names: those that are registered, or those
    /// that this process serves where none is.
    pub(crate) fn versions(&self, group: &str) -> Vec<&str> {
        let registered = self.registered.iter().flat_map(|all| all.iter());
        let found: Vec<&str> = registered.filter(|one| one.group == group).map(|one| &*one.version).collect();
        if !found.is_empty() {
            return found;
        }
        let here = self.sources.iter().filter(|one| one.group == group && one.content.is_here());
        here.map(|one| &*one.version).collect()
    }

    fn with(&self, sources: Vec<Arc<Source>>) -> Self {
        Self { sources, registered: self.registered.clone(), ..Self::default() }
    }

    /// Each group version once: as a server outside tells it, where one does.
    fn told(&self, core: bool) -> impl Iterator<Item = &Arc<Source>> {
        let outside: Vec<&Source> =
            self.sources.iter().map(|one| &**one).filter(|one| !one.content.is_here()).collect();
        self.sources.iter().filter(move |one| {
            let told = |other: &&Source| other.group == one.group && other.version == one.version;
            one.group.is_empty() == core && !(one.content.is_here() && outside.iter().any(told))
        })
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
        self.core.get_or_init(|| aggregated::build(self.told(true)))
    }

    /// The aggregated document of all named groups, the answer of `/apis`.
    pub fn aggregated_groups(&self) -> &Aggregated {
        self.groups.get_or_init(|| aggregated::build(self.told(false)))
    }
}

/// The versions of each named group, as they follow each other.
fn by_group<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (group, version) in all.filter(|(group, _)| !group.is_empty()) {
        match groups.last_mut() {
            Some((last, versions)) if *last == group => versions.push(version),
            _ => groups.push((group, vec![version])),
        }
    }
    groups
}
