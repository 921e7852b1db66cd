//! A request that a server outside answers.

use std::io;
use std::time::{Duration, Instant};

use apiwright_chain::request::RequestBody;
use apiwright_chain::respond::text_error;
use apiwright_chain::{Body, Request, Response};
use apiwright_remote::{Error, Host, Kind, empty, full};
use futures::StreamExt;
use http::header::{HeaderName, LOCATION};
use http::{HeaderMap, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt, BodyStream};
use hyper::body::Incoming;

use crate::forward;
use crate::routes::{Route, Routes};
use crate::upgrade;

/// Clients ask for documents of discovery all the time: a slow server must not slow them down.
const DISCOVERY_SECONDS_MAX: u64 = 5;
const REDIRECTED: &str = "the backend attempted to redirect this request, which is not permitted";
/// Who may call from a browser is not a backend's to say.
const CORS: [&str; 4] = [
    "access-control-allow-credentials",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
];

/// The answer of a route's server.
pub(crate) async fn proxy(routes: &Routes, route: &Route, request: Request) -> Response {
    if !route.available {
        return unavailable("service unavailable");
    }
    forward(routes, route, request).await
}

/// As [`proxy`], whether or not the last check has found the server.
pub(crate) async fn forward(routes: &Routes, route: &Route, mut request: Request) -> Response {
    let backend = match &route.backend {
        Ok(backend) => backend,
        Err(why) => return text_error(500, &why.to_string()),
    };
    let host: Host = match routes.resolver.resolve(&route.remote.service).await {
        Ok(host) => host,
        Err(why) => {
            let service = &route.remote.service;
            tracing::error!(namespace = service.namespace, name = service.name, %why, "cannot resolve a service");
            return unavailable("service unavailable");
        }
    };
    let Some(address) = forward::address(&host, &request) else {
        return unavailable("service unavailable");
    };
    if forward::is_upgrade(&request.head.headers) {
        return upgrade::proxy(backend, address, request).await;
    }
    let deadline = deadline(&request);
    let mut outgoing = http::Request::new(body(std::mem::replace(
        &mut request.body,
        RequestBody::Full(bytes::Bytes::new()),
    )));
    *outgoing.method_mut() = request.head.method.clone();
    *outgoing.headers_mut() = forward::headers(&request, &address);
    *outgoing.uri_mut() = address;
    let answer = match deadline {
        None => backend.send(outgoing).await,
        Some(at) => tokio::time::timeout_at(at.into(), backend.send(outgoing))
            .await
            .unwrap_or_else(|_| Err(Error::deadline_exceeded())),
    };
    match answer {
        Ok(answer) => take(answer),
        Err(why) => {
            if why.kind == Kind::Connect {
                routes.unreachable(&route.remote);
            }
            unavailable(&format!("error trying to reach service: {why}"))
        }
    }
}

/// Until when the answer must have begun.
fn deadline(request: &Request) -> Option<Instant> {
    let parts = request.info.path.trim_matches('/').split('/').count();
    let discovery = (!request.info.is_resource && parts == 3)
        .then(|| Instant::now() + Duration::from_secs(DISCOVERY_SECONDS_MAX));
    discovery.into_iter().chain(request.deadline).min()
}

/// A request's body on its way through.
fn body(body: RequestBody) -> apiwright_remote::Body {
    match body {
        RequestBody::Full(bytes) if bytes.is_empty() => empty(),
        RequestBody::Full(bytes) => full(bytes),
        RequestBody::Incoming(upload) if upload.is_end_stream() => empty(),
        RequestBody::Incoming(upload) => upload.map_err(Into::into).boxed_unsync(),
    }
}

/// The backend's answer as ours.
pub(crate) fn take(answer: http::Response<Incoming>) -> Response {
    let (head, body) = answer.into_parts();
    if head.status.is_redirection() && head.headers.contains_key(LOCATION) {
        let mut response = Response::new(REDIRECTED.into());
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        return response;
    }
    let mut response = Response::new(stream(body));
    *response.status_mut() = head.status;
    *response.headers_mut() = own(head.headers);
    response
}

fn own(mut headers: HeaderMap) -> HeaderMap {
    forward::without_hops(&mut headers);
    for name in CORS {
        headers.remove(HeaderName::from_static(name));
    }
    headers
}

/// Piece by piece, as they come.
fn stream(body: Incoming) -> Body {
    if body.is_end_stream() {
        return Body::Empty;
    }
    let pieces = BodyStream::new(body).filter_map(|frame| {
        let piece = match frame {
            Ok(frame) => frame.into_data().ok().map(|data| Ok(data.into())),
            Err(error) => Some(Err(io::Error::other(error))),
        };
        std::future::ready(piece)
    });
    Body::Stream(pieces.boxed())
}

/// A failure as a plain text.
pub(crate) fn unavailable(why: &str) -> Response {
    text_error(503, why)
}
