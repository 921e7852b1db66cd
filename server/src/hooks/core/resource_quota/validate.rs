//! What makes a ResourceQuota valid: what it counts, and of which pods.

use std::collections::BTreeSet;

use apiwright_json::{Object, Value};
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{ErrorList, Path};
use apiwright_schema::go::internal;

use crate::generated::catalogue;
use crate::hooks::shared::{cells, resources};

const SCOPES: [&str; 7] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];
/// Pods are in one or in the other.
const OPPOSITES: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["NotTerminating", "Terminating"]];
/// What pods are counted by besides their number.
const COMPUTE: [&str; 6] =
    ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];
const ONLY_EXISTS: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
    ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
    ResourceQuotaScopeCrossNamespacePodAffinity";

/// The faults of what is allowed.
pub(super) fn spec(object: &Value, errors: &mut ErrorList) {
    let (nothing, path) = (Value::Null, Path::new("spec"));
    let spec = object.get("spec").unwrap_or(&nothing);
    amounts(spec, "hard", &path, errors);
    scopes(spec, &path.child("scopes"), errors);
    selector(spec, &path.child("scopeSelector").child("matchExpressions"), errors);
}

/// The faults of what is used.
pub(super) fn status(object: &Value, errors: &mut ErrorList) {
    let Some(status) = object.get("status") else { return };
    for list in ["hard", "used"] {
        amounts(status, list, &Path::new("status"), errors);
    }
}

/// The faults of an update: it counts the same pods.
pub(super) fn same_scopes(object: &Value, old: &Value, errors: &mut ErrorList) {
    let scopes = |object| -> BTreeSet<&str> {
        cells::items(object, &["spec", "scopes"]).iter().filter_map(Value::as_str).collect()
    };
    if scopes(object) != scopes(old) {
        let shown = object.at(&["spec", "scopes"]).unwrap_or(&Value::Null);
        errors.invalid(Path::new("spec").child("scopes"), go_value(shown), "field is immutable");
    }
}

fn amounts(holder: &Value, list: &str, path: &Path, errors: &mut ErrorList) {
    for (name, amount) in holder.get(list).and_then(Value::as_object).into_iter().flat_map(Object::iter) {
        let path = path.child(list).key(name);
        resources::quota_name_faults(name, &path, errors);
        if let Ok(amount) = Quantity::from_value(amount) {
            resources::amount_faults(name, &amount, &path, errors);
        }
    }
}

/// The names of what is allowed, sorted.
fn counted(spec: &Value) -> BTreeSet<&str> {
    let hard = spec.get("hard").and_then(Value::as_object).into_iter().flat_map(Object::keys);
    hard.map(apiwright_json::Str::as_str).collect()
}

fn scopes(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let scopes: Vec<&str> = cells::items(spec, &["scopes"]).iter().filter_map(Value::as_str).collect();
    let mut refuse = |why| {
        errors.invalid(path.clone(), go_value(spec.get("scopes").unwrap_or(&Value::Null)), why);
    };
    for scope in &scopes {
        if !SCOPES.contains(scope) {
            refuse("unsupported scope");
        }
        for _ in counted(spec).into_iter().filter(|name| !fits(scope, name)) {
            refuse("unsupported scope applied to resource");
        }
    }
    for _ in OPPOSITES.iter().filter(|pair| pair.iter().all(|scope| scopes.contains(scope))) {
        refuse("conflicting scopes");
    }
}

fn selector(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let expressions = cells::items(spec, &["scopeSelector", "matchExpressions"]);
    for one in expressions {
        let (scope, operator) = (one.text_at(&["scopeName"]), one.text_at(&["operator"]));
        if !SCOPES.contains(&scope) {
            errors.invalid(path.child("scopeName"), quoted(scope), "unsupported scope");
        }
        for _ in counted(spec).into_iter().filter(|name| !fits(scope, name)) {
            errors.invalid(path.clone(), shown_selector(spec), "unsupported scope applied to resource");
        }
        let has_values =
            SCOPES.contains(&scope) && !matches!(scope, "PriorityClass" | "VolumeAttributesClass");
        if has_values && operator != "Exists" {
            errors.invalid(path.child("operator"), quoted(operator), ONLY_EXISTS);
        }
        let values = cells::items(one, &["values"]);
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                errors.required(path.child("values"), why);
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                errors.invalid(
                    path.child("values"),
                    go_value(one.get("values").unwrap_or(&Value::Null)),
                    why,
                );
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.invalid(path.child("operator"), quoted(operator), "not a valid selector operator"),
        }
    }
    let has = |scope: &&str| expressions.iter().any(|one| one.text_at(&["scopeName"]) == *scope);
    for _ in OPPOSITES.iter().filter(|pair| pair.iter().all(has)) {
        // Upstream shows the scopes here as well, not the selector.
        let shown = go_value(spec.get("scopes").unwrap_or(&Value::Null));
        errors.invalid(path.clone(), shown, "conflicting scopes");
    }
}

/// Whether what has a scope is counted by such a resource; others than the standard ones always are.
fn fits(scope: &str, resource: &str) -> bool {
    if !resources::is_standard_for_quota(resource) {
        return true;
    }
    match scope {
        "BestEffort" => resource == "pods",
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => resource == "pods" || COMPUTE.contains(&resource),
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

/// The selector as JSON of upstream's internal type.
fn shown_selector(spec: &Value) -> String {
    let Some(selector) = spec.get("scopeSelector") else { return "null".into() };
    let ty = catalogue().definition("io.k8s.api.core.v1.ResourceQuotaSpec");
    let field = ty.and_then(|ty| ty.field("scopeSelector"));
    field.map_or_else(|| go_value(selector), |field| internal(&field.node, selector))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_quotas() {
        let table = [
            (r#"{"hard":{"pods":"1","count/deployments.apps":"2","requests.example.com/gpu":"1"}}"#, "[]"),
            (
                r#"{"hard":{"pods":"-1"}}"#,
                "spec.hard[pods]: Invalid value: \"-1\": must be greater than or equal to 0",
            ),
            (r#"{"hard":{"pods":"500m"}}"#, "spec.hard[pods]: Invalid value: \"500m\": must be an integer"),
            (
                r#"{"hard":{"storage":"1"}}"#,
                "spec.hard[storage]: Invalid value: \"storage\": must be a standard resource for quota",
            ),
            (
                r#"{"hard":{"cpu":"1"},"scopes":["BestEffort","Odd"]}"#,
                "[spec.scopes: Invalid value: [\"BestEffort\",\"Odd\"]: unsupported scope applied to resource, \
                 spec.scopes: Invalid value: [\"BestEffort\",\"Odd\"]: unsupported scope]",
            ),
            (
                r#"{"scopes":["Terminating","NotTerminating"]}"#,
                "spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\"]: conflicting scopes",
            ),
            (
                r#"{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In"}]}}"#,
                "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when \
                 `operator` is 'In' or 'NotIn' for scope selector",
            ),
        ];
        for (text, expected) in table {
            let object = format!("{{\"spec\":{text}}}");
            let mut errors = ErrorList::new();
            spec(&apiwright_json::decode(object.as_bytes()).unwrap().0, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{text}");
        }
    }
}
