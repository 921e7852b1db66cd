//! The `AdmissionReview` that a webhook is sent.

use apiwright_admission::Attributes;
use apiwright_admission::matching::Matched;
use apiwright_json::{Object, Value, to_bytes};
use apiwright_meta::GroupVersionKind;
use apiwright_registry::Resource;

use crate::hook::ReviewVersion;

/// The objects of a request, in the version in which a webhook sees them.
#[derive(Clone, Copy)]
pub(crate) struct Objects<'a> {
    pub(crate) object: Option<&'a Value>,
    pub(crate) old: Option<&'a Value>,
}

/// The bytes of a review. The objects, which may be large, are not copied on the way.
pub(crate) fn write(
    version: ReviewVersion,
    uid: &str,
    request: &Attributes<'_>,
    matched: Matched<'_>,
    objects: Objects<'_>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(4096);
    out.extend_from_slice(b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"");
    out.extend_from_slice(version.api_version().as_bytes());
    out.extend_from_slice(b"\",\"request\":");
    to_bytes(&Value::Object(head(uid, request, matched)), &mut out);
    // The head's brace is opened again for what follows.
    out.pop();
    let dry_run = Value::from(request.dry_run);
    let null = Value::Null;
    for (name, value) in [
        ("object", objects.object.unwrap_or(&null)),
        ("oldObject", objects.old.unwrap_or(&null)),
        ("dryRun", &dry_run),
        ("options", request.options.unwrap_or(&null)),
    ] {
        out.extend_from_slice(b",\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        to_bytes(value, &mut out);
    }
    out.extend_from_slice(b"}}");
    out
}

/// All of a request but its objects.
fn head(uid: &str, request: &Attributes<'_>, matched: Matched<'_>) -> Object {
    let mut head = Object::with_capacity(12);
    head.push("uid", uid);
    head.push("kind", kind(&matched.kind()));
    head.push("resource", resource(matched.resource()));
    push_text(&mut head, "subResource", request.subresource);
    head.push("requestKind", kind(request.kind));
    head.push("requestResource", resource(request.resource));
    push_text(&mut head, "requestSubResource", request.subresource);
    push_text(&mut head, "name", request.name);
    push_text(&mut head, "namespace", request.namespace);
    head.push("operation", request.operation.as_str());
    head.push("userInfo", user_info(request));
    head
}

fn kind(kind: &GroupVersionKind) -> Object {
    let parts = [("group", &kind.group), ("version", &kind.version), ("kind", &kind.kind)];
    parts.into_iter().map(|(name, text)| (name, text.as_str())).collect()
}

fn resource(resource: &Resource) -> Object {
    let parts = [("group", &resource.group), ("version", &resource.version), ("resource", &resource.plural)];
    parts.into_iter().map(|(name, text)| (name, &**text)).collect()
}

fn user_info(request: &Attributes<'_>) -> Object {
    let user = &request.user;
    let mut info = Object::new();
    push_text(&mut info, "username", user.name);
    push_text(&mut info, "uid", user.uid);
    let texts = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
    if !user.groups.is_empty() {
        info.push("groups", texts(user.groups));
    }
    if !user.extra.is_empty() {
        let mut extra: Object =
            user.extra.iter().map(|(key, values)| (key.as_str(), Value::from(texts(values)))).collect();
        extra.sort();
        info.push("extra", extra);
    }
    info
}

fn push_text(object: &mut Object, name: &'static str, text: &str) {
    if !text.is_empty() {
        object.push(name, text);
    }
}
