//! A request as reviews and expressions tell it: an `AdmissionRequest` without its uid, objects and options.

use apiwright_json::{Object, Value};
use apiwright_meta::GroupVersionKind;
use apiwright_registry::Resource;

use super::Matched;
use crate::attributes::Attributes;

/// Appends what a request is about and who asks, in the order of upstream's type.
pub fn describe(request: &Attributes<'_>, matched: Matched<'_>, head: &mut Object) {
    head.push("kind", kind(&matched.kind()));
    head.push("resource", resource(matched.resource()));
    push_text(head, "subResource", request.subresource);
    head.push("requestKind", kind(request.kind));
    head.push("requestResource", resource(request.resource));
    push_text(head, "requestSubResource", request.subresource);
    push_text(head, "name", request.name);
    push_text(head, "namespace", request.namespace);
    head.push("operation", request.operation.as_str());
    head.push("userInfo", user_info(request));
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
