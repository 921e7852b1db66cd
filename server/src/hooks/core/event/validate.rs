//! What makes an Event valid: little for those of the core group, more for those that name the
//! moment they happened at, most for those that come by events.k8s.io.

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path, names, object};
use apiwright_schema::go::internal;

use super::either;
use crate::generated::catalogue;

const TEXT_MAX: usize = 128;
const NOTE_MAX: usize = 1024;
const MISMATCH: &str = "does not match event.namespace";

/// The fields that events.k8s.io does not let change: in core, in events.k8s.io.
const FINAL: [(&str, &str); 12] = [
    ("involvedObject", "regarding"),
    ("reason", "reason"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingInstance", "reportingInstance"),
];

/// The faults of a new Event.
pub(super) fn create(event: &Value, errors: &mut ErrorList) {
    any(event, errors);
    if is_core(event) {
        return;
    }
    series(event, errors);
    if event.text_at(&["eventTime"]).is_empty() {
        errors.required(Path::new("eventTime"), "");
    }
    let kind = event.text_at(&["type"]);
    if !matches!(kind, "Normal" | "Warning") {
        errors.invalid(Path::new("type"), quoted(""), &format!("has invalid value: {kind}"));
    }
    let source = |member: &str| !event.text_at(&["deprecatedSource", member]).is_empty();
    let count = event.get("deprecatedCount").and_then(Value::as_i64).unwrap_or_default();
    for (member, is_set) in [
        ("firstTimestamp", !event.text_at(&["deprecatedFirstTimestamp"]).is_empty()),
        ("lastTimestamp", !event.text_at(&["deprecatedLastTimestamp"]).is_empty()),
        ("count", count != 0),
        ("source", source("component") || source("host")),
    ] {
        if is_set {
            errors.invalid(Path::new(member), quoted(""), "needs to be unset");
        }
    }
}

/// The faults of an update.
pub(super) fn update(event: &Value, old: &Value, errors: &mut ErrorList) {
    any(event, errors);
    if is_core(event) {
        return;
    }
    if event.get("series") != old.get("series") {
        series(event, errors);
    }
    for (core, name) in FINAL {
        if event.get(name) != old.get(name) {
            errors.invalid(Path::new(core), shown(core, event.get(name)), "field is immutable");
        }
    }
    let controller = |event: &Value| event.text_at(&["reportingController"]).to_owned();
    if controller(event) != controller(old) {
        errors.invalid(Path::new("reportingController"), quoted(&controller(event)), "field is immutable");
    }
}

fn is_core(event: &Value) -> bool {
    object::api_version(event) == "v1"
}

/// What holds for all of them.
fn any(event: &Value, errors: &mut ErrorList) {
    let namespace = object::namespace(event);
    let about = event.get("involvedObject").or_else(|| event.get("regarding"));
    let about = about.map(|about| about.text_at(&["namespace"])).unwrap_or_default();
    let mismatch = if event.text_at(&["eventTime"]).is_empty() {
        if about.is_empty() { !matches!(namespace, "" | "default") } else { about != namespace }
    } else {
        about.is_empty() && !matches!(namespace, "default" | "kube-system")
    };
    if mismatch {
        errors.invalid(Path::new("involvedObject").child("namespace"), quoted(about), MISMATCH);
    }
    if !event.text_at(&["eventTime"]).is_empty() {
        texts(event, errors);
    }
    errors.invalid_each(&Path::new("namespace"), namespace, names::dns1123_subdomain(namespace));
}

fn texts(event: &Value, errors: &mut ErrorList) {
    let controller = either(event, "reportingComponent", "reportingController");
    let path = Path::new(if is_core(event) { "reportingComponent" } else { "reportingController" });
    if controller.is_empty() {
        errors.required(path.clone(), "");
    }
    errors.invalid_each(&path, controller, names::qualified_name(controller));
    for member in ["reportingInstance", "action", "reason"] {
        let text = event.text_at(&[member]);
        if text.is_empty() {
            errors.required(Path::new(member), "");
        }
        too_long(text, TEXT_MAX, member, errors);
    }
    too_long(either(event, "message", "note"), NOTE_MAX, "message", errors);
}

fn too_long(text: &str, max: usize, member: &str, errors: &mut ErrorList) {
    if text.len() > max {
        errors.invalid(Path::new(member), quoted(""), &format!("can have at most {max} characters"));
    }
}

fn series(event: &Value, errors: &mut ErrorList) {
    let Some(series) = event.get("series") else { return };
    if series.get("count").and_then(Value::as_i64).unwrap_or_default() < 2 {
        errors.invalid(Path::new("series.count"), quoted(""), "should be at least 2");
    }
    if series.text_at(&["lastObservedTime"]).is_empty() {
        errors.required(Path::new("series.lastObservedTime"), "");
    }
}

/// A value as upstream's internal type shows it.
fn shown(member: &str, value: Option<&Value>) -> String {
    let value = value.unwrap_or(&Value::Null);
    let ty = catalogue().definition("io.k8s.api.core.v1.Event");
    ty.and_then(|ty| ty.field(member)).map_or_else(|| go_value(value), |field| internal(&field.node, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_events() {
        let core = r#""apiVersion":"v1","metadata":{"namespace":"a"}"#;
        let new = r#""apiVersion":"events.k8s.io/v1","metadata":{"namespace":"a"},"regarding":{"namespace":"a"},"reportingController":"c","reportingInstance":"i","action":"a","reason":"r","type":"Normal""#;
        let table = [
            (format!(r#"{core},"involvedObject":{{"namespace":"a"}}"#), "[]"),
            (core.into(), "involvedObject.namespace: Invalid value: \"\": does not match event.namespace"),
            (
                format!(r#"{core},"involvedObject":{{"namespace":"b"}}"#),
                "involvedObject.namespace: Invalid value: \"b\": does not match event.namespace",
            ),
            (format!(r#"{new},"eventTime":"2020-01-01T00:00:00.000000Z""#), "[]"),
            (new.into(), "eventTime: Required value"),
            (
                format!(
                    r#"{new},"eventTime":"2020-01-01T00:00:00.000000Z","deprecatedCount":1,"series":{{"count":1,"lastObservedTime":"2020-01-01T00:00:00.000000Z"}}"#
                ),
                "[series.count: Invalid value: \"\": should be at least 2, count: Invalid value: \"\": needs to be unset]",
            ),
        ];
        for (event, expected) in table {
            let mut errors = ErrorList::new();
            create(&apiwright_json::decode(format!("{{{event}}}").as_bytes()).unwrap().0, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{event}");
        }
    }
}
