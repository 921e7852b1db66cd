//! Bookmarks: empty objects that carry a resourceVersion.

use apiwright_json::{Object, Value};
use apiwright_registry::{Resource, SubresourceKind};
use apiwright_schema::decode::{self as schema, ObjectKind, Source};

use crate::encode::Writer;
use crate::server::Flavour;

/// The annotation of the bookmark that ends the initial events.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// An object of the resource with nothing but a version: what Go prints of an empty struct is there.
pub(super) fn object(writer: &Writer, revision: u64, ends_initial_events: bool) -> Value {
    let resource = &writer.store.resource;
    let kind = ObjectKind { api_version: &writer.api_version, kind: &resource.kind };
    let mut metadata = Object::new();
    metadata.push("resourceVersion", revision.to_string());
    if ends_initial_events {
        metadata.push("annotations", Object::from_iter([(INITIAL_EVENTS_END, "true")]));
    }
    let bare = |metadata: Object| {
        let mut object = Object::new();
        object.push("kind", kind.kind);
        object.push("apiVersion", kind.api_version);
        object.push("metadata", metadata);
        Value::Object(object)
    };
    if writer.flavour == Flavour::Custom {
        return bare(metadata);
    }
    match schema::normalise(&resource.schema, kind, bare(metadata.clone()), Source::Json) {
        Ok(mut decoded) => {
            no_replicas(resource, &mut decoded.value);
            decoded.value
        }
        Err(_) => bare(metadata),
    }
}

/// What is scaled says that it has no replicas: upstream's own types have no other way to say nothing.
fn no_replicas(resource: &Resource, object: &mut Value) {
    let Some(SubresourceKind::Scale { spec_replicas, .. }) =
        resource.subresource("scale").map(|scale| &scale.does)
    else {
        return;
    };
    let Some((parent, name)) = spec_replicas.rsplit_once('.') else { return };
    let parent: Vec<&str> = parent.split('.').filter(|step| !step.is_empty()).collect();
    if let Some(parent) = object.at_mut(&parent).and_then(Value::as_object_mut)
        && !parent.contains_key(name)
    {
        let others = std::mem::take(parent);
        parent.push(name, 0);
        others.into_iter().for_each(|(name, value)| parent.push(name, value));
    }
}
