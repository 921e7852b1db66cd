//! `Cache-Control: no-cache, private`, unless a handler knows better.

use apiwright_chain::Response;
use http::HeaderValue;
use http::header::CACHE_CONTROL;

/// Marks an answer.
pub(crate) fn put_on(response: &mut Response) {
    response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
}
