//! `Audit-ID`: the client's, or a fresh one.

use apiwright_chain::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// The id of a request.
pub(crate) fn of(headers: &HeaderMap) -> String {
    let given = headers.get(AUDIT_ID).and_then(|value| value.to_str().ok()).filter(|value| !value.is_empty());
    given.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned)
}

/// Tells it, unless the answer of another server does already.
pub(crate) fn put_on(response: &mut Response, audit_id: &str) {
    if let Ok(value) = HeaderValue::from_str(audit_id) {
        response.headers_mut().entry(AUDIT_ID).or_insert(value);
    }
}
