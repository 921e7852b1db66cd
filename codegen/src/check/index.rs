//! The specs by name, for checks and lowering.

use std::collections::BTreeMap;

use crate::spec::{Field, Group, Holds, Spec, Type, TypeName, Version};

/// Where something is: its group and version.
#[derive(Clone, Copy, Debug)]
pub struct Home<'a> {
    /// The group.
    pub group: &'a Group,
    /// The version.
    pub version: &'a Version,
}

/// The specs by name.
#[derive(Debug)]
pub struct Index<'a> {
    /// The specs.
    pub spec: &'a Spec,
    types: BTreeMap<(&'a str, &'a str, &'a str), (Home<'a>, &'a Type)>,
}

impl<'a> Index<'a> {
    /// Looks through the specs once.
    pub fn of(spec: &'a Spec) -> Self {
        let mut types = BTreeMap::new();
        for home in homes(spec) {
            for one in &home.version.types {
                types.insert(
                    (home.group.folder.as_str(), home.version.name.as_str(), one.name.as_str()),
                    (home, one),
                );
            }
        }
        Self { spec, types }
    }

    /// The type that a reference at some place means.
    pub fn find(&self, from: Home<'a>, name: &TypeName) -> Option<(Home<'a>, &'a Type)> {
        let (folder, version) = match &name.home {
            Some((folder, version)) => (folder.as_str(), version.as_str()),
            None => (from.group.folder.as_str(), from.version.name.as_str()),
        };
        self.types.get(&(folder, version, name.name.as_str())).copied()
    }

    /// The type of this name in a version.
    pub fn local(&self, home: Home<'a>, name: &str) -> Option<&'a Type> {
        let found = self.types.get(&(home.group.folder.as_str(), home.version.name.as_str(), name))?;
        Some(found.1)
    }

    /// All names that a reference at some place could mean, as it would spell them.
    pub fn names(&self, from: Home<'_>) -> Vec<String> {
        self.types
            .keys()
            .map(|(folder, version, name)| {
                if (*folder, *version) == (from.group.folder.as_str(), from.version.name.as_str()) {
                    (*name).to_owned()
                } else if (*folder, *version) == ("meta", "v1") {
                    format!("meta.{name}")
                } else {
                    format!("{folder}/{version}.{name}")
                }
            })
            .collect()
    }

    /// Follows a dotted path (`.spec.replicas`) from a type: the field at its end, or the step that
    /// leads nowhere and the fields that were there to choose from. Maps take any step.
    pub fn follow(&self, from: Home<'a>, of: &'a Type, path: &str) -> Result<(), (String, Vec<&'a str>)> {
        let mut at = At::Type(from, of);
        for step in path.strip_prefix('.').unwrap_or(path).split('.') {
            at = match at {
                At::Type(home, of) => match of.fields.iter().find(|field| *field.name == step) {
                    Some(field) => self.enter(home, &field.holds),
                    None => {
                        return Err((
                            step.into(),
                            of.fields.iter().map(|field| field.name.as_str()).collect(),
                        ));
                    }
                },
                At::Map(home, value) => self.enter(home, value),
                At::Anything => At::Anything,
                At::End => return Err((step.into(), Vec::new())),
            };
        }
        Ok(())
    }

    fn enter(&self, home: Home<'a>, holds: &'a Holds) -> At<'a> {
        match holds {
            Holds::Named(name) => self.find(home, name).map_or(At::Anything, |(home, of)| At::Type(home, of)),
            Holds::Map(value) => At::Map(home, value),
            Holds::Any(_) => At::Anything,
            Holds::List(_) | Holds::BuiltIn(_) => At::End,
        }
    }
}

enum At<'a> {
    Type(Home<'a>, &'a Type),
    Map(Home<'a>, &'a Holds),
    Anything,
    End,
}

/// Every version of every group.
pub fn homes(spec: &Spec) -> impl Iterator<Item = Home<'_>> {
    spec.groups.iter().flat_map(|group| group.versions.iter().map(move |version| Home { group, version }))
}

/// Every field of every type, and where it is.
pub fn fields(spec: &Spec) -> impl Iterator<Item = (Home<'_>, &Type, &Field)> {
    homes(spec).flat_map(|home| {
        home.version.types.iter().flat_map(move |of| of.fields.iter().map(move |field| (home, of, field)))
    })
}
