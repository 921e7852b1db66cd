//! One server outside: how it is reached, whom it must prove to be, its connections.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, Uri, Version};
use http_body::Body as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::crypto::ring;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use crate::dial::dial;
use crate::error::{Error, Kind};
use crate::identity::Identity;
use crate::resolve::{Host, Resolver, ServiceReference};
use crate::trust::Trust;

/// As Kubernetes' transports have it.
const IDLE_CONNECTIONS_MAX: usize = 25;
const IDLE_SECONDS_MAX: u64 = 90;
/// A dead server is noticed by an unanswered ping, as kube-apiserver does.
const PING_INTERVAL_SECONDS: u64 = 30;
const PING_TIMEOUT_SECONDS: u64 = 15;
/// Watches and lists of many clients share a connection.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// A request's body on its way out.
pub type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// A body that is there.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// No body.
pub fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// How a backend's connections are made.
#[derive(Clone)]
pub enum Via {
    /// To the host that a request's address names.
    Address,
    /// To wherever a Service is then, whatever host the address names.
    Service(ServiceReference, Arc<dyn Resolver>),
}

/// A server outside, and its pool of connections.
pub struct Backend {
    client: Client<Connector, Body>,
    connector: Connector,
}

impl Backend {
    /// A backend that must prove to be `server_name` (the host of a request's address where there
    /// is none) to whom `trust` believes, and that we show `identity` if it asks.
    ///
    /// # Errors
    /// Where the trust cannot be read.
    pub fn new(
        via: Via,
        server_name: Option<String>,
        trust: &Trust,
        identity: Option<&Arc<Identity>>,
    ) -> Result<Self, Error> {
        let connector =
            Connector { via, server_name, tls: Arc::new(configure(trust, identity, &[b"h2", b"http/1.1"])?) };
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_idle_timeout(Duration::from_secs(IDLE_SECONDS_MAX))
            .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .http2_initial_stream_window_size(STREAM_WINDOW_BYTES)
            .http2_initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .http2_keep_alive_interval(Duration::from_secs(PING_INTERVAL_SECONDS))
            .http2_keep_alive_timeout(Duration::from_secs(PING_TIMEOUT_SECONDS));
        Ok(Self { client: builder.build(connector.clone()), connector })
    }

    /// Sends a request with an absolute `https` address; gives the answer's head, with the body to
    /// come. Whoever stops waiting cancels it.
    ///
    /// # Errors
    /// Where there is no answer.
    pub async fn send(&self, mut request: Request<Body>) -> Result<Response<Incoming>, Error> {
        // What the connection speaks is the pool's business.
        *request.version_mut() = Version::HTTP_11;
        let again = repeatable(&request);
        match self.attempt(request).await {
            Ok(response) => Ok(response),
            // A server may close an idle connection at the moment when it is taken up again.
            Err((error, true)) if error.kind == Kind::Exchange => match again {
                Some(request) => self.attempt(request).await.map_err(|(error, _)| error),
                None => Err(error),
            },
            Err((error, _)) => Err(error),
        }
    }

    /// Sends a request and reads the answer whole, in at most `timeout` and `bytes_max`.
    ///
    /// # Errors
    /// Where there is no answer, or only half of one.
    pub async fn exchange(
        &self,
        request: Request<Body>,
        timeout: Duration,
        bytes_max: usize,
    ) -> Result<Response<Bytes>, Error> {
        let exchange = async {
            let (head, body) = self.send(request).await?.into_parts();
            let body = Limited::new(body, bytes_max).collect().await.map_err(|error| {
                if error.is::<LengthLimitError>() {
                    return Error::new(Kind::TooLong, format!("the answer is longer than {bytes_max} bytes"));
                }
                match Error::of_exchange(error.as_ref()) {
                    error if error.to_string() == "EOF" => Error::new(Kind::Exchange, "unexpected EOF"),
                    error => error,
                }
            })?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        tokio::time::timeout(timeout, exchange).await.unwrap_or_else(|_| Err(Error::deadline_exceeded()))
    }

    /// Sends a request that asks for another protocol, over a connection of its own. Where the
    /// answer is 101, `hyper::upgrade::on` gives the connection.
    ///
    /// # Errors
    /// Where there is no answer.
    pub async fn upgrade(&self, mut request: Request<Body>) -> Result<Response<Incoming>, Error> {
        let mut tls = ClientConfig::clone(&self.connector.tls);
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let stream = self.connector.connect(request.uri(), Arc::new(tls)).await?;
        let fail = |error: hyper::Error| Error::of_exchange(&error);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(fail)?;
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "an upgraded connection ended");
            }
        });
        *request.version_mut() = Version::HTTP_11;
        if let Some(authority) = request.uri().authority()
            && let Ok(host) = http::HeaderValue::from_str(authority.as_str())
        {
            request.headers_mut().insert(http::header::HOST, host);
        }
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
        sender.send_request(request).await.map_err(fail)
    }

    /// One try; with the error, whether the connection had served before.
    async fn attempt(&self, request: Request<Body>) -> Result<Response<Incoming>, (Error, bool)> {
        match self.client.request(request).await {
            Ok(response) => {
                if let Some(used) = response.extensions().get::<Used>() {
                    used.0.store(true, Ordering::Relaxed);
                }
                Ok(response)
            }
            Err(error) => {
                let mut extensions = http::Extensions::new();
                if let Some(connected) = error.connect_info() {
                    connected.get_extras(&mut extensions);
                }
                let used = extensions.get::<Used>().is_some_and(|used| used.0.load(Ordering::Relaxed));
                Err((Error::of_exchange(&error), used))
            }
        }
    }
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backend").field("server_name", &self.connector.server_name).finish_non_exhaustive()
    }
}

/// The same request once more, where sending it twice does no harm.
fn repeatable(request: &Request<Body>) -> Option<Request<Body>> {
    let harmless = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    (harmless && request.body().is_end_stream()).then(|| {
        let mut again = Request::new(empty());
        *again.method_mut() = request.method().clone();
        *again.uri_mut() = request.uri().clone();
        *again.headers_mut() = request.headers().clone();
        again
    })
}

fn configure(
    trust: &Trust,
    identity: Option<&Arc<Identity>>,
    protocols: &[&[u8]],
) -> Result<ClientConfig, Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(Kind::Target, error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(trust.verifier()?);
    let mut config = match identity {
        Some(identity) => builder.with_client_cert_resolver(Arc::clone(identity) as _),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(config)
}

#[derive(Clone)]
struct Connector {
    via: Via,
    server_name: Option<String>,
    tls: Arc<ClientConfig>,
}

impl Connector {
    async fn connect(&self, uri: &Uri, tls: Arc<ClientConfig>) -> Result<TlsStream<TcpStream>, Error> {
        let addressed =
            Host::of(uri).ok_or_else(|| Error::new(Kind::Target, "http: no Host in request URL"))?;
        let host = match &self.via {
            Via::Address => addressed.clone(),
            Via::Service(service, resolver) => {
                resolver.resolve(service).await.map_err(|why| Error::new(Kind::Connect, why))?
            }
        };
        let name = self.server_name.as_ref().unwrap_or(&addressed.name);
        dial(&host, name, tls).await
    }
}

impl Service<Uri> for Connector {
    type Response = Pooled;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Pooled, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let stream = connector.connect(&uri, Arc::clone(&connector.tls)).await?;
            Ok(Pooled { stream: TokioIo::new(stream), used: Used::default() })
        })
    }
}

/// Whether a connection has served a request.
#[derive(Clone, Default)]
struct Used(Arc<AtomicBool>);

/// A connection of the pool.
struct Pooled {
    stream: TokioIo<TlsStream<TcpStream>>,
    used: Used,
}

impl Connection for Pooled {
    fn connected(&self) -> Connected {
        let (_, session) = self.stream.inner().get_ref();
        let connected = Connected::new().extra(self.used.clone());
        if session.alpn_protocol() == Some(b"h2") { connected.negotiated_h2() } else { connected }
    }
}

impl Read for Pooled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl Write for Pooled {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, buffers)
    }
}
