//! `pods/binding` and `bindings`: gives a pod its node.

use std::sync::Arc;

use apiwright_json::{Object, Value};
use apiwright_meta::field::{Path, quoted};
use apiwright_meta::gvk::GroupResource;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, Status, object, time};
use apiwright_storage::Storage;

use super::{Act, Acting, Answer, BoxFuture, stores};

/// Binds pods.
pub(super) struct Binding {
    pub(super) storage: Arc<dyn Storage>,
}

impl Act for Binding {
    fn act<'a>(&'a self, acting: Acting<'a>) -> BoxFuture<'a, Result<Answer>> {
        Box::pin(async move {
            let binding = &acting.object;
            let name = object::name(binding);
            if !acting.name.is_empty() && acting.name != name {
                return Err(Status::bad_request("name in URL does not match name in Binding object"));
            }
            let errors = faults(binding);
            if !errors.is_empty() {
                return Err(Status::unclassified(errors.aggregate()));
            }
            acting.check.check(Some(binding), None).await?;
            let pods = stores::store("", "pods", &self.storage)?;
            let mut change = |pod: &mut Value| bind(pod, binding);
            pods.adjust(acting.namespace, name, acting.dry_run, &mut change).await?;
            Ok(Answer::Done)
        })
    }
}

fn faults(binding: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = Path::new("target");
    let kind = binding.text_at(&["target", "kind"]);
    if !kind.is_empty() && kind != "Node" {
        errors.not_supported(path.child("kind"), quoted(kind), &["Node", "<empty>"]);
    }
    if binding.text_at(&["target", "name"]).is_empty() {
        errors.required(path.child("name"), "");
    }
    errors
}

/// Gives a pod its node, and what else the binding says of it.
fn bind(pod: &mut Value, binding: &Value) -> Result<()> {
    let name = object::name(pod).to_owned();
    check_preconditions(pod, binding)?;
    let refuse = |why: String| Err(Status::conflict(&resource("pods/binding"), &name, why));
    if object::deletion_timestamp(pod).is_some() {
        return refuse(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let node = pod.text_at(&["spec", "nodeName"]);
    if !node.is_empty() {
        return refuse(format!("pod {name} is already assigned to node {}", quoted(node)));
    }
    let gates = pod.at(&["spec", "schedulingGates"]).and_then(Value::as_array);
    if gates.is_some_and(|gates| !gates.is_empty()) {
        return refuse(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    for (key, value) in object::annotations(binding) {
        object::set_annotation(pod, key, value);
    }
    for (key, value) in object::labels(binding) {
        object::set_label(pod, key, value);
    }
    if let Some(pod) = pod.as_object_mut() {
        pod.object("spec").insert("nodeName", binding.text_at(&["target", "name"]));
        scheduled(pod.object("status"));
    }
    Ok(())
}

/// A binding may name the very pod that it is for.
fn check_preconditions(pod: &Value, binding: &Value) -> Result<()> {
    let checks = [
        ("UID", object::uid(binding), object::uid(pod)),
        ("ResourceVersion", object::resource_version(binding), object::resource_version(pod)),
    ];
    for (what, wanted, stored) in checks {
        if !wanted.is_empty() && wanted != stored {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {stored}"
            );
            return Err(Status::conflict(&resource("pods"), object::name(pod), why));
        }
    }
    Ok(())
}

/// Notes that the pod has a node.
fn scheduled(status: &mut Object) {
    let now = time::now();
    let mut condition = Object::from_iter([("type", "PodScheduled"), ("status", "True")]);
    condition.push("lastProbeTime", Value::Null);
    condition.push("lastTransitionTime", now);
    let conditions = status.entry("conditions", || Value::Array(Vec::new()));
    let Some(conditions) = conditions.as_array_mut() else { return };
    match conditions.iter_mut().find(|one| one.text_at(&["type"]) == "PodScheduled") {
        Some(one) if one.text_at(&["status"]) == "True" => {}
        Some(one) => *one = condition.into(),
        None => conditions.push(condition.into()),
    }
}

fn resource(name: &str) -> GroupResource {
    GroupResource { group: "".into(), resource: name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binding_a_pod() {
        let table = [
            (r#"{"metadata":{"name":"p"},"spec":{}}"#, ""),
            (
                r#"{"metadata":{"name":"p"},"spec":{"nodeName":"a"}}"#,
                "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"a\"",
            ),
            (
                r#"{"metadata":{"name":"p"},"spec":{"schedulingGates":[{"name":"g"}]}}"#,
                "Operation cannot be fulfilled on pods/binding \"p\": pod p has non-empty .spec.schedulingGates",
            ),
        ];
        let binding =
            apiwright_json::decode(br#"{"metadata":{"name":"p"},"target":{"name":"n"}}"#).unwrap().0;
        for (pod, expected) in table {
            let mut pod = apiwright_json::decode(pod.as_bytes()).unwrap().0;
            let said = bind(&mut pod, &binding).err().map(|status| status.message).unwrap_or_default();
            assert_eq!(said, expected);
            if said.is_empty() {
                assert_eq!(pod.text_at(&["spec", "nodeName"]), "n");
                assert_eq!(
                    pod.at(&["status", "conditions"]).and_then(Value::as_array).map(Vec::len),
                    Some(1)
                );
            }
        }
    }
}
