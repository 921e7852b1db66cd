//! Events, of the core group and of events.k8s.io: the same objects by other field names.

mod validate;

use apiwright_json::Value;
use apiwright_meta::ErrorList;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::cells::{self, UNKNOWN};

/// The hooks of Events.
#[derive(Debug)]
pub struct Event;

impl Hooks for Event {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::create(object, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        validate::update(object, old, errors);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Last Seen" => last_seen(object).into(),
            "First Seen" => first_seen(object).into(),
            "Object" => subject(object).into(),
            "Source" => source(object).into(),
            "Message" => either(object, "message", "note").trim().into(),
            "Count" => count(object).into(),
            _ => Value::Null,
        }
    }
}

/// The text of a field that goes by either name.
fn either<'a>(object: &'a Value, core: &str, events: &str) -> &'a str {
    match object.text_at(&[core]) {
        "" => object.text_at(&[events]),
        text => text,
    }
}

fn age(moment: &str) -> String {
    if moment.is_empty() { UNKNOWN.into() } else { cells::ago(moment).unwrap_or_else(|| UNKNOWN.into()) }
}

fn first_seen(object: &Value) -> String {
    match either(object, "firstTimestamp", "deprecatedFirstTimestamp") {
        "" => age(object.text_at(&["eventTime"])),
        moment => age(moment),
    }
}

fn last_seen(object: &Value) -> String {
    match object.text_at(&["series", "lastObservedTime"]) {
        "" => match either(object, "lastTimestamp", "deprecatedLastTimestamp") {
            "" => first_seen(object),
            moment => age(moment),
        },
        moment => age(moment),
    }
}

/// `pod/web-0`
fn subject(object: &Value) -> String {
    let about = object.get("involvedObject").or_else(|| object.get("regarding"));
    let text = |member: &str| about.map(|about| about.text_at(&[member])).unwrap_or_default();
    format!("{}/{}", text("kind").to_lowercase(), text("name"))
}

/// `kubelet, node-1`
fn source(object: &Value) -> String {
    let source = object.get("source").or_else(|| object.get("deprecatedSource"));
    let text = |member: &str| source.map(|source| source.text_at(&[member])).unwrap_or_default();
    let component = match text("component") {
        "" => either(object, "reportingComponent", "reportingController"),
        component => component,
    };
    let host = match text("host") {
        "" => object.text_at(&["reportingInstance"]),
        host => host,
    };
    if host.is_empty() { component.into() } else { format!("{component}, {host}") }
}

fn count(object: &Value) -> i64 {
    let number = |path: &[&str]| object.at(path).and_then(Value::as_i64);
    number(&["series", "count"])
        .or_else(|| number(&["count"]))
        .or_else(|| number(&["deprecatedCount"]))
        .filter(|count| *count > 0)
        .unwrap_or(1)
}
