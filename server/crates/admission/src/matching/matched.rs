//! As what a request matched.

use std::sync::Arc;

use apiwright_meta::GroupVersionKind;
use apiwright_registry::Resource;

use crate::attributes::Attributes;

/// The resource by which a request was matched: its own, or another version of the same objects.
#[derive(Clone, Copy, Debug)]
pub struct Matched<'a> {
    request: &'a Attributes<'a>,
    other: Option<&'a Arc<Resource>>,
}

impl<'a> Matched<'a> {
    pub(super) fn own(request: &'a Attributes<'a>) -> Self {
        Self { request, other: None }
    }

    pub(super) fn equivalent(request: &'a Attributes<'a>, other: &'a Arc<Resource>) -> Self {
        Self { request, other: Some(other) }
    }

    /// The resource.
    pub fn resource(&self) -> &'a Resource {
        self.other.map_or(self.request.resource, Arc::as_ref)
    }

    /// The kind of the objects there.
    pub fn kind(&self) -> GroupVersionKind {
        let Some(other) = self.other else { return self.request.kind.clone() };
        let (group, version, kind) = match other.subresource(self.request.subresource) {
            Some(subresource) => (&subresource.kind.group, &subresource.kind.version, &subresource.kind.kind),
            None => (&other.group, &other.version, &other.kind),
        };
        GroupVersionKind { group: (**group).into(), version: (**version).into(), kind: (**kind).into() }
    }

    /// The version whose objects the matched one sees, where they are not those of the request.
    /// Scales and the like are the same for all versions.
    pub fn conversion(&self) -> Option<&'a Arc<Resource>> {
        self.other.filter(|_| self.kind() != *self.request.kind)
    }
}
