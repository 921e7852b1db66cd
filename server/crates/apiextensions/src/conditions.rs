//! The conditions of a definition.

use apiwright_json::{Object, Value};
use apiwright_meta::time;

use crate::definition::Decision;

/// Whether a condition is true.
pub(crate) fn is_true(definition: &Value, kind: &str) -> bool {
    find(definition, kind).is_some_and(|condition| condition.text_at(&["status"]) == "True")
}

/// What a condition says.
pub(crate) fn decision(definition: &Value, kind: &str) -> Option<Decision> {
    find(definition, kind).map(|condition| Decision {
        status: match condition.text_at(&["status"]) {
            "True" => "True",
            "False" => "False",
            _ => "Unknown",
        },
        reason: condition.text_at(&["reason"]).to_owned(),
        message: condition.text_at(&["message"]).to_owned(),
    })
}

/// Sets a condition; its time changes with its status.
pub(crate) fn set(definition: &mut Value, kind: &str, decision: &Decision) {
    let Some(object) = definition.as_object_mut() else { return };
    let conditions = object.object("status").entry("conditions", || Value::Null);
    if conditions.is_null() {
        *conditions = Vec::<Value>::new().into();
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let there = conditions.iter_mut().find(|one| one.text_at(&["type"]) == kind);
    let since = there
        .as_ref()
        .filter(|one| one.text_at(&["status"]) == decision.status)
        .map(|one| one.text_at(&["lastTransitionTime"]).to_owned())
        .filter(|since| !since.is_empty());
    let condition: Object = [
        ("type", kind),
        ("status", decision.status),
        ("lastTransitionTime", &since.unwrap_or_else(time::now)),
        ("reason", &decision.reason),
        ("message", &decision.message),
    ]
    .into_iter()
    .collect();
    match there {
        Some(there) => *there = condition.into(),
        None => conditions.push(condition.into()),
    }
}

fn find<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = definition.at(&["status", "conditions"]).and_then(Value::as_array)?;
    conditions.iter().find(|one| one.text_at(&["type"]) == kind)
}
