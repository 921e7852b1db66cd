//! autoscaling/v1 and v2 of one autoscaler: v1 knows one cpu target, and carries the rest of v2
//! in annotations so that nothing is lost on the way through it.

use apiwright_json::{Object, Value, decode, to_string};
use apiwright_schema::go::internal;

use super::metrics::{self, Side};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// From v1's fields to v2's.
pub(super) fn v1_to_v2(object: &mut Value) {
    let annotations = take_annotations(object);
    let list = |key: &str| annotations.get(key).and_then(Value::as_array).map(Vec::as_slice);
    let Some(object) = object.as_object_mut() else { return };
    let spec = object.object("spec");
    let percent = spec.remove("targetCPUUtilizationPercentage").and_then(|value| value.as_i64());
    let mut metrics = list(METRICS).map_or_else(Vec::new, |others| metrics::nested(others, Side::Spec));
    metrics.extend(percent.map(cpu_metric));
    if !metrics.is_empty() {
        spec.insert("metrics", metrics);
    }
    if let Some(behavior) = annotations.get(BEHAVIOR) {
        spec.insert("behavior", with_json_names(behavior));
    }
    let status = object.object("status");
    let current = status.remove("currentCPUUtilizationPercentage").and_then(|value| value.as_i64());
    let metrics = match list(CURRENT_METRICS) {
        Some(all) => metrics::nested(all, Side::Status),
        None => current.map(cpu_status).into_iter().collect(),
    };
    if !metrics.is_empty() {
        status.insert("currentMetrics", metrics);
    }
    if let Some(conditions) = annotations.get(CONDITIONS) {
        status.insert("conditions", conditions.clone());
    }
}

/// From v2's fields to v1's.
pub(super) fn v2_to_v1(object: &mut Value) {
    let Some(members) = object.as_object_mut() else { return };
    let mut kept: Vec<(&str, String)> = Vec::new();
    let spec = members.object("spec");
    if let Some(Value::Array(mut metrics)) = spec.remove("metrics") {
        let percent = |metric: &Value| metric.at(&["resource", "target", "averageUtilization"]).cloned();
        let cpu: Vec<Value> =
            metrics.iter().filter(|metric| is_cpu_utilization(metric)).filter_map(percent).collect();
        metrics.retain(|metric| !is_cpu_utilization(metric));
        if let Some(percent) = cpu.into_iter().next_back() {
            spec.insert("targetCPUUtilizationPercentage", percent);
        }
        if !metrics.is_empty() {
            kept.push((METRICS, to_string(&metrics::flat(&metrics, Side::Spec))));
        }
    }
    if let Some(behavior) = spec.remove("behavior") {
        kept.push((BEHAVIOR, with_go_names(&behavior)));
    }
    let status = members.object("status");
    if let Some(Value::Array(metrics)) = status.remove("currentMetrics").filter(|metrics| !is_empty(metrics))
    {
        let percent = metrics.iter().filter(|metric| metric.text_at(&["resource", "name"]) == "cpu");
        let mut percent =
            percent.filter_map(|metric| metric.at(&["resource", "current", "averageUtilization"]));
        if let Some(percent) = percent.next_back() {
            status.insert("currentCPUUtilizationPercentage", percent.clone());
        }
        kept.push((CURRENT_METRICS, to_string(&metrics::flat(&metrics, Side::Status))));
    }
    if let Some(conditions) = status.remove("conditions").filter(|conditions| !is_empty(conditions)) {
        kept.push((CONDITIONS, to_string(&conditions)));
    }
    if !kept.is_empty() {
        let annotations = members.object("metadata").object("annotations");
        for (key, value) in kept {
            annotations.insert(key, value);
        }
        annotations.sort();
    }
}

fn is_empty(list: &Value) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}

/// As Go prints a struct that has no names for JSON: all members, in capitals.
fn with_go_names(behavior: &Value) -> String {
    let spec = &crate::generated::types::autoscaling_v2::HORIZONTAL_POD_AUTOSCALER_SPEC;
    spec.field("behavior").map_or_else(|| to_string(behavior), |field| internal(&field.node, behavior))
}

/// The other way round; Go takes names in capitals or not.
fn with_json_names(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(with_json_names).collect::<Vec<_>>().into(),
        Value::Object(object) => {
            let mut renamed = Object::new();
            for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
                let mut letters = name.chars();
                let first = letters.next().map(|letter| letter.to_ascii_lowercase());
                renamed.push(first.into_iter().chain(letters).collect::<String>(), with_json_names(value));
            }
            renamed.into()
        }
        other => other.clone(),
    }
}

/// The metric of v2 that is v1's `targetCPUUtilizationPercentage`.
pub(super) fn cpu_metric(percent: i64) -> Value {
    let mut target = Object::new();
    target.push("type", "Utilization");
    target.push("averageUtilization", percent);
    let mut resource = Object::new();
    resource.push("name", "cpu");
    resource.push("target", target);
    let mut metric = Object::new();
    metric.push("type", "Resource");
    metric.push("resource", resource);
    metric.into()
}

fn is_cpu_utilization(metric: &Value) -> bool {
    metric.text_at(&["type"]) == "Resource"
        && metric.text_at(&["resource", "name"]) == "cpu"
        && metric.at(&["resource", "target", "averageUtilization"]).is_some()
}

fn cpu_status(percent: i64) -> Value {
    let current = Object::from_iter([("averageUtilization", percent)]);
    let mut resource = Object::new();
    resource.push("name", "cpu");
    resource.push("current", current);
    let mut metric = Object::new();
    metric.push("type", "Resource");
    metric.push("resource", resource);
    metric.into()
}

/// Takes out what v1 carries for v2; what cannot be read is dropped.
fn take_annotations(object: &mut Value) -> Object {
    let mut found = Object::new();
    let Some(metadata) = object.at_mut(&["metadata"]).and_then(Value::as_object_mut) else { return found };
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        for key in [METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR] {
            if let Some(Value::String(text)) = annotations.remove(key)
                && let Ok((value, _)) = decode(text.as_bytes())
            {
                found.push(key, value);
            }
        }
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_on_the_way_through_v1() {
        let text = r#"{"metadata":{"name":"a"},"spec":{"maxReplicas":3,"metrics":[
            {"type":"Pods","pods":{"metric":{"name":"q"},"target":{"type":"AverageValue","averageValue":"30"}}},
            {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":60}}}],
            "behavior":{"scaleUp":{"selectPolicy":"Max","policies":[{"type":"Pods","value":4,"periodSeconds":15}]}}},
            "status":{"currentReplicas":1,"currentMetrics":[
            {"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":4,"averageValue":"1m"}}}]}}"#;
        let (v2, _) = decode(text.as_bytes()).expect("JSON");
        let mut object = v2.clone();
        v2_to_v1(&mut object);
        assert_eq!(object.at(&["spec", "targetCPUUtilizationPercentage"]), Some(&60.into()));
        v1_to_v2(&mut object);
        assert_eq!(object, v2);
    }
}
