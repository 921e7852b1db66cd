//! The answers of `/openapi/v2`, of `/openapi/v3` and of the documents below it.
//!
//! Documents go by a hash: with the right `?hash=` they may be kept for ever, with a wrong one the
//! client is sent to the right one, without any they must be asked for again (KEP-2896).

use std::io::Write;
use std::sync::Arc;

use apiwright_chain::negotiate::{accept, parse_accept};
use apiwright_chain::respond::{self, with_header};
use apiwright_chain::{Pages, Query, Request, Response};
use apiwright_json::{Object, Value, to_bytes};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::future::BoxFuture;
use http::StatusCode;
use http::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, ETAG, HeaderValue, IF_NONE_MATCH,
    LOCATION, VARY,
};

use crate::source::{OpenApi, address};

/// Answers shorter than this are sent as they are.
const LONG_BYTES: usize = 1400;

/// Answers OpenAPI requests.
pub struct OpenApiHandler {
    openapi: Arc<OpenApi>,
}

/// The forms of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Protobuf,
}

impl OpenApiHandler {
    /// Serves these documents.
    pub fn new(openapi: Arc<OpenApi>) -> Self {
        Self { openapi }
    }

    fn respond(&self, request: &Request) -> Option<Response> {
        if request.info.path == "/openapi/v2" {
            return Some(self.swagger(request));
        }
        match request.info.path.strip_prefix("/openapi/v3")? {
            "" => Some(self.index()),
            "/" => Some(empty(StatusCode::NOT_FOUND)),
            path => Some(self.document(request, path.strip_prefix('/')?)),
        }
    }

    /// All in one, of version 2.
    fn swagger(&self, request: &Request) -> Response {
        let Some(form) = form(request, "v2") else {
            return varied(empty(StatusCode::NOT_ACCEPTABLE), "Accept");
        };
        let swagger = self.openapi.swagger();
        let etag = format!("\"{}\"", swagger.hash);
        let response = if is_known(request, &etag) {
            empty(StatusCode::NOT_MODIFIED)
        } else {
            let body = match form {
                Form::Json => swagger.json.clone(),
                Form::Protobuf => swagger.protobuf().clone(),
            };
            match packed(request, &body) {
                Some(packed) => with_header(said(form, "v2", packed), CONTENT_ENCODING, "gzip"),
                None => said(form, "v2", body),
            }
        };
        with_header(varied(varied(response, "Accept-Encoding"), "Accept"), ETAG, &etag)
    }

    /// Where each document is, its hash included.
    fn index(&self) -> Response {
        let mut paths = Object::new();
        for (path, address) in self.openapi.addresses() {
            paths.push(path, Object::from_iter([("serverRelativeURL", address)]));
        }
        let index = Value::Object(Object::from_iter([("paths", paths)]));
        let mut json = Vec::new();
        to_bytes(&index, &mut json);
        // Upstream writes the index without saying what it is; Go takes JSON for text.
        respond::bytes(200, "text/plain; charset=utf-8", json)
    }

    fn document(&self, request: &Request, path: &str) -> Response {
        let Some(document) = self.openapi.document(path) else { return empty(StatusCode::NOT_FOUND) };
        let Some(form) = form(request, "v3") else {
            return varied(empty(StatusCode::NOT_ACCEPTABLE), "Accept");
        };
        let built = self.openapi.built(&document);
        let etag = format!("\"{}\"", built.hash);
        let wished = Query::parse(request.query()).get("hash").map(ToOwned::to_owned).unwrap_or_default();
        let response = if !wished.is_empty() && wished != built.hash {
            with_header(empty(StatusCode::MOVED_PERMANENTLY), LOCATION, &address(path, &built.hash))
        } else if is_known(request, &etag) {
            empty(StatusCode::NOT_MODIFIED)
        } else {
            let body = match form {
                Form::Json => built.json.clone(),
                Form::Protobuf => built.protobuf().clone(),
            };
            said(form, "v3", body)
        };
        let mut response = varied(response, "Accept");
        if wished == built.hash {
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
        }
        with_header(response, ETAG, &etag)
    }
}

impl Pages for OpenApiHandler {
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<Response>> {
        Box::pin(async { self.respond(request) })
    }

    fn paths(&self) -> Vec<String> {
        vec!["/openapi/v2".into(), "/openapi/v3".into(), "/openapi/v3/".into()]
    }
}

/// The form that a client likes best of those that there are.
fn form(request: &Request, version: &str) -> Option<Form> {
    let header = accept(&request.head);
    if header.is_empty() {
        return Some(Form::Json);
    }
    let protobuf = |subtype: &str| {
        let spec = subtype
            .strip_prefix("com.github.proto-openapi.spec.")
            .and_then(|rest| rest.strip_prefix(version));
        matches!(spec, Some("@v1.0+protobuf" | ".v1.0+protobuf"))
    };
    parse_accept(header).iter().find_map(|clause| match (clause.kind, clause.subkind) {
        ("*" | "application", "*" | "json") => Some(Form::Json),
        ("*" | "application", subtype) if protobuf(subtype) => Some(Form::Protobuf),
        _ => None,
    })
}

fn said(form: Form, version: &str, body: Bytes) -> Response {
    let kind = match (form, version) {
        (Form::Json, _) => "application/json",
        (Form::Protobuf, "v2") => "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        (Form::Protobuf, _) => "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    };
    let mut response = respond::bytes(200, kind, body);
    response.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    response
}

/// Compressed, where the client reads that and it is worth it.
fn packed(request: &Request, body: &[u8]) -> Option<Bytes> {
    let reads = request.header(ACCEPT_ENCODING).unwrap_or_default();
    let is_read = reads.split(',').any(|one| one.split(';').next().unwrap_or_default().trim() == "gzip");
    if !is_read || body.len() < LONG_BYTES {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).and_then(|()| encoder.finish()).ok().map(Bytes::from)
}

/// Whether the client has the document already.
fn is_known(request: &Request, etag: &str) -> bool {
    request
        .header(IF_NONE_MATCH)
        .is_some_and(|tag| tag == "*" || tag.split(',').any(|one| one.trim() == etag))
}

fn varied(mut response: Response, by: &'static str) -> Response {
    response.headers_mut().append(VARY, HeaderValue::from_static(by));
    response
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}
