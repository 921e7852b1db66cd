//! One connection: the handshake, the protocol that it agreed on, the requests.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use apiwright_chain::{Drain, Peer, Response};
use bytes::Bytes;
use http::{Method, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::debug;

use crate::activity::{Activity, Answering, Timed, UnderWay};
use crate::batch::{Turns, batched};
use crate::limits::Limits;
use crate::plain;
use crate::tls::Tls;

/// All of a request's headers, as Go's default.
const HEADER_BYTES_MAX: u32 = 1 << 20;
const HEADERS_MAX: usize = 256;
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
    limits: Limits,
    handle: Arc<H>,
    drain: Drain,
) where
    H: Fn(http::Request<Incoming>, Arc<Peer>) -> F + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let mut begun = drain;
    let arrived = tokio::time::timeout(limits.handshake, shake_hands(stream, &tls));
    let stream = tokio::select! {
        done = arrived => match done {
            Ok(Ok(Some(stream))) => stream,
            Ok(Ok(None)) => return debug!(%remote, "an HTTP request to an HTTPS server"),
            Ok(Err(error)) => return debug!(%remote, %error, "TLS handshake failed"),
            Err(_) => return debug!(%remote, "TLS handshake took too long"),
        },
        () = begun.begun() => return,
    };
    let peer = Arc::new(peer_of(&stream, remote));
    let activity = Arc::new(Activity::default());
    let service = {
        let (peer, activity) = (Arc::clone(&peer), Arc::clone(&activity));
        service_fn(move |request: http::Request<Incoming>| {
            let under_way = activity.begin();
            let connects = request.method() == Method::CONNECT;
            let answer = handle(request, Arc::clone(&peer));
            async move { Ok::<_, Infallible>(answering(answer.await, under_way, connects)) }
        })
    };
    let ended = if peer.is_http2 {
        let (stream, turns) = batched(stream);
        let io = TokioIo::new(Timed::new(stream, activity, Arc::clone(&peer), limits));
        let mut connection = pin!(http2(limits).serve_connection(io, service));
        tokio::select! {
            ended = in_turns(connection.as_mut(), &turns) => ended,
            () = until_close(&peer, &mut begun) => {
                connection.as_mut().graceful_shutdown();
                in_turns(connection, &turns).await
            }
        }
    } else {
        let io = TokioIo::new(Timed::new(stream, activity, Arc::clone(&peer), limits));
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

/// The stream inside; `None` for a client that speaks plain HTTP, which has been told.
async fn shake_hands(stream: TcpStream, tls: &Tls) -> io::Result<Option<TlsStream<TcpStream>>> {
    if plain::is_http(&stream).await {
        plain::refuse(stream).await;
        return Ok(None);
    }
    TlsAcceptor::from(tls.current()).accept(stream).await.map(Some)
}

/// The answer, whose request is under way until all of it is out.
fn answering(answer: Response, under_way: UnderWay, connects: bool) -> http::Response<Answering> {
    let status = answer.status();
    let request = if status == StatusCode::SWITCHING_PROTOCOLS || (connects && status.is_success()) {
        under_way.for_ever();
        None
    } else {
        Some(under_way)
    };
    answer.map(|body| Answering { body, _request: request })
}

/// Drives a connection, and lets out after each turn what it wrote.
async fn in_turns<C>(mut connection: Pin<&mut C>, turns: &Turns) -> C::Output
where
    C: Future,
{
    poll_fn(|context| {
        let ended = connection.as_mut().poll(context);
        // A broken connection tells so at its next read or write.
        let _ = turns.end(context);
        ended
    })
    .await
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
        // The connection itself has patience that ends.
        .header_read_timeout(None)
        .max_buf_size(HEADER_BYTES_MAX as usize)
        .max_headers(HEADERS_MAX);
    builder
}

fn http2(limits: Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_max)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES_MAX)
        .max_send_buf_size(SEND_BUFFER_BYTES_MAX)
        .max_header_list_size(HEADER_BYTES_MAX)
        .keep_alive_interval(Duration::from_secs(PING_INTERVAL_SECONDS))
        .keep_alive_timeout(Duration::from_secs(PING_TIMEOUT_SECONDS));
    builder
}
