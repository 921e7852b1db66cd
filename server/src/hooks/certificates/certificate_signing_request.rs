//! CertificateSigningRequests.

use apiwright_json::{Object, Value};
use apiwright_meta::ErrorList;
use apiwright_meta::time::{self, Duration};
use apiwright_registry::hooks::WriteContext;
use apiwright_registry::{Hooks, Writer};

use super::validate;
use crate::hooks::shared::cells::{self, NONE};

/// The hooks of CertificateSigningRequests.
#[derive(Debug)]
pub struct CertificateSigningRequest;

impl Hooks for CertificateSigningRequest {
    /// A request says whose it is, and nothing came of it yet.
    fn prepare_create(&self, context: WriteContext<'_>, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        sign(object.object("spec"), context.user);
        object.insert("status", Object::new());
    }

    /// What was asked for stays; conditions are the signer's and the approver's to set.
    fn prepare_update(&self, context: WriteContext<'_>, object: &mut Value, old: &Value) {
        let Some(object) = object.as_object_mut() else { return };
        object.insert("spec", old.get("spec").cloned().unwrap_or_default());
        match context.subresource {
            "" => {
                object.insert("status", old.get("status").cloned().unwrap_or_default());
            }
            "approval" => {
                let certificate = old.at(&["status", "certificate"]).cloned();
                let status = object.object("status");
                status.remove("certificate");
                if let Some(certificate) = certificate {
                    status.push("certificate", certificate);
                }
                stamp(status, old);
            }
            _ => {
                let status = object.object("status");
                keep(status, old, "Approved");
                keep(status, old, "Denied");
                stamp(status, old);
            }
        }
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::request(object, None, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        validate::update(object, old, context.subresource, errors);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "RequestedDuration" => match object.at(&["spec", "expirationSeconds"]).and_then(Value::as_i64) {
                Some(seconds) => {
                    time::human_duration(Duration::from_nanos(seconds.saturating_mul(1_000_000_000))).into()
                }
                None => NONE.into(),
            },
            "Condition" => condition(object).into(),
            _ => Value::Null,
        }
    }
}

/// Writes down whose request it is.
fn sign(spec: &mut Object, user: &Writer) {
    for member in ["username", "uid", "groups", "extra"] {
        spec.remove(member);
    }
    for (member, value) in [("username", &user.name), ("uid", &user.uid)] {
        if !value.is_empty() {
            spec.push(member, value.as_str());
        }
    }
    if !user.groups.is_empty() {
        spec.push("groups", user.groups.iter().map(|group| group.as_str().into()).collect::<Vec<Value>>());
    }
    if !user.extra.is_empty() {
        let texts = |texts: &[String]| texts.iter().map(|text| text.as_str().into()).collect::<Vec<Value>>();
        spec.push(
            "extra",
            user.extra.iter().map(|(key, values)| (key.as_str(), texts(values))).collect::<Object>(),
        );
    }
}

/// A decision is not the status's to change: conditions of its type stay as they were, unless there are more or
/// fewer of them, which is a fault.
fn keep(status: &mut Object, old: &Value, decision: &str) {
    let is_one = |condition: &&Value| condition.text_at(&["type"]) == decision;
    let before: Vec<&Value> = cells::items(old, &["status", "conditions"]).iter().filter(is_one).collect();
    let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) else { return };
    if conditions.iter().filter(is_one).count() == before.len() {
        let now = conditions.iter_mut().filter(|one| one.text_at(&["type"]) == decision);
        now.zip(before).for_each(|(now, before)| now.clone_from(before));
    }
}

/// Gives new conditions their times.
fn stamp(status: &mut Object, old: &Value) {
    let before = cells::items(old, &["status", "conditions"]);
    let now = time::now();
    for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        let last = before.iter().rev().find(|one| one.text_at(&["type"]) == condition.text_at(&["type"]));
        let is_same = last.is_some_and(|last| last.get("status") == condition.get("status"));
        let moved = last.filter(|_| is_same).map(|last| last.text_at(&["lastTransitionTime"]).to_owned());
        let Some(condition) = condition.as_object_mut() else { continue };
        let empty = |condition: &Object, member: &str| condition.str(member).unwrap_or_default().is_empty();
        if empty(condition, "lastUpdateTime") {
            condition.insert("lastUpdateTime", now.clone());
        }
        if empty(condition, "lastTransitionTime") {
            condition
                .insert("lastTransitionTime", moved.filter(|moved| !moved.is_empty()).unwrap_or(now.clone()));
        }
    }
}

/// `Approved,Issued`
fn condition(object: &Value) -> String {
    let has = |kind: &str| {
        cells::items(object, &["status", "conditions"])
            .iter()
            .any(|condition| condition.text_at(&["type"]) == kind)
    };
    let mut text = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    }
    .to_owned();
    if has("Failed") {
        text.push_str(",Failed");
    }
    if !object.text_at(&["status", "certificate"]).is_empty() {
        text.push_str(",Issued");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_stay() {
        let parsed = |text: &str| apiwright_json::decode(text.as_bytes()).unwrap().0;
        let old = parsed(r#"{"status":{"conditions":[{"type":"Approved","reason":"a"}]}}"#);
        let table = [
            (
                r#"{"conditions":[{"type":"Failed"},{"type":"Approved","reason":"b"}]}"#,
                r#"{"conditions":[{"type":"Failed"},{"type":"Approved","reason":"a"}]}"#,
            ),
            (r#"{"conditions":[{"type":"Failed"}]}"#, r#"{"conditions":[{"type":"Failed"}]}"#),
            ("{}", "{}"),
        ];
        for (status, expected) in table {
            let mut status = parsed(status);
            keep(status.as_object_mut().unwrap(), &old, "Approved");
            assert_eq!(status, parsed(expected));
        }
    }
}
