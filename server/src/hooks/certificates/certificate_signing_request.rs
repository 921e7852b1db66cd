//! CertificateSigningRequests.

use apiwright_json::Value;
use apiwright_meta::time::{self, Duration};
use apiwright_registry::Hooks;

use crate::hooks::shared::cells::{self, NONE};

/// The hooks of CertificateSigningRequests.
#[derive(Debug)]
pub struct CertificateSigningRequest;

impl Hooks for CertificateSigningRequest {
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
