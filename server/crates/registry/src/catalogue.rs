//! All that is compiled in, as data: the groups and their resources, the kinds, the types by name.
//!
//! codegen writes the one value of this type from `api-specs/groups`; who serves, stores, documents
//! or transcodes built-in objects starts from it. It says what exists; which servers serve it is
//! the chain's matter.

use std::sync::Arc;

use apiwright_schema::{Struct, Table, Text};

use crate::resource::{Column, Kind, Resource};

/// The groups, kinds and types that are compiled in.
#[derive(Debug)]
pub struct Catalogue {
    /// The groups with resources, the ones with the highest priority first.
    pub groups: Table<Group>,
    /// Every kind, also those without a resource (`DeleteOptions`, `Scale`, lists), sorted by
    /// group, version and kind.
    pub kinds: Table<KindType>,
    /// Every type, sorted by definition name.
    pub types: Table<&'static Struct>,
    /// Definitions that are no struct here (`Quantity`, `Time`, `JSON`) and what they mean, sorted
    /// by name.
    pub values: Table<(Text, Text)>,
}

/// An API group.
#[derive(Debug)]
pub struct Group {
    /// Empty for the core group.
    pub name: Text,
    /// `groupPriorityMinimum` of its `APIService`s.
    pub priority: i32,
    /// Its versions, the preferred one first.
    pub versions: Table<Version>,
}

/// A version of a group.
#[derive(Debug)]
pub struct Version {
    /// Empty for the core group.
    pub group: Text,
    /// For instance `v1beta1`.
    pub name: Text,
    /// `versionPriority` of its `APIService`.
    pub priority: i32,
    /// Whether it is served unless the operator says otherwise.
    pub served: bool,
    /// Its resources, sorted by plural.
    pub resources: Table<&'static Resource>,
}

/// A kind and the type of its objects.
#[derive(Debug)]
pub struct KindType {
    /// The group, version and kind.
    pub kind: Kind,
    /// The type.
    pub schema: &'static Struct,
    /// What a table of such objects shows, where no resource says it (`Scale`, `Status`).
    pub columns: Table<Column>,
}

impl Catalogue {
    /// The versions that are served by default, of all groups.
    pub fn served(&self) -> impl Iterator<Item = &Version> {
        self.groups.iter().flat_map(|group| group.versions.iter()).filter(|version| version.served)
    }

    /// The other versions of a kind that are compiled in and served by default.
    pub fn siblings(&self, resource: &Resource) -> Vec<Arc<Resource>> {
        let all = self.served().flat_map(|version| version.resources.iter());
        let others = all.filter(|other| {
            let same_kind =
                *other.storage.prefix == *resource.storage.prefix && !resource.storage.prefix.is_empty();
            same_kind && (*other.group != *resource.group || *other.version != *resource.version)
        });
        others.map(|other| Arc::new((*other).clone())).collect()
    }

    /// The version of a group.
    pub fn version(&self, group: &str, version: &str) -> Option<&Version> {
        let group = self.groups.iter().find(|one| &*one.name == group)?;
        group.versions.iter().find(|one| &*one.name == version)
    }

    /// The resource of this plural.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
        let version = self.version(group, version)?;
        version.resources.iter().find(|one| &*one.plural == plural).copied()
    }

    /// A kind and its type.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&KindType> {
        let at = self.kinds.binary_search_by(|one| {
            (&*one.kind.group, &*one.kind.version, &*one.kind.kind).cmp(&(group, version, kind))
        });
        Some(&self.kinds[at.ok()?])
    }

    /// The type of this definition name, `io.k8s.api.core.v1.PodSpec`.
    pub fn definition(&self, name: &str) -> Option<&'static Struct> {
        let at = self.types.binary_search_by(|one| (*one.name).cmp(name));
        Some(self.types[at.ok()?])
    }

    /// What a definition means that is no struct here; empty where nobody said it.
    pub fn value_doc(&self, name: &str) -> &str {
        let at = self.values.binary_search_by(|one| (*one.0).cmp(name));
        at.map_or("", |at| &self.values[at].1)
    }
}

impl Version {
    /// `apps/v1`, or `v1` in the core group.
    pub fn group_version(&self) -> String {
        if self.group.is_empty() {
            self.name.to_string()
        } else {
            format!("{}/{}", &*self.group, &*self.name)
        }
    }

    /// Its resources as the layers above hold them.
    pub fn shared(&self) -> Vec<Arc<Resource>> {
        self.resources.iter().map(|one| Arc::new((*one).clone())).collect()
    }
}
