//! Paths with escapes that cannot be undone: HTTP, but not for Go's server.

use apiwright_chain::{Response, info, respond};
use http::header::CONNECTION;
use http::{HeaderValue, Uri};

/// The refusal of a path that cannot be decoded.
pub(crate) fn refuse(uri: &Uri) -> Option<Response> {
    if info::decode(uri.path()).is_some() {
        return None;
    }
    let mut response = respond::bytes(400, "text/plain; charset=utf-8", "400 Bad Request");
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    Some(response)
}
