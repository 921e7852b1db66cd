//! Watches over WebSockets, for browsers: an event a message, a text unless it is protobuf.
//!
//! Upstream: the handshake of `golang.org/x/net/websocket`. What the client sends is passed over until it closes.

use apiwright_chain::{Response, respond};
use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::header::{
    CONNECTION, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::State;

/// A client has nothing to say.
const RECEIVED_BYTES_MAX: usize = 64 * 1024;

/// How events are put into messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// JSON.
    Text,
    /// Protobuf, without the length that comes before an event elsewhere.
    Binary,
}

/// Whether a request wants a WebSocket.
pub(super) fn is_wanted(head: &Parts) -> bool {
    let has = |name: HeaderName, wanted: &str| {
        words(&head.headers, name).any(|word| word.eq_ignore_ascii_case(wanted))
    };
    has(UPGRADE, "websocket") && has(CONNECTION, "upgrade")
}

/// Answers the handshake, and sends the events once the connection is the WebSocket's.
pub(super) fn answer(head: &Parts, state: State, framing: Framing) -> Response {
    let (accept, protocol) = match handshake(head) {
        Ok(agreed) => agreed,
        Err((code, why)) => {
            let mut response = respond::bytes(code, "text/plain; charset=utf-8", why);
            response.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            return response;
        }
    };
    let Some(upgrade) = head.extensions.get::<OnUpgrade>().cloned() else {
        return respond::text_error(500, "the connection cannot become a WebSocket");
    };
    tokio::spawn(serve(upgrade, state, framing));
    let mut response = Response::default();
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    if let Some(protocol) = protocol {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    response
}

/// The key's answer and the protocol, or why not.
fn handshake(head: &Parts) -> Result<(HeaderValue, Option<HeaderValue>), (u16, &'static str)> {
    let text =
        |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if head.method != http::Method::GET {
        return Err((405, "bad method"));
    }
    let key = text(SEC_WEBSOCKET_KEY);
    if key.is_empty() {
        return Err((400, "mismatch challenge/response"));
    }
    if text(SEC_WEBSOCKET_VERSION) != "13" {
        return Err((400, "missing or bad WebSocket Version"));
    }
    let origin = text(ORIGIN);
    if origin.is_empty() || origin.parse::<Uri>().is_err() {
        return Err((403, "null origin"));
    }
    let mut protocols = words(&head.headers, SEC_WEBSOCKET_PROTOCOL);
    let protocol = protocols.next();
    if protocols.next().is_some() {
        return Err((400, "missing or bad WebSocket-Protocol"));
    }
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
    let accept = accept.map_err(|_| (400, "mismatch challenge/response"))?;
    Ok((accept, protocol.and_then(|protocol| HeaderValue::from_str(protocol).ok())))
}

async fn serve(upgrade: OnUpgrade, mut state: State, framing: Framing) {
    let connection = match upgrade.await {
        Ok(connection) => TokioIo::new(connection),
        Err(error) => return tracing::debug!(%error, "a connection did not become a WebSocket"),
    };
    let limits = WebSocketConfig::default()
        .max_message_size(Some(RECEIVED_BYTES_MAX))
        .max_frame_size(Some(RECEIVED_BYTES_MAX));
    let socket = WebSocketStream::from_raw_socket(connection, Role::Server, Some(limits)).await;
    let (mut sender, mut receiver) = socket.split();
    loop {
        tokio::select! {
            received = receiver.next() => match received {
                Some(Ok(message)) if !message.is_close() => {}
                _ => break,
            },
            event = state.next() => {
                let Some(event) = event else { break };
                let Some(message) = message(event.into(), framing) else { break };
                if sender.send(message).await.is_err() {
                    break;
                }
            }
        }
    }
    // The client may be gone already.
    let _ = sender.close().await;
}

fn message(event: apiwright_chain::Piece, framing: Framing) -> Option<Message> {
    let event = Bytes::from(event);
    match framing {
        Framing::Text => Some(Message::Text(Utf8Bytes::try_from(event).ok()?)),
        Framing::Binary => Some(Message::Binary(event.slice(event.len().min(4)..))),
    }
}

/// The words of all of a header's lists.
fn words(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let lists = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).map(str::trim).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use hyper::service::service_fn;
    use tokio_tungstenite::tungstenite::client::IntoClientRequest;

    use super::*;
    use crate::server::Flavour;
    use crate::testing::TestServer;

    #[test]
    fn handshakes() {
        let full = [
            ("upgrade", "WebSocket"),
            ("connection", "keep-alive, Upgrade"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-version", "13"),
            ("origin", "http://localhost"),
            ("sec-websocket-protocol", "base64.binary.k8s.io"),
        ];
        let head = |without: &str, with: &[(&'static str, &'static str)]| {
            let mut request = http::Request::get("/");
            for (name, value) in full.iter().filter(|(name, _)| *name != without).chain(with) {
                request = request.header(*name, *value);
            }
            request.body(()).expect("a request").into_parts().0
        };
        let whole = head("", &[]);
        assert!(is_wanted(&whole));
        let (accept, protocol) = handshake(&whole).expect("a handshake");
        assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(protocol.expect("a protocol"), "base64.binary.k8s.io");
        for (without, code) in [("sec-websocket-key", 400), ("sec-websocket-version", 400), ("origin", 403)] {
            assert_eq!(handshake(&head(without, &[])).err().map(|(code, _)| code), Some(code), "{without}");
        }
        assert!(handshake(&head("sec-websocket-protocol", &[])).is_ok());
        assert!(handshake(&head("", &[("sec-websocket-protocol", "other")])).is_err());
        for without in ["upgrade", "connection"] {
            assert!(!is_wanted(&head(without, &[])), "{without}");
        }
    }

    #[tokio::test]
    async fn events_are_messages() {
        let server = Arc::new(TestServer::new(Flavour::BuiltIn));
        let thing = r#"{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"}}"#;
        server.json("POST", "/namespaces/ns/things", thing).await;
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let serving = Arc::clone(&server);
        tokio::spawn(async move {
            let service = service_fn(|request: http::Request<hyper::body::Incoming>| {
                let serving = Arc::clone(&serving);
                async move { Ok::<_, Infallible>(serving.serve("admin", request.into_parts().0, "").await) }
            });
            let mut http1 = hyper::server::conn::http1::Builder::new();
            let _ = http1.timer(hyper_util::rt::TokioTimer::new());
            let _ = http1.serve_connection(TokioIo::new(theirs), service).with_upgrades().await;
        });
        let address = "ws://localhost/apis/example.com/v1/namespaces/ns/things?watch=1";
        let mut request = address.into_client_request().expect("a request");
        request.headers_mut().insert(ORIGIN, HeaderValue::from_static("http://localhost"));
        let (mut socket, answer) = tokio_tungstenite::client_async(request, ours).await.expect("a WebSocket");
        assert_eq!(answer.status(), 101);
        let added = socket.next().await.expect("a message").expect("no error").into_text().expect("a text");
        assert!(added.starts_with(r#"{"type":"ADDED","object":{"kind":"Thing""#), "{added}");
        server.json("DELETE", "/namespaces/ns/things/a", "").await;
        let deleted = socket.next().await.expect("a message").expect("no error").into_text().expect("a text");
        assert!(deleted.starts_with(r#"{"type":"DELETED""#) && deleted.ends_with("}\n"), "{deleted}");
        server.drainer.begin();
        assert!(socket.next().await.is_none_or(|end| end.is_ok_and(|message| message.is_close())));
    }
}
