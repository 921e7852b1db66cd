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

    /// What an `apiVersion` says; nothing at all for an empty one.
    ///
    /// # Errors
    /// With upstream's text when there is more than one slash.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some(("", "")) => Ok(Self::default()),
            Some((_, version)) if version.contains('/') => {
                Err(format!("unexpected GroupVersion string: {text}"))
            }
            Some((group, version)) => Ok(Self::new(group, version)),
            None => Ok(Self::new("", text)),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_versions() {
        let table = [
            ("", Ok(("", ""))),
            ("v1", Ok(("", "v1"))),
            ("apps/v1", Ok(("apps", "v1"))),
            ("apps/", Ok(("apps", ""))),
            ("/", Ok(("", ""))),
            ("a/b/c", Err("unexpected GroupVersion string: a/b/c".to_owned())),
        ];
        for (text, expected) in table {
            let expected = expected.map(|(group, version)| GroupVersion::new(group, version));
            assert_eq!(GroupVersion::parse(text), expected, "{text}");
        }
        let names = GroupResource { group: "apps".into(), resource: "deployments".into() };
        assert_eq!(names.to_string(), "deployments.apps");
        assert_eq!(GroupVersion::new("", "v1").to_string(), "v1");
    }
}
