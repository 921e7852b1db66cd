//! What may change of a Job that is there.

use apiwright_json::{Object, Value};
use apiwright_meta::field::go_value;
use apiwright_meta::{ErrorList, Path};
use apiwright_schema::go::internal;

use super::validate;
use crate::generated::catalogue;
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

const FIXED: &str = "field is immutable";

/// The faults of an update.
pub(super) fn faults(job: &Value, old: &Value, errors: &mut ErrorList) {
    let before = errors.0.len();
    validate::job(job, errors);
    // Upstream looks at the spec twice, which shows in the causes.
    if errors.0.len() > before {
        let mut again = ErrorList::new();
        validate::with_selector(job, &mut Faults::take(&mut again, &Path::new("spec")));
        errors.append(again);
    }
    let nothing = Value::Null;
    let (spec, before) = (job.get("spec").unwrap_or(&nothing), old.get("spec").unwrap_or(&nothing));
    completions(spec, before, errors);
    immutable(spec, before, "selector", errors);
    template(spec, before, old, errors);
    for member in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"]
    {
        immutable(spec, before, member, errors);
    }
}

/// An indexed job may grow and shrink with its parallelism.
fn completions(spec: &Value, old: &Value, errors: &mut ErrorList) {
    let (now, before) = (spec.get("completions"), old.get("completions"));
    if now == before {
        return;
    }
    let in_tandem = |spec: &Value| {
        spec.get("completions").is_some() && spec.get("completions") == spec.get("parallelism")
    };
    if validate::is_indexed(spec) {
        if !in_tandem(spec) || !in_tandem(old) {
            let shown = now.map_or_else(|| "null".into(), go_value);
            let why = "can only be modified in tandem with spec.parallelism";
            errors.invalid(Path::new("spec").child("completions"), shown, why);
        }
        return;
    }
    immutable(spec, old, "completions", errors);
}

fn immutable(spec: &Value, old: &Value, member: &str, errors: &mut ErrorList) {
    if spec.get(member) != old.get(member) {
        errors.invalid(Path::new("spec").child(member), shown("JobSpec", member, spec.get(member)), FIXED);
    }
}

/// Pods of a job that waits and never ran may be aimed elsewhere.
fn template(spec: &Value, old_spec: &Value, old: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec").child("template");
    let suspended = old_spec.get("suspend").and_then(Value::as_bool).unwrap_or_default();
    let started = old.at(&["status", "startTime"]).is_some();
    if !suspended || started {
        immutable(spec, old_spec, "template", errors);
        return;
    }
    let pod =
        |spec: &Value| spec.at(&["template", "spec"]).and_then(Value::as_object).cloned().unwrap_or_default();
    let now = pod(spec);
    let mut before = pod(old_spec);
    aim(&mut before, &now);
    if now != before {
        let shown = shown_pod(&Value::Object(now));
        errors.invalid(path.child("spec"), shown, FIXED);
    }
}

/// Lets all that may change be as it is now.
fn aim(before: &mut Object, now: &Object) {
    for member in ["nodeSelector", "tolerations", "schedulingGates"] {
        copy(before, now, member);
    }
    let node = now.get("affinity").and_then(|affinity| affinity.get("nodeAffinity")).cloned();
    if node.is_some() || before.contains_key("affinity") {
        let affinity = before.object("affinity");
        match node {
            Some(node) => affinity.insert("nodeAffinity", node),
            None => affinity.remove("nodeAffinity"),
        };
        if affinity.is_empty() && !now.contains_key("affinity") {
            before.remove("affinity");
        }
    }
    for list in ["containers", "initContainers"] {
        let own: Vec<Value> = now.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
        let lists = before.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for (container, own) in lists.filter_map(Value::as_object_mut).zip(own) {
            if let Some(own) = own.as_object() {
                copy(container, own, "resources");
            }
        }
    }
}

fn copy(to: &mut Object, from: &Object, member: &str) {
    match from.get(member) {
        Some(value) => to.insert(member, value.clone()),
        None => to.remove(member),
    };
}

/// A member of a type as Go's encoder prints upstream's internal type.
fn shown(ty: &str, member: &str, value: Option<&Value>) -> String {
    let Some(value) = value else { return "null".into() };
    let ty = catalogue().definition(&format!("io.k8s.api.batch.v1.{ty}"));
    ty.and_then(|ty| ty.field(member)).map_or_else(|| go_value(value), |field| internal(&field.node, value))
}

fn shown_pod(spec: &Value) -> String {
    let ty = catalogue().definition("io.k8s.api.core.v1.PodTemplateSpec");
    ty.and_then(|ty| ty.field("spec")).map_or_else(|| go_value(spec), |field| internal(&field.node, spec))
}

/// Whether an item of the list is a condition of this type that is true.
pub(super) fn is_true(job: &Value, kind: &str) -> bool {
    cells::items(job, &["status", "conditions"])
        .iter()
        .any(|one| one.text_at(&["type"]) == kind && one.text_at(&["status"]) == "True")
}
