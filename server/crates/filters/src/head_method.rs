//! HEAD: the answer to GET, without its body.

use apiwright_chain::{Body, Response};
use http::HeaderValue;
use http::header::CONTENT_LENGTH;
use http_body::Body as _;

/// Leaves a body out; its length stays where it is known.
pub(crate) fn without_body(response: &mut Response) {
    if let Some(length) = response.body().size_hint().exact() {
        response.headers_mut().entry(CONTENT_LENGTH).or_insert(HeaderValue::from(length));
    }
    *response.body_mut() = Body::Empty;
}
