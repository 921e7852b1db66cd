//! autoscaling/v1 and v2 of one autoscaler: v1 knows one cpu target, and carries the rest of v2
//! in annotations so that nothing is lost on the way through it.

use apiwright_json::{Object, Value, decode, to_string};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

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

/// From v1's fields to v2's.
pub(super) fn v1_to_v2(object: &mut Value) {
    let annotations = take_annotations(object);
    let Some(object) = object.as_object_mut() else { return };
    let spec = object.object("spec");
    let percent = spec.remove("targetCPUUtilizationPercentage").and_then(|value| value.as_i64());
    let mut metrics: Vec<Value> = percent.map(cpu_metric).into_iter().collect();
    if let Some(Value::Array(others)) = annotations.get(METRICS).cloned() {
        metrics.extend(others);
    }
    if !metrics.is_empty() {
        spec.insert("metrics", metrics);
    }
    if let Some(behavior) = annotations.get(BEHAVIOR) {
        spec.insert("behavior", behavior.clone());
    }
    let status = object.object("status");
    let current = status.remove("currentCPUUtilizationPercentage").and_then(|value| value.as_i64());
    let mut metrics: Vec<Value> = current.map(cpu_status).into_iter().collect();
    if let Some(Value::Array(others)) = annotations.get(CURRENT_METRICS).cloned() {
        metrics.extend(others);
    }
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
    let mut kept: Vec<(&str, Value)> = Vec::new();
    let spec = members.object("spec");
    if let Some(Value::Array(mut metrics)) = spec.remove("metrics") {
        let cpu = metrics.iter().position(is_cpu_utilization);
        if let Some(metric) = cpu.map(|at| metrics.remove(at))
            && let Some(percent) = metric.at(&["resource", "target", "averageUtilization"])
        {
            spec.insert("targetCPUUtilizationPercentage", percent.clone());
        }
        if !metrics.is_empty() {
            kept.push((METRICS, metrics.into()));
        }
    }
    if let Some(behavior) = spec.remove("behavior") {
        kept.push((BEHAVIOR, behavior));
    }
    let status = members.object("status");
    if let Some(Value::Array(mut metrics)) = status.remove("currentMetrics") {
        let cpu = metrics.iter().position(|metric| {
            metric.text_at(&["resource", "name"]) == "cpu"
                && metric.at(&["resource", "current", "averageUtilization"]).is_some()
        });
        if let Some(metric) = cpu.map(|at| metrics.remove(at))
            && let Some(percent) = metric.at(&["resource", "current", "averageUtilization"])
        {
            status.insert("currentCPUUtilizationPercentage", percent.clone());
        }
        if !metrics.is_empty() {
            kept.push((CURRENT_METRICS, metrics.into()));
        }
    }
    if let Some(conditions) = status.remove("conditions") {
        kept.push((CONDITIONS, conditions));
    }
    if !kept.is_empty() {
        let annotations = members.object("metadata").object("annotations");
        for (key, value) in kept {
            annotations.insert(key, to_string(&value));
        }
        annotations.sort();
    }
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
            {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":60}}},
            {"type":"Pods","pods":{"metric":{"name":"q"},"target":{"type":"AverageValue","averageValue":"30"}}}]},
            "status":{"currentReplicas":1}}"#;
        let (v2, _) = decode(text.as_bytes()).expect("JSON");
        let mut object = v2.clone();
        v2_to_v1(&mut object);
        assert_eq!(object.at(&["spec", "targetCPUUtilizationPercentage"]), Some(&60.into()));
        v1_to_v2(&mut object);
        assert_eq!(object, v2);
    }
}
