//! A request as expressions see it.

use apiwright_admission::matching::{Matched, describe};
use apiwright_admission::{Attributes, Objects};
use apiwright_json::{Object, Value};
use apiwright_meta::status::Result;

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
    describe(request, matched, &mut head);
    head.push("dryRun", request.dry_run);
    if let Some(options) = request.options {
        head.push("options", options.clone());
    }
    head.into()
}
