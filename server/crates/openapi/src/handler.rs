//! The answers of `/openapi/v3` and the documents below it.
//!
//! Documents go by a hash: with the right `?hash=` they may be kept for ever, with a wrong one the
//! client is sent to the right one, without any they must be asked for again (KEP-2896).

use std::sync::Arc;

use apiwright_chain::negotiate::{accept, parse_accept};
use apiwright_chain::respond::{self, with_header};
use apiwright_chain::{Media, Pages, Query, Request, Response};
use apiwright_json::{Object, Value, to_bytes};
use futures::future::BoxFuture;
use http::StatusCode;
use http::header::{ACCEPT_RANGES, CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};

use crate::source::{OpenApi, address};

/// Answers OpenAPI requests.
pub struct OpenApiHandler {
    openapi: Arc<OpenApi>,
}

impl OpenApiHandler {
    /// Serves these documents.
    pub fn new(openapi: Arc<OpenApi>) -> Self {
        Self { openapi }
    }

    fn respond(&self, request: &Request) -> Option<Response> {
        let path = request.info.path.strip_prefix("/openapi/v3")?;
        match path.strip_prefix('/') {
            None if path.is_empty() => Some(self.index()),
            None => None,
            Some("") => Some(self.index()),
            Some(path) => Some(self.document(request, path)),
        }
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
        if !speaks_json(request) {
            return empty(StatusCode::NOT_ACCEPTABLE);
        }
        let built = self.openapi.built(&document);
        let etag = format!("\"{}\"", built.hash);
        let wished = Query::parse(request.query()).get("hash").map(ToOwned::to_owned).unwrap_or_default();
        let mut response = if !wished.is_empty() && wished != built.hash {
            with_header(empty(StatusCode::MOVED_PERMANENTLY), LOCATION, &address(path, &built.hash))
        } else if request
            .header(IF_NONE_MATCH)
            .is_some_and(|tag| tag == "*" || tag.split(',').any(|one| one.trim() == etag))
        {
            empty(StatusCode::NOT_MODIFIED)
        } else {
            let mut response = respond::bytes(200, "application/json", built.json.clone());
            response.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
            response
        };
        let headers = response.headers_mut();
        headers.insert(VARY, HeaderValue::from_static("Accept"));
        if wished == built.hash {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
        }
        with_header(response, ETAG, &etag)
    }
}

impl Pages for OpenApiHandler {
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<Response>> {
        Box::pin(async { self.respond(request) })
    }

    fn paths(&self) -> Vec<String> {
        vec!["/openapi/v3".into(), "/openapi/v3/".into()]
    }
}

fn speaks_json(request: &Request) -> bool {
    let header = accept(&request.head);
    header.is_empty() || parse_accept(header).iter().any(|clause| clause.matches(Media::Json))
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}
