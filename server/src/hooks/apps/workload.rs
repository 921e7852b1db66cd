//! What the workloads of apps have in common: they hold a pod template at `spec.template` and a
//! selector at `spec.selector`.

use apiwright_json::Value;
use apiwright_meta::field::go_value;
use apiwright_meta::labels::{LabelSelector, SelectorLeniency, validate_label_selector};
use apiwright_meta::{ErrorList, Path};

use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::pod_spec::{self, Template};

/// The path of a member of the spec.
pub(super) fn spec(member: &str) -> Path {
    Path::new("spec").child(member)
}

/// The template's computed defaults.
pub(super) fn set_defaults(object: &mut Value) {
    if let Some(spec) = object.at_mut(&["spec", "template", "spec"]).and_then(Value::as_object_mut) {
        pod_spec::set_defaults(spec);
    }
}

/// What a rolling update leaves out.
pub(super) fn roll_by_default(object: &mut Value, strategy: &str, defaults: &[(&str, Value)]) {
    let Some(strategy) = object.at_mut(&["spec", strategy]).and_then(Value::as_object_mut) else { return };
    if strategy.str("type") == Some("RollingUpdate") {
        let rolling = strategy.object("rollingUpdate");
        for (name, value) in defaults {
            rolling.entry(name, || value.clone());
        }
    }
}

/// The faults of the selector, where there is one.
pub(super) fn selector_faults(object: &Value, workload: &str, out: &mut Faults<'_>) {
    let path = spec("selector");
    out.declared(&path);
    let Some(selector) = present_selector(object) else { return };
    out.append(validate_label_selector(Some(selector), SelectorLeniency::default(), &path));
    let is_empty =
        cells::count(selector, &["matchLabels"]) + cells::count(selector, &["matchExpressions"]) == 0;
    if is_empty && !out.0.iter().any(|error| error.path == path) {
        out.invalid(path, go_value(selector), &format!("empty selector is invalid for {workload}"));
    }
}

/// The selector, where it can be understood; `Err` where it cannot.
pub(super) fn selector(object: &Value) -> Result<Option<LabelSelector>, String> {
    present_selector(object).map(LabelSelector::from_object).transpose()
}

fn present_selector(object: &Value) -> Option<&Value> {
    object.at(&["spec", "selector"]).filter(|selector| !selector.is_null())
}

/// The faults of a template whose pods run for ever.
pub(super) fn template_faults(
    object: &Value,
    template: &Template<'_>,
    why_unreadable: &str,
    controller: &str,
    out: &mut Faults<'_>,
) {
    match selector(object) {
        Ok(selector) => {
            template.must_match(selector.as_ref(), out);
            template.faults(out);
            pod_spec::restart_always(template, controller, out);
        }
        Err(_) => {
            let shown = object.at(&["spec", "selector"]).map_or_else(String::new, go_value);
            out.invalid(spec("selector"), shown, why_unreadable);
        }
    }
}

/// The selector stays as it is.
pub(super) fn selector_is_immutable(object: &Value, old: &Value, errors: &mut ErrorList) {
    let selector = object.at(&["spec", "selector"]);
    if selector != old.at(&["spec", "selector"]) {
        let shown = selector.map_or_else(|| "null".to_owned(), go_value);
        errors.invalid(spec("selector"), shown, "field is immutable");
    }
}

/// A member of the status.
pub(super) fn counted(object: &Value, member: &str) -> i64 {
    object.at(&["status", member]).and_then(Value::as_i64).unwrap_or_default()
}

/// The faults of counts of the status: none is more than there are, and what is available is ready.
pub(super) fn count_faults(object: &Value, counts: &[&str], ready: &str, errors: &mut ErrorList) {
    let path = Path::new("status");
    let total = counted(object, "replicas");
    for member in counts {
        let count = counted(object, member);
        if count > total {
            errors.invalid(path.child(member), count, "cannot be greater than status.replicas");
        }
    }
    let available = counted(object, "availableReplicas");
    if available > counted(object, "readyReplicas") {
        let why = format!("cannot be greater than {ready}");
        errors.invalid(path.child("availableReplicas"), available, &why);
    }
}

/// Collisions are counted upwards.
pub(super) fn collisions_stay(object: &Value, old: &Value, errors: &mut ErrorList) {
    let count = |object: &Value| object.at(&["status", "collisionCount"]).and_then(Value::as_i64);
    let path = Path::new("status").child("collisionCount");
    match (count(object), count(old)) {
        (now, Some(before)) if now.is_none_or(|now| now < before) => {
            let shown = now.map_or_else(|| "null".into(), |now| now.to_string());
            errors.invalid(path, shown, "cannot be decremented");
        }
        _ => {}
    }
}

/// The cells of all workloads.
pub(super) fn cell(column: &str, object: &Value) -> Value {
    match column {
        "Containers" => pod_spec::container_names(object, &["spec", "template"]).into(),
        "Images" => pod_spec::container_images(object, &["spec", "template"]).into(),
        "Selector" => cells::selector(object, &["spec", "selector"]).into(),
        _ => Value::Null,
    }
}
