//! Paths that are no resource's: discovery, OpenAPI, health, the version, and the list of all paths.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::body::Response;
use crate::delegate::Delegate;
use crate::negotiate::{Form, Media};
use crate::permit::Authorized;
use crate::request::Request;
use crate::respond;
use apiwright_json::{Object, Value};

/// Answers some paths and leaves the others.
pub trait Pages: Send + Sync + 'static {
    /// The answer, or `None` where the path is another's.
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<Response>>;

    /// The paths that it answers now, for the list at `/`.
    fn paths(&self) -> Vec<String>;
}

/// `/` and `/index.html`: the paths that are served.
pub struct Index {
    pages: Vec<Arc<dyn Pages>>,
}

impl Index {
    /// Lists these pages' paths.
    pub fn of(pages: Vec<Arc<dyn Pages>>) -> Self {
        Self { pages }
    }
}

impl Pages for Index {
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<Response>> {
        Box::pin(async {
            if !matches!(request.info.path.as_str(), "/" | "/index.html") {
                return None;
            }
            let mut paths: Vec<String> = self.pages.iter().flat_map(|pages| pages.paths()).collect();
            paths.sort();
            paths.dedup();
            let paths: Vec<Value> = paths.into_iter().map(Value::from).collect();
            let list = Value::Object(Object::from_iter([("paths", paths)]));
            // Browsers get it indented whatever they accept.
            let body = respond::encode_value(Form { media: Media::Json, pretty: true }, &list);
            Some(respond::bytes(200, Media::Json.mime(), body))
        })
    }

    fn paths(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The end of the chain: nobody owns the path.
pub struct NotFound;

impl Delegate for NotFound {
    fn serve(&self, _request: Authorized<Request>) -> BoxFuture<'_, Response> {
        Box::pin(async { respond::page_not_found() })
    }
}
