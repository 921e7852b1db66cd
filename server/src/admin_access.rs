//! Devices are given out with administrators' access only where the namespace says that this may be.
//!
//! The registry's validation knows the object only; an admission plugin may look at its namespace. Nobody can switch
//! it off.

use apiwright_admission::{Attributes, Objects, Operation, Plugin};
use apiwright_json::Value;
use apiwright_meta::field::Path;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, Status, object};
use futures::FutureExt;
use futures::future::BoxFuture;

const GROUP: &str = "resource.k8s.io";
const LABEL: &str = "resource.kubernetes.io/admin-access";
const NEEDS_LABEL: &str = "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the \
                           containing namespace";

/// Checks claims, their templates and what claims are given.
pub(crate) struct AdminAccess {
    objects: Objects,
}

impl AdminAccess {
    pub(crate) fn new(objects: Objects) -> Self {
        Self { objects }
    }

    async fn check(&self, request: &Attributes<'_>, object: &Value, old: Option<&Value>) -> Result<()> {
        let Some(path) = asked(request, object, old) else { return Ok(()) };
        let namespace = self.objects.get("", "namespaces", "", request.namespace).await?;
        if namespace.is_some_and(|namespace| object::label(&namespace, LABEL) == Some("true")) {
            return Ok(());
        }
        let mut errors = ErrorList::new();
        errors.forbidden(path, NEEDS_LABEL);
        Err(Status::invalid(&request.resource.group_kind(), object::name(object), &errors))
    }
}

impl Plugin for AdminAccess {
    fn name(&self) -> &'static str {
        "AdminAccess"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        match request.operation {
            Operation::Create => {
                request.is(GROUP, "resourceclaims") || request.is(GROUP, "resourceclaimtemplates")
            }
            Operation::Update => request.subresource == "status" && request.is_of(GROUP, "resourceclaims"),
            Operation::Delete | Operation::Connect => false,
        }
    }

    fn validate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            match object {
                Some(object) => self.check(request, object, old).await,
                None => Ok(()),
            }
        }
        .boxed()
    }
}

/// Where administrators' access is asked for, or given that was not yet.
fn asked(request: &Attributes<'_>, object: &Value, old: Option<&Value>) -> Option<Path> {
    if request.subresource == "status" {
        let results: &[&str] = &["status", "allocation", "devices", "results"];
        if old.is_some_and(|old| first(old, results).is_some()) {
            return None;
        }
        let at = first(object, results)?;
        let path = Path::new("status").child("allocation").child("devices").child("results");
        return Some(path.index(at).child("adminAccess"));
    }
    let is_template = request.is(GROUP, "resourceclaimtemplates");
    let requests: &[&str] =
        if is_template { &["spec", "spec", "devices", "requests"] } else { &["spec", "devices", "requests"] };
    let at = first(object, requests)?;
    Some(Path::new("spec").child("devices").child("requests").index(at).child("adminAccess"))
}

/// The first item that has administrators' access; requests of older versions say so themselves.
fn first(object: &Value, list: &[&str]) -> Option<usize> {
    let says = |value: &Value| value.get("adminAccess").and_then(Value::as_bool) == Some(true);
    let items = object.at(list).and_then(Value::as_array)?;
    items.iter().position(|item| says(item) || item.get("exactly").is_some_and(says))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_access() {
        let list: &[&str] = &["spec", "devices", "requests"];
        for (requests, expected) in [
            ("[]", None),
            (r#"[{"name":"a","exactly":{"adminAccess":false}}]"#, None),
            (r#"[{"name":"a"},{"name":"b","exactly":{"adminAccess":true}}]"#, Some(1)),
            (r#"[{"name":"a","adminAccess":true}]"#, Some(0)),
        ] {
            let claim = format!(r#"{{"spec":{{"devices":{{"requests":{requests}}}}}}}"#);
            let claim = apiwright_json::decode(claim.as_bytes()).unwrap().0;
            assert_eq!(first(&claim, list), expected, "{requests}");
        }
    }
}
