//! Which providers a resource has, and which resource a key is of.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::provider::Providers;

/// A resource of a group. Each may be `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupResource {
    /// The group; empty for the core group.
    pub group: String,
    /// The plural.
    pub resource: String,
}

/// Tells the resource of a key below `/registry/`; `None` for what is no object's.
pub type ResourceOf = Arc<dyn Fn(&str) -> Option<GroupResource> + Send + Sync>;

impl GroupResource {
    /// `secrets`, `deployments.apps`, `*.apps`, `*.` or `*.*`.
    pub fn parse(text: &str) -> Self {
        let (resource, group) = text.split_once('.').unwrap_or((text, ""));
        Self { group: group.into(), resource: resource.into() }
    }

    fn any_of(group: &str) -> Self {
        Self { group: group.into(), resource: "*".into() }
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.resource.as_str(), self.group.as_str()) {
            ("*", "") => f.write_str("*."),
            (resource, "") => f.write_str(resource),
            (resource, group) => write!(f, "{resource}.{group}"),
        }
    }
}

/// The providers of all resources, as one configuration has them.
#[derive(Default)]
pub struct Transformers {
    by_resource: HashMap<GroupResource, Providers>,
    /// Those outside, whom health checks ask.
    #[cfg(feature = "kms")]
    plugins: Vec<Arc<crate::kms::Plugin>>,
}

impl Transformers {
    pub(crate) fn new(by_resource: HashMap<GroupResource, Providers>) -> Self {
        Self {
            by_resource,
            #[cfg(feature = "kms")]
            plugins: Vec::new(),
        }
    }

    #[cfg(feature = "kms")]
    pub(crate) fn with_plugins(self, plugins: Vec<Arc<crate::kms::Plugin>>) -> Self {
        Self { plugins, ..self }
    }

    /// The providers of a resource; `None` where it is stored as it is. What names it goes before what names its
    /// group, and that before what names everything.
    pub(crate) fn of(&self, resource: &GroupResource) -> Option<&Providers> {
        let found = self.by_resource.get(resource);
        found
            .or_else(|| self.by_resource.get(&GroupResource::any_of(&resource.group)))
            .or_else(|| self.by_resource.get(&GroupResource::any_of("*")))
    }

    /// Whether any provider is outside of this process.
    pub fn has_plugins(&self) -> bool {
        #[cfg(feature = "kms")]
        return !self.plugins.is_empty();
        #[cfg(not(feature = "kms"))]
        false
    }

    /// Whether the providers outside of this process are well.
    ///
    /// # Errors
    /// What is wrong with the first that is not.
    pub async fn check(&self) -> Result<(), String> {
        #[cfg(feature = "kms")]
        for plugin in &self.plugins {
            plugin.check().await?;
        }
        std::future::ready(Ok(())).await
    }
}
