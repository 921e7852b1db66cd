//! Requests for certificates: approved, signed, and cleaned away in the end.

mod approving;
mod authority;
mod cleaner;
mod der;
mod request;
mod signing;

pub use authority::SigningAuthority;

pub(super) use approving::Approving;
pub(super) use cleaner::Cleaner;
pub(super) use signing::Signing;

use apiwright_json::{Object, Value};
use apiwright_meta::time;

/// Where a CertificateSigningRequest stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Pending,
    Approved,
    Denied,
    Issued,
    Failed,
}

fn stage(request: &Value) -> Stage {
    let has = |kind: &str| conditions(request).any(|one| one.text_at(&["type"]) == kind);
    match () {
        () if !request.text_at(&["status", "certificate"]).is_empty() => Stage::Issued,
        () if has("Denied") => Stage::Denied,
        () if has("Failed") => Stage::Failed,
        () if has("Approved") => Stage::Approved,
        () => Stage::Pending,
    }
}

fn conditions(request: &Value) -> impl Iterator<Item = &Value> {
    request.at(&["status", "conditions"]).and_then(Value::as_array).into_iter().flatten()
}

fn usages(request: &Value) -> Vec<&str> {
    let usages = request.at(&["spec", "usages"]).and_then(Value::as_array);
    usages.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Adds a condition that is so from now on.
fn add_condition(request: &mut Value, kind: &str, reason: &str, message: &str) {
    let now = time::now();
    let condition: Object = [
        ("type", kind),
        ("status", "True"),
        ("reason", reason),
        ("message", message),
        ("lastUpdateTime", &now),
        ("lastTransitionTime", &now),
    ]
    .into_iter()
    .collect();
    let Some(request) = request.as_object_mut() else { return };
    let conditions = request.object("status").entry("conditions", || Value::Null);
    if conditions.is_null() {
        *conditions = Vec::<Value>::new().into();
    }
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.push(condition.into());
    }
}
