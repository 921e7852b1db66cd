//! Which objects a quota is about: its scopes.

use apiwright_json::Value;

use super::evaluator::{Counted, Evaluator};
use crate::plugins::values::{items, text};

/// Whether all of a quota's scopes cover an object.
pub(crate) fn cover(quota: &Value, evaluator: &Evaluator, object: &Value) -> bool {
    let plain = items(quota, &["spec", "scopes"])
        .filter_map(Value::as_str)
        .all(|scope| matches(evaluator, scope, "Exists", &Value::Null, object));
    plain
        && items(quota, &["spec", "scopeSelector", "matchExpressions"]).all(|one| {
            let values = one.get("values").unwrap_or(&Value::Null);
            matches(evaluator, text(one, "scopeName"), text(one, "operator"), values, object)
        })
}

fn matches(evaluator: &Evaluator, scope: &str, operator: &str, values: &Value, object: &Value) -> bool {
    match (evaluator.kind, scope) {
        (Counted::Pods, "Terminating") => is_terminating(object),
        (Counted::Pods, "NotTerminating") => !is_terminating(object),
        (Counted::Pods, "BestEffort") => is_best_effort(object),
        (Counted::Pods, "NotBestEffort") => !is_best_effort(object),
        (Counted::Pods, "PriorityClass") => {
            selects(object.text_at(&["spec", "priorityClassName"]), operator, values)
        }
        (Counted::Pods, "CrossNamespacePodAffinity") => has_affinity_elsewhere(object),
        (Counted::Claims, "VolumeAttributesClass") => {
            selects(object.text_at(&["spec", "volumeAttributesClassName"]), operator, values)
        }
        _ => false,
    }
}

/// Whether a class's name is one of those that a scope selects; empty for none.
fn selects(class: &str, operator: &str, values: &Value) -> bool {
    let listed = values.as_array().into_iter().flatten().any(|value| value.as_str() == Some(class));
    match operator {
        "In" => !class.is_empty() && listed,
        "NotIn" => class.is_empty() || !listed,
        "DoesNotExist" => class.is_empty(),
        _ => !class.is_empty(),
    }
}

fn is_terminating(pod: &Value) -> bool {
    pod.at(&["spec", "activeDeadlineSeconds"]).and_then(Value::as_i64).is_some_and(|seconds| seconds >= 0)
}

/// Whether no container asks for anything.
fn is_best_effort(pod: &Value) -> bool {
    let asks = |holder: &Value| {
        ["requests", "limits"].iter().any(|side| {
            let list = crate::plugins::values::resource_list(holder, &["resources", side]);
            list.iter().any(|(name, amount)| ["cpu", "memory"].contains(&name.as_str()) && amount.sign() > 0)
        })
    };
    let containers = ["containers", "initContainers"].into_iter();
    !containers.flat_map(|member| items(pod, &["spec", member])).any(asks)
        && !pod.get("spec").is_some_and(asks)
}

/// Whether a pod wants to be near or far from pods of other namespaces.
fn has_affinity_elsewhere(pod: &Value) -> bool {
    let elsewhere = |term: &Value| {
        items(term, &["namespaces"]).next().is_some() || term.get("namespaceSelector").is_some()
    };
    ["podAffinity", "podAntiAffinity"].into_iter().any(|kind| {
        items(pod, &["spec", "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"])
            .any(elsewhere)
            || items(pod, &["spec", "affinity", kind, "preferredDuringSchedulingIgnoredDuringExecution"])
                .filter_map(|weighted| weighted.get("podAffinityTerm"))
                .any(elsewhere)
    })
}
