//! Another protocol on a connection: WebSocket, SPDY. What goes over it is nobody's business here.

use apiwright_chain::{Request, Response};
use apiwright_remote::{Backend, Kind, empty};
use http::{StatusCode, Uri};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tracing::debug;

use crate::forward;
use crate::proxy::{take, unavailable};

/// Asks the backend for the protocol and, where it agrees, joins both connections.
pub(crate) async fn proxy(backend: &Backend, address: Uri, mut request: Request) -> Response {
    let Some(client) = request.head.extensions.remove::<OnUpgrade>() else {
        return unavailable("request connection cannot be hijacked");
    };
    let mut outgoing = http::Request::new(empty());
    *outgoing.method_mut() = request.head.method.clone();
    *outgoing.headers_mut() = forward::upgrade_headers(&request);
    *outgoing.uri_mut() = address;
    let answer = match backend.upgrade(outgoing).await {
        Ok(answer) => answer,
        // It was there and hung up, which is read of the connection instead of an exchange.
        Err(why) if why.kind == Kind::Exchange && why.to_string() == "EOF" => {
            return unavailable("unexpected EOF");
        }
        Err(why) if why.kind == Kind::Exchange => return unavailable(&why.to_string()),
        Err(why) => return unavailable(&format!("error dialing backend: {why}")),
    };
    let status = answer.status();
    if status.is_client_error() || status.is_server_error() {
        return take(answer);
    }
    if status != StatusCode::SWITCHING_PROTOCOLS {
        return unavailable(&format!("invalid upgrade response: status code {}", status.as_u16()));
    }
    let mut response = Response::default();
    *response.status_mut() = status;
    *response.headers_mut() = answer.headers().clone();
    let server = hyper::upgrade::on(answer);
    tokio::spawn(async move {
        let (client, server) = match futures::future::try_join(client, server).await {
            Ok(ends) => ends,
            Err(error) => return debug!(%error, "an upgrade did not come about"),
        };
        join(TokioIo::new(client), TokioIo::new(server)).await;
    });
    response
}

/// Carries bytes both ways until one side has said all it has to say; then both end.
async fn join(client: impl AsyncRead + AsyncWrite, server: impl AsyncRead + AsyncWrite) {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let ended = tokio::select! {
        ended = tokio::io::copy(&mut from_client, &mut to_server) => ended,
        ended = tokio::io::copy(&mut from_server, &mut to_client) => ended,
    };
    if let Err(error) = ended {
        debug!(%error, "an upgraded connection ended");
    }
    for result in [to_client.shutdown().await, to_server.shutdown().await] {
        if let Err(error) = result {
            debug!(%error, "an upgraded connection did not end well");
        }
    }
}
