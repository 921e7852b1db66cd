//! Bookmarks: empty objects that carry a resourceVersion.

use apiwright_json::{Object, Value};
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
        Ok(decoded) => decoded.value,
        Err(_) => bare(metadata),
    }
}
