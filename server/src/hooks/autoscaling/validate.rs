//! What makes a HorizontalPodAutoscaler valid, in the terms of autoscaling/v2.

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{ErrorList, GroupVersion, Path, names};

use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

/// How many seconds back a recommendation is looked for, and a policy looks.
const WINDOW_SECONDS_MAX: i64 = 3600;
const PERIOD_SECONDS_MAX: i64 = 1800;
/// The kinds of metrics and the members that hold them, in the order in which they are looked at.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// The faults of an autoscaler; `old` is what an update replaces.
pub(super) fn autoscaler(object: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let mut out = Faults::take(errors, &path);
    out.declared(&path.child("minReplicas"));
    let number = |member: &str| object.at(&["spec", member]).and_then(Value::as_i64);
    let (minimum, maximum) = (number("minReplicas"), number("maxReplicas").unwrap_or_default());
    let at = path.child("maxReplicas");
    out.drop_below(&at);
    match maximum {
        0 => out.required(at.clone(), "must be set and greater than 0"),
        negative if negative < 0 => out.invalid(at.clone(), negative, "must be greater than or equal to 1"),
        _ => {}
    }
    if minimum.is_some_and(|minimum| maximum < minimum) {
        out.invalid(at, maximum, "must be greater than or equal to `minReplicas`");
    }
    let version = |object: &Value| object.text_at(&["spec", "scaleTargetRef", "apiVersion"]).to_owned();
    let was_wrong = old.is_some_and(|old| version_fault(&version(old), true).is_some());
    let target = object.at(&["spec", "scaleTargetRef"]).unwrap_or(&Value::Null);
    reference(target, &path.child("scaleTargetRef"), true, was_wrong, &mut out);
    let metrics = cells::items(object, &["spec", "metrics"]);
    let path_of_metrics = path.child("metrics");
    for (at, metric) in metrics.iter().enumerate() {
        metric_faults(metric, &path_of_metrics.index(at), &mut out);
    }
    let wakes = |metric: &Value| matches!(metric.text_at(&["type"]), "Object" | "External");
    if minimum == Some(0) && !metrics.iter().any(wakes) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        out.forbidden(path_of_metrics, why);
    }
    for direction in ["scaleUp", "scaleDown"] {
        if let Some(rules) = object.at(&["spec", "behavior", direction]) {
            rule_faults(rules, &path.child("behavior").child(direction), &mut out);
        }
    }
}

/// The faults of a status.
pub(super) fn status(object: &Value, errors: &mut ErrorList) {
    for member in ["currentReplicas", "desiredReplicas"] {
        let count = object.at(&["status", member]).and_then(Value::as_i64).unwrap_or_default();
        if count < 0 {
            let path = Path::new("status").child(member);
            errors.invalid(path, count, "must be greater than or equal to 0");
        }
    }
}

fn reference(reference: &Value, path: &Path, grouped: bool, was_wrong: bool, out: &mut Faults<'_>) {
    for member in ["kind", "name"] {
        let (text, path) = (reference.text_at(&[member]), path.child(member));
        out.declared(&path);
        if !text.is_empty() {
            out.invalid_each(&path, text, names::path_segment_name(text));
        }
    }
    let version = reference.text_at(&["apiVersion"]);
    if let Some(why) = version_fault(version, grouped).filter(|_| !was_wrong) {
        out.invalid(path.child("apiVersion"), quoted(version), &why);
    }
}

fn version_fault(version: &str, grouped: bool) -> Option<String> {
    match GroupVersion::parse(version) {
        Err(why) => Some(why),
        Ok(version) if grouped && version.group.is_empty() => {
            Some("apiVersion must specify API group".into())
        }
        Ok(_) => None,
    }
}

fn metric_faults(metric: &Value, path: &Path, out: &mut Faults<'_>) {
    let kind = metric.text_at(&["type"]);
    let at = path.child("type");
    out.drop_below(&at);
    if kind.is_empty() {
        out.required(at.clone(), "must specify a metric source type");
    }
    if !TYPES.contains(&kind) {
        out.not_supported(at.clone(), quoted(kind), &TYPES);
    }
    let mut present = Vec::new();
    for (_, member) in SOURCES {
        let Some(source) = metric.get(member) else { continue };
        present.push(member);
        if present.len() == 1 {
            source_faults(member, source, &path.child(member), out);
        }
    }
    let expected = SOURCES.iter().find(|(name, _)| *name == kind).map(|(_, member)| *member);
    match expected {
        Some(member) if metric.get(member).is_none() => {
            out.required(path.child(member), "must populate information for the given metric source");
        }
        Some(_) => {}
        None => out.not_supported(at, quoted(kind), &TYPES),
    }
    if present.len() > 1 {
        for member in present.into_iter().filter(|member| Some(*member) != expected) {
            out.forbidden(path.child(member), "must populate the given metric source only");
        }
    }
}

fn source_faults(kind: &str, source: &Value, path: &Path, out: &mut Faults<'_>) {
    let at = path.child("target");
    let has = |member: &str| source.at(&["target", member]).is_some();
    match kind {
        "object" => {
            let described = source.get("describedObject").unwrap_or(&Value::Null);
            reference(described, &path.child("describedObject"), false, false, out);
            identifier_faults(source, path, out);
            target_faults(source, &at, out);
            if !has("value") && !has("averageValue") {
                out.required(at.child("averageValue"), "must set either a target value or averageValue");
            }
        }
        "external" => {
            identifier_faults(source, path, out);
            target_faults(source, &at, out);
            if !has("value") && !has("averageValue") {
                let why = "must set either a target value for metric or a per-pod target";
                out.required(at.child("averageValue"), why);
            }
            if has("value") && has("averageValue") {
                let why = "may not set both a target value for metric and a per-pod target";
                out.forbidden(at.child("value"), why);
            }
        }
        "pods" => {
            identifier_faults(source, path, out);
            target_faults(source, &at, out);
            if quantity(source, "averageValue").is_none_or(|amount| amount.sign() <= 0) {
                out.required(at.child("averageValue"), "must specify a positive target averageValue");
            }
        }
        _ => {
            if source.text_at(&["name"]).is_empty() {
                out.required(path.child("name"), "must specify a resource name");
            }
            if kind == "containerResource" && source.text_at(&["container"]).is_empty() {
                out.required(path.child("container"), "must specify a container");
            }
            target_faults(source, &at, out);
            if !has("averageUtilization") && !has("averageValue") {
                let why = "must set either a target raw value or a target utilization";
                out.required(at.child("averageUtilization"), why);
            }
            if has("averageUtilization") && has("averageValue") {
                let why = "may not set both a target raw value and a target utilization";
                out.forbidden(at.child("averageValue"), why);
            }
        }
    }
}

fn identifier_faults(source: &Value, path: &Path, out: &mut Faults<'_>) {
    let path = path.child("metric").child("name");
    match source.text_at(&["metric", "name"]) {
        "" => out.required(path, "must specify a metric name"),
        name => out.invalid_each(&path, name, names::path_segment_name(name)),
    }
}

fn target_faults(source: &Value, path: &Path, out: &mut Faults<'_>) {
    let kind = source.text_at(&["target", "type"]);
    if kind.is_empty() {
        out.required(path.child("type"), "must specify a metric target type");
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let why = "must be either Utilization, Value, or AverageValue";
        out.invalid(path.child("type"), quoted(kind), why);
    }
    for member in ["value", "averageValue"] {
        if let Some(amount) = quantity(source, member).filter(|amount| amount.sign() <= 0) {
            out.invalid(path.child(member), quoted(&amount.to_string()), "must be positive");
        }
    }
    let utilization = source.at(&["target", "averageUtilization"]).and_then(Value::as_i64);
    if let Some(percent) = utilization.filter(|percent| *percent < 1) {
        out.invalid(path.child("averageUtilization"), percent, "must be greater than 0");
    }
}

fn quantity(source: &Value, member: &str) -> Option<Quantity> {
    source.at(&["target", member]).and_then(|amount| Quantity::from_value(amount).ok())
}

fn rule_faults(rules: &Value, path: &Path, out: &mut Faults<'_>) {
    let window = rules.get("stabilizationWindowSeconds").and_then(Value::as_i64).unwrap_or_default();
    let at = path.child("stabilizationWindowSeconds");
    if window < 0 {
        out.invalid(at, window, "must be greater than or equal to zero");
    } else if window > WINDOW_SECONDS_MAX {
        let why = format!("must be less than or equal to {WINDOW_SECONDS_MAX}");
        out.invalid(at, window, &why);
    }
    out.declared(&path.child("selectPolicy"));
    let policies = cells::items(rules, &["policies"]);
    if policies.is_empty() {
        out.required(path.child("policies"), "must specify at least one Policy");
    }
    for (at, policy) in policies.iter().enumerate() {
        policy_faults(policy, &path.child("policies").index(at), out);
    }
    let tolerance = rules.get("tolerance").and_then(|amount| Quantity::from_value(amount).ok());
    if let Some(amount) = tolerance.filter(|amount| amount.sign() < 0) {
        let shown = go_value(&amount.to_string().into());
        out.invalid(path.child("tolerance"), shown, "must be greater than or equal to 0");
    }
}

fn policy_faults(policy: &Value, path: &Path, out: &mut Faults<'_>) {
    out.declared(&path.child("type"));
    for (member, maximum) in [("value", None), ("periodSeconds", Some(PERIOD_SECONDS_MAX))] {
        let number = policy.get(member).and_then(Value::as_i64).unwrap_or_default();
        if number <= 0 {
            out.invalid(path.child(member), number, "must be greater than zero");
        }
        if let Some(maximum) = maximum.filter(|maximum| number > *maximum) {
            let why = format!("must be less than or equal to {maximum}");
            out.invalid(path.child(member), number, &why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(spec: &str) -> String {
        let object = apiwright_json::decode(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap().0;
        let mut errors = ErrorList::new();
        autoscaler(&object, None, &mut errors);
        errors.aggregate()
    }

    #[test]
    fn faults_of_specs() {
        let target = r#""scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}"#;
        let metric = |metric: &str| format!(r#"{{{target},"maxReplicas":3,"metrics":[{metric}]}}"#);
        let table = [
            (format!(r#"{{{target},"maxReplicas":3}}"#), "[]"),
            (format!("{{{target}}}"), "spec.maxReplicas: Required value: must be set and greater than 0"),
            (
                format!(r#"{{{target},"minReplicas":4,"maxReplicas":3}}"#),
                "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`",
            ),
            (
                r#"{"scaleTargetRef":{"apiVersion":"v1","kind":"A","name":"b"},"maxReplicas":1}"#.to_owned(),
                "spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify API group",
            ),
            (
                metric(r#"{"type":"Resource"}"#),
                "spec.metrics[0].resource: Required value: must populate information for the given metric source",
            ),
            (
                metric(
                    r#"{"type":"Pods","pods":{"metric":{"name":"q"},"target":{"type":"Utilization"}},"resource":{}}"#,
                ),
                "[spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue, \
                 spec.metrics[0].resource: Forbidden: must populate the given metric source only]",
            ),
            (
                metric(
                    r#"{"type":"Resource","resource":{"name":"cpu","target":{"type":"Odd","averageValue":"1"}}}"#,
                ),
                "spec.metrics[0].resource.target.type: Invalid value: \"Odd\": must be either Utilization, Value, or AverageValue",
            ),
            (
                format!(
                    r#"{{{target},"maxReplicas":3,"behavior":{{"scaleUp":{{"policies":[{{"type":"Pods"}}]}}}}}}"#
                ),
                "[spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero, \
                 spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 0: must be greater than zero]",
            ),
        ];
        for (spec, expected) in table {
            assert_eq!(faults(&spec), expected, "{spec}");
        }
    }
}
