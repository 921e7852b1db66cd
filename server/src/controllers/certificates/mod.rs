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

use crate::generated::typed::certificates_v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition as Condition, CertificateSigningRequestSpec,
};

/// Where a CertificateSigningRequest stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Pending,
    Approved,
    Denied,
    Issued,
    Failed,
}

fn stage(request: &CertificateSigningRequest) -> Stage {
    let has = |kind: &str| condition(request, kind).is_some();
    match () {
        () if !certificate(request).is_empty() => Stage::Issued,
        () if has("Denied") => Stage::Denied,
        () if has("Failed") => Stage::Failed,
        () if has("Approved") => Stage::Approved,
        () => Stage::Pending,
    }
}

fn condition<'a>(request: &'a CertificateSigningRequest, kind: &str) -> Option<&'a Condition> {
    request.status.as_ref()?.conditions.iter().find(|one| one.r#type == kind)
}

fn usages(spec: &CertificateSigningRequestSpec) -> Vec<&str> {
    spec.usages.iter().map(String::as_str).collect()
}

/// What was issued; empty where nothing was.
fn certificate(request: &CertificateSigningRequest) -> &[u8] {
    request.status.as_ref().map_or(&[], |status| &status.certificate.0)
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
