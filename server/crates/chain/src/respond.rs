//! Answers that any link gives: Status objects in the negotiated form, plain texts, warnings.
//!
//! Upstream: `k8s.io/apiserver/pkg/endpoints/handlers/responsewriters`, Go's `http.Error`.

mod proto;
mod warning;

use apiwright_json::Value;
use apiwright_meta::Status;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{Response as HttpResponse, StatusCode};

use crate::body::{Body, Response};
use crate::negotiate::{Form, Media};

pub use warning::{Warnings, warning_header};

/// The answer to a request that failed, in the form that the client asked for.
pub fn failure(head: &Parts, status: &Status) -> Response {
    // A client that accepts nothing we speak still learns what went wrong.
    status_in(Form::plain(head).unwrap_or(Form { media: Media::Json, pretty: true }), status.code, status)
}

/// As [`failure`], for refusals by filters, which also forbid content sniffing.
pub fn refusal(head: &Parts, status: &Status) -> Response {
    let mut response = failure(head, status);
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The Status that an answer is, for filters that look at it: an extension of the response.
#[derive(Clone, Debug)]
pub struct Answered(pub std::sync::Arc<Status>);

/// A Status, of success or failure, with this HTTP code.
pub fn status_in(form: Form, http_code: u16, status: &Status) -> Response {
    let body = match form.media {
        Media::Json | Media::Yaml => encode_value(form, &status.to_value()),
        Media::Protobuf => proto::status(status),
    };
    let mut response = bytes(http_code, form.media.mime(), body);
    response.extensions_mut().insert(Answered(std::sync::Arc::new(status.clone())));
    let delay = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if delay > 0 {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(delay));
    }
    response
}

/// An answer of this media type.
pub fn bytes(http_code: u16, mime: &'static str, body: impl Into<Body>) -> Response {
    let mut response = HttpResponse::new(body.into());
    *response.status_mut() = StatusCode::from_u16(http_code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(mime));
    response
}

/// An error as a plain text, a line of its own: what Go's `http.Error` answers.
pub fn text_error(http_code: u16, message: &str) -> Response {
    let mut response = bytes(http_code, "text/plain; charset=utf-8", format!("{message}\n"));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The answer where nobody knows the path.
pub fn page_not_found() -> Response {
    text_error(404, "404 page not found")
}

/// Adds a header to an answer; what cannot be a header's value is left out.
pub fn with_header(mut response: Response, name: HeaderName, value: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().append(name, value);
    }
    response
}

/// A value in JSON (a line of its own unless it is indented) or YAML.
pub fn encode_value(form: Form, value: &Value) -> Vec<u8> {
    match (form.media, form.pretty) {
        (Media::Yaml, _) => apiwright_json::yaml::to_string(value).into_bytes(),
        (_, true) => apiwright_json::to_string_pretty(value).into_bytes(),
        (_, false) => {
            let mut out = Vec::with_capacity(256);
            apiwright_json::to_bytes(value, &mut out);
            out.push(b'\n');
            out
        }
    }
}

/// A Status as protobuf, in its envelope: what `ERROR` events of such watches carry.
pub fn status_protobuf(status: &Status) -> Vec<u8> {
    proto::status(status)
}

fn outcome(status: &Status) -> &'static str {
    if status.code < 400 { "Success" } else { "Failure" }
}
