//! Pieces of computed columns.

use apiwright_json::{Object, Value};
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::time::{self, Time};

/// What is printed where there is nothing.
pub const NONE: &str = "<none>";
/// What is printed where nothing is known.
pub const UNKNOWN: &str = "<unknown>";

/// The items at a path; none where there is no list.
pub fn items<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    object.at(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// How many members or items there are at a path.
pub fn count(object: &Value, path: &[&str]) -> i64 {
    match object.at(path) {
        Some(Value::Array(items)) => items.len() as i64,
        Some(Value::Object(members)) => members.len() as i64,
        _ => 0,
    }
}

/// The texts, separated; `<none>` where there is none.
pub fn join<'a>(texts: impl IntoIterator<Item = &'a str>, separator: &str) -> String {
    let joined = texts.into_iter().collect::<Vec<_>>().join(separator);
    or_none(joined)
}

/// The text, or `<none>` where it is empty.
pub fn or_none(text: impl Into<String>) -> String {
    let text = text.into();
    if text.is_empty() { NONE.into() } else { text }
}

/// The texts of a member of each item, separated by commas; empty where there is no item.
pub fn names(object: &Value, path: &[&str], member: &str) -> String {
    items(object, path).iter().map(|item| item.text_at(&[member])).collect::<Vec<_>>().join(",")
}

/// The time since the moment at a path, in kubectl's short form; `otherwise` where there is none.
pub fn since(object: &Value, path: &[&str], otherwise: &str) -> String {
    match object.text_at(path) {
        "" => otherwise.into(),
        moment => ago(moment).unwrap_or_else(|| UNKNOWN.into()),
    }
}

/// The time since a moment, in kubectl's short form; `None` where the text is no moment.
pub fn ago(moment: &str) -> Option<String> {
    let moment = Time::parse(moment).ok()?;
    Some(time::human_duration(Time::now().since(moment)))
}

/// The time between two moments, in kubectl's short form.
pub fn between(start: &str, end: &str) -> Option<String> {
    let (start, end) = (Time::parse(start).ok()?, Time::parse(end).ok()?);
    Some(time::human_duration(end.since(start)))
}

/// A LabelSelector object as selectors are written: `app=web,tier in (a,b)`.
pub fn selector(object: &Value, path: &[&str]) -> String {
    let Some(selector) = object.at(path).filter(|selector| !selector.is_null()) else { return NONE.into() };
    LabelSelector::from_object(selector)
        .map_or_else(|_| "<error>".into(), |selector| or_none(selector.to_string()))
}

/// A map of labels as selectors are written, sorted: `a=1,b=2`.
pub fn labels(object: &Value, path: &[&str]) -> String {
    let Some(labels) = object.at(path).and_then(Value::as_object) else { return NONE.into() };
    or_none(pairs(labels))
}

fn pairs(labels: &Object) -> String {
    let mut pairs: Vec<String> =
        labels.iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    pairs.sort();
    pairs.join(",")
}
