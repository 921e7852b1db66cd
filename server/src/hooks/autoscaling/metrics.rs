//! Metrics as autoscaling/v1 writes them into annotations: flat, where v2 nests.

use apiwright_json::{Object, Value};
use apiwright_meta::quantity::Quantity;

/// A member of a kind of metric: where v1 has it, where v2 has it.
struct Member {
    flat: &'static str,
    nested: &'static [&'static str],
    /// What v1 prints where there is nothing.
    zero: Option<Zero>,
}

#[derive(Clone, Copy)]
enum Zero {
    Text,
    Amount,
}

/// The kinds of metrics, by the member that holds them.
const KINDS: [&str; 5] = ["object", "pods", "resource", "containerResource", "external"];

const fn member(flat: &'static str, nested: &'static [&'static str]) -> Member {
    Member { flat, nested, zero: None }
}

const fn text(flat: &'static str, nested: &'static [&'static str]) -> Member {
    Member { flat, nested, zero: Some(Zero::Text) }
}

const fn amount(flat: &'static str, nested: &'static [&'static str]) -> Member {
    Member { flat, nested, zero: Some(Zero::Amount) }
}

const NAME: Member = text("metricName", &["metric", "name"]);
const SELECTOR: Member = member("selector", &["metric", "selector"]);
const OBJECT: &[Member] = &[
    member("target", &["describedObject"]),
    NAME,
    amount("targetValue", &["target", "value"]),
    SELECTOR,
    member("averageValue", &["target", "averageValue"]),
];
const PODS: &[Member] = &[NAME, amount("targetAverageValue", &["target", "averageValue"]), SELECTOR];
const RESOURCE: &[Member] = &[
    text("name", &["name"]),
    member("targetAverageUtilization", &["target", "averageUtilization"]),
    member("targetAverageValue", &["target", "averageValue"]),
    member("container", &["container"]),
];
const EXTERNAL: &[Member] = &[
    NAME,
    member("metricSelector", &["metric", "selector"]),
    member("targetValue", &["target", "value"]),
    member("targetAverageValue", &["target", "averageValue"]),
];
const OBJECT_STATUS: &[Member] = &[
    member("target", &["describedObject"]),
    NAME,
    amount("currentValue", &["current", "value"]),
    SELECTOR,
    member("averageValue", &["current", "averageValue"]),
];
const PODS_STATUS: &[Member] = &[NAME, amount("currentAverageValue", &["current", "averageValue"]), SELECTOR];
const RESOURCE_STATUS: &[Member] = &[
    text("name", &["name"]),
    member("currentAverageUtilization", &["current", "averageUtilization"]),
    amount("currentAverageValue", &["current", "averageValue"]),
    member("container", &["container"]),
];
const EXTERNAL_STATUS: &[Member] = &[
    NAME,
    member("metricSelector", &["metric", "selector"]),
    amount("currentValue", &["current", "value"]),
    member("currentAverageValue", &["current", "averageValue"]),
];

/// Whether metrics are wished for or observed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Spec,
    Status,
}

/// Metrics of v2 as v1 has them.
pub(super) fn flat(metrics: &[Value], side: Side) -> Value {
    metrics
        .iter()
        .map(|metric| {
            rebuilt(metric, |kind, source| {
                let mut flat = Object::new();
                for member in members(kind, side) {
                    let zero = || match member.zero? {
                        Zero::Text => Some(Value::from("")),
                        Zero::Amount => Some(Value::from("0")),
                    };
                    if let Some(value) = source.at(member.nested).cloned().or_else(zero) {
                        flat.push(member.flat, value);
                    }
                }
                flat
            })
        })
        .collect::<Vec<_>>()
        .into()
}

/// Metrics of v1 as v2 has them.
pub(super) fn nested(metrics: &[Value], side: Side) -> Vec<Value> {
    metrics
        .iter()
        .map(|metric| {
            rebuilt(metric, |kind, source| {
                let mut nested = Object::new();
                if kind == "object" && side == Side::Spec {
                    nested.push("describedObject", Object::new());
                }
                if side == Side::Spec {
                    nested.object("target").push("type", target_type(kind, source));
                }
                for member in members(kind, side) {
                    let Some(value) = source.get(member.flat).filter(|value| !is_zero(member, value)) else {
                        continue;
                    };
                    let (last, path) = member.nested.split_last().unwrap_or((&member.flat, &[]));
                    let holder = path.iter().fold(&mut nested, |holder, name| holder.object(name));
                    holder.insert(*last, value.clone());
                }
                nested
            })
        })
        .collect()
}

fn rebuilt(metric: &Value, source: impl Fn(&str, &Value) -> Object) -> Value {
    let mut rebuilt = Object::new();
    rebuilt.push("type", metric.text_at(&["type"]));
    for kind in KINDS {
        if let Some(value) = metric.get(kind) {
            rebuilt.push(kind, source(kind, value));
        }
    }
    rebuilt.into()
}

fn members(kind: &str, side: Side) -> &'static [Member] {
    match (kind, side) {
        ("object", Side::Spec) => OBJECT,
        ("object", Side::Status) => OBJECT_STATUS,
        ("pods", Side::Spec) => PODS,
        ("pods", Side::Status) => PODS_STATUS,
        ("external", Side::Spec) => EXTERNAL,
        ("external", Side::Status) => EXTERNAL_STATUS,
        (_, Side::Spec) => RESOURCE,
        (_, Side::Status) => RESOURCE_STATUS,
    }
}

/// v1 does not say what kind of target it is: what is set tells.
fn target_type(kind: &str, source: &Value) -> &'static str {
    match kind {
        "object" if source.get("averageValue").is_none() => "Value",
        "resource" | "containerResource" if source.get("targetAverageUtilization").is_some() => "Utilization",
        "external" if source.get("targetValue").is_some() => "Value",
        _ => "AverageValue",
    }
}

fn is_zero(member: &Member, value: &Value) -> bool {
    match member.zero {
        Some(Zero::Amount) => Quantity::from_value(value).is_ok_and(|amount| amount.is_zero()),
        Some(Zero::Text) => value.as_str() == Some(""),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_both_versions() {
        let table = [
            (
                Side::Spec,
                r#"[{"type":"Pods","pods":{"target":{"type":"AverageValue","averageValue":"1k"},"metric":{"name":"hits"}}}]"#,
                r#"[{"type":"Pods","pods":{"metricName":"hits","targetAverageValue":"1k"}}]"#,
            ),
            (
                Side::Spec,
                r#"[{"type":"ContainerResource","containerResource":{"target":{"type":"Utilization","averageUtilization":5},"name":"cpu","container":"c"}}]"#,
                r#"[{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":5,"container":"c"}}]"#,
            ),
            (
                Side::Status,
                r#"[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":41,"averageValue":"100m"}}}]"#,
                r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":41,"currentAverageValue":"100m"}}]"#,
            ),
        ];
        for (side, v2, v1) in table {
            let value = |text: &str| apiwright_json::decode(text.as_bytes()).unwrap().0;
            let metrics = |text: &str| value(text).as_array().cloned().unwrap();
            assert_eq!(apiwright_json::to_string(&flat(&metrics(v2), side)), v1);
            assert_eq!(Value::from(nested(&metrics(v1), side)), value(v2));
        }
    }
}
