//! What plugins learn of a request.

use std::sync::Arc;
use std::time::Instant;

use apiwright_json::Value;
use apiwright_meta::{GroupResource, GroupVersionKind, Status, object};
use apiwright_registry::Resource;

use crate::annotations::Annotations;
use crate::forms::Forms;
use crate::reinvocation::Reinvocation;
use crate::warnings::Warnings;

/// A request that admission is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// What is done.
    pub operation: Operation,
    /// With which resource.
    pub resource: &'a Resource,
    /// The kind of the object in the request: that of the resource or of the subresource.
    pub kind: &'a GroupVersionKind,
    /// Empty for the object itself.
    pub subresource: &'a str,
    /// Empty for cluster-scoped resources.
    pub namespace: &'a str,
    /// Empty for creations and collections.
    pub name: &'a str,
    /// Who asks.
    pub user: User<'a>,
    /// Nothing will be stored.
    pub dry_run: bool,
    /// When the request must be answered.
    pub deadline: Option<Instant>,
    /// `CreateOptions`, `UpdateOptions`, `PatchOptions` or `DeleteOptions`.
    pub options: Option<&'a Value>,
    /// Where plugins put texts for Warning headers.
    pub warnings: &'a Warnings,
    /// What plugins note for the audit.
    pub annotations: &'a Annotations,
    /// The same objects in other versions and groups.
    pub versions: &'a [Arc<Resource>],
    /// How objects get from one version to another.
    pub forms: &'a dyn Forms,
    /// The first and the second turn of those that mutate.
    pub reinvocation: &'a Reinvocation,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

/// Who asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct User<'a> {
    /// The name.
    pub name: &'a str,
    /// A unique id, where there is one.
    pub uid: &'a str,
    /// Groups.
    pub groups: &'a [String],
    /// What else the authenticator tells.
    pub extra: &'a [(String, Vec<String>)],
}

impl Operation {
    /// As webhooks spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

impl<'a> Attributes<'a> {
    /// The other versions that have the subresource of the request.
    pub fn equivalents(&self) -> impl Iterator<Item = &'a Arc<Resource>> + use<'a> {
        let subresource = self.subresource;
        let has =
            move |other: &&Arc<Resource>| subresource.is_empty() || other.subresource(subresource).is_some();
        self.versions.iter().filter(has)
    }

    /// Whether the request is about this resource itself, not one of its subresources.
    pub fn is(&self, group: &str, plural: &str) -> bool {
        self.subresource.is_empty() && self.is_of(group, plural)
    }

    /// Whether the request is about this resource or one of its subresources.
    pub fn is_of(&self, group: &str, plural: &str) -> bool {
        *self.resource.plural == *plural && *self.resource.group == *group
    }

    /// The group and plural.
    pub fn group_resource(&self) -> GroupResource {
        self.resource.group_resource()
    }

    /// The name that refusals give: that of the request, of the object, or what it is to begin with.
    pub fn name_of(&self, object: Option<&Value>) -> String {
        if !self.name.is_empty() {
            return self.name.to_owned();
        }
        let named = object.map(|object| [object::name(object), object::generate_name(object)]);
        let name = named.into_iter().flatten().find(|name| !name.is_empty());
        name.unwrap_or("Unknown").to_owned()
    }

    /// 403: `pods "x" is forbidden: …`.
    pub fn forbid(&self, object: Option<&Value>, why: impl std::fmt::Display) -> Box<Status> {
        Status::forbidden(&self.group_resource(), &self.name_of(object), why)
    }
}
