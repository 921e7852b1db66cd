//! Group, version, kind and resource: the names that everything goes by.

use compact_str::CompactString as Str;

/// An API group and one of its versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersion {
    /// Empty for the core group.
    pub group: Str,
    /// For instance `v1`.
    pub version: Str,
}

/// A kind in a version of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersionKind {
    /// Empty for the core group.
    pub group: Str,
    /// For instance `v1`.
    pub version: Str,
    /// For instance `Deployment`.
    pub kind: Str,
}

/// A resource in a version of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersionResource {
    /// Empty for the core group.
    pub group: Str,
    /// For instance `v1`.
    pub version: Str,
    /// The plural, for instance `deployments`.
    pub resource: Str,
}

/// A resource of a group, whatever the version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupResource {
    /// Empty for the core group.
    pub group: Str,
    /// The plural, for instance `deployments`.
    pub resource: Str,
}

/// A kind of a group, whatever the version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKind {
    /// Empty for the core group.
    pub group: Str,
    /// For instance `Deployment`.
    pub kind: Str,
}

impl GroupVersion {
    /// A group and a version.
    pub fn new(group: impl Into<Str>, version: impl Into<Str>) -> Self {
        Self { group: group.into(), version: version.into() }
    }
}

/// `apps/v1`, or `v1` in the core group: what `apiVersion` holds.
impl std::fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

/// `deployments.apps`, or `pods` in the core group.
impl std::fmt::Display for GroupResource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.resource)
        } else {
            write!(f, "{}.{}", self.resource, self.group)
        }
    }
}

/// `Deployment.apps`, or `Pod` in the core group.
impl std::fmt::Display for GroupKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.kind)
        } else {
            write!(f, "{}.{}", self.kind, self.group)
        }
    }
}
