//! One connection: the handshake, the protocol that it agreed on, the requests.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use apiwright_chain::{Drain, Peer, Response};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::debug;

use crate::tls::Tls;

/// A client that has not finished its handshake by then is gone.
const HANDSHAKE_SECONDS_MAX: u64 = 10;
/// How long a connection may wait for its next request's head, as kube-apiserver's idle timeout.
const IDLE_SECONDS_MAX: u64 = 90;
/// All of a request's headers, as Go's default.
const HEADER_BYTES_MAX: u32 = 1 << 20;
const HEADERS_MAX: usize = 256;
/// As Go's HTTP/2 server; clients open another connection when they need more.
const STREAMS_MAX: u32 = 250;
/// Nearly all objects fit into one stream's window, as kube-apiserver has it.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
const FRAME_BYTES_MAX: u32 = 256 << 10;
/// How much of one answer may wait for a slow client before its producer does.
const SEND_BUFFER_BYTES_MAX: usize = 256 << 10;
/// Dead clients are noticed by an unanswered ping.
const PING_INTERVAL_SECONDS: u64 = 30;
const PING_TIMEOUT_SECONDS: u64 = 15;

/// Serves a connection until the client, an error or the drain ends it.
pub(crate) async fn serve<H, F>(
    stream: TcpStream,
    remote: SocketAddr,
    tls: Arc<Tls>,
    handle: Arc<H>,
    drain: Drain,
) where
    H: Fn(http::Request<Incoming>, Arc<Peer>) -> F + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let mut begun = drain;
    let handshake = TlsAcceptor::from(tls.current()).accept(stream);
    let handshake = tokio::time::timeout(Duration::from_secs(HANDSHAKE_SECONDS_MAX), handshake);
    let stream = tokio::select! {
        done = handshake => match done {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return debug!(%remote, %error, "TLS handshake failed"),
            Err(_) => return debug!(%remote, "TLS handshake took too long"),
        },
        () = begun.begun() => return,
    };
    let peer = Arc::new(peer_of(&stream, remote));
    let service = {
        let peer = Arc::clone(&peer);
        service_fn(move |request| {
            let answer = handle(request, Arc::clone(&peer));
            async move { Ok::<_, Infallible>(answer.await) }
        })
    };
    let io = TokioIo::new(stream);
    let ended = if peer.is_http2 {
        let mut connection = pin!(http2().serve_connection(io, service));
        tokio::select! {
            ended = connection.as_mut() => ended,
            () = until_close(&peer, &mut begun) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    } else {
        let mut connection = pin!(http1().serve_connection(io, service).with_upgrades());
        tokio::select! {
            ended = connection.as_mut() => ended,
            () = until_close(&peer, &mut begun) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    };
    if let Err(error) = ended {
        debug!(%remote, %error, "connection ended");
    }
}

async fn until_close(peer: &Peer, drain: &mut Drain) {
    tokio::select! {
        () = peer.should_close() => {}
        () = drain.begun() => {}
    }
}

fn peer_of(stream: &TlsStream<TcpStream>, remote: SocketAddr) -> Peer {
    let (_, session) = stream.get_ref();
    let mut peer = Peer::new(remote);
    peer.is_http2 = session.alpn_protocol() == Some(b"h2");
    peer.certificates = session
        .peer_certificates()
        .unwrap_or_default()
        .iter()
        .map(|certificate| Bytes::copy_from_slice(certificate))
        .collect();
    peer
}

fn http1() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(IDLE_SECONDS_MAX))
        .max_buf_size(HEADER_BYTES_MAX as usize)
        .max_headers(HEADERS_MAX);
    builder
}

fn http2() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES_MAX)
        .max_send_buf_size(SEND_BUFFER_BYTES_MAX)
        .max_header_list_size(HEADER_BYTES_MAX)
        .keep_alive_interval(Duration::from_secs(PING_INTERVAL_SECONDS))
        .keep_alive_timeout(Duration::from_secs(PING_TIMEOUT_SECONDS));
    builder
}
