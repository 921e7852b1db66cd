//! A request as expressions see it.

use apiwright_admission::matching::Matched;
use apiwright_admission::{Attributes, Objects};
use apiwright_json::{Object, Value};
use apiwright_meta::GroupVersionKind;
use apiwright_meta::status::Result;
use apiwright_registry::Resource;

/// What is asked about: the objects, the request and its namespace.
#[derive(Debug)]
pub struct Asked<'a> {
    pub(crate) object: Option<&'a Value>,
    pub(crate) old: Option<&'a Value>,
    pub(crate) request: Value,
    pub(crate) namespace: Option<Value>,
}

impl<'a> Asked<'a> {
    /// Of a request that matched; the objects are in the form that was matched.
    pub fn new(
        request: &Attributes<'_>,
        matched: Matched<'_>,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
        namespace: Option<Value>,
    ) -> Self {
        Self { object, old, request: head(request, matched), namespace }
    }
}

/// The namespace that a request is in; none for what is of the cluster, and for namespaces.
pub(crate) async fn namespace(request: &Attributes<'_>, objects: &Objects) -> Result<Option<Value>> {
    let of_namespaces = request.kind.group.is_empty() && request.kind.kind == "Namespace";
    if request.namespace.is_empty() || of_namespaces {
        return Ok(None);
    }
    match objects.get("", "namespaces", "", request.namespace).await? {
        Some(namespace) => Ok(Some(exposed(&namespace))),
        None => {
            let namespaces =
                apiwright_meta::GroupResource { group: "".into(), resource: "namespaces".into() };
            Err(apiwright_meta::Status::not_found(&namespaces, request.namespace))
        }
    }
}

/// What expressions may see of a namespace: what is empty is absent.
fn exposed(namespace: &Value) -> Value {
    let mut exposed = Object::new();
    for part in ["metadata", "spec", "status"] {
        let Some(members) = namespace.get(part).and_then(Value::as_object) else { continue };
        let said = members.iter().filter(|(_, value)| !value.is_null());
        let said: Object = said.map(|(name, value)| (name.clone(), value.clone())).collect();
        exposed.push(part, said);
    }
    exposed.into()
}

fn head(request: &Attributes<'_>, matched: Matched<'_>) -> Value {
    let mut head = Object::with_capacity(12);
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
    head.push("dryRun", request.dry_run);
    if let Some(options) = request.options {
        head.push("options", options.clone());
    }
    head.into()
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
        let extra: Object =
            user.extra.iter().map(|(key, values)| (key.as_str(), Value::from(texts(values)))).collect();
        info.push("extra", extra);
    }
    info
}

fn push_text(object: &mut Object, name: &'static str, text: &str) {
    if !text.is_empty() {
        object.push(name, text);
    }
}
