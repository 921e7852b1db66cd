//! What the transport alone costs: answers of some lengths, from memory, over TLS and HTTP/2. What a server takes
//! beyond that for an answer of the same length is its own.
//!
//! `cargo run --release -p apiwright-transport --example floor`, on Linux.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use apiwright_chain::{Body, Piece, Response, Rope};
use apiwright_registry::Sink;
use apiwright_transport::{Certificates, KeyPair, Listener, Tls};
use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::TlsConnector;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long a piece of a long answer is.
const PIECE_BYTES: usize = 128 * 1024;
/// How much memory the answers come from: more than caches hold, as objects do.
const MEMORY_BYTES: usize = 64 << 20;
const CONNECTIONS: usize = 8;

/// An answer: what it is like, its length, how often it is asked for.
const ANSWERS: [(&str, usize, usize); 7] = [
    ("a ConfigMap", 1_500, 40_000),
    ("a pod", 8_100, 40_000),
    ("50 pods", 513_000, 2_000),
    ("5,000 pods", 51_300_000, 40),
    ("5,000 pods, metadata or a table", 26_700_000, 40),
    ("5,000 pods, protobuf", 36_000_000, 40),
    ("5,000 pods, gzip", 5_200_000, 200),
];

fn main() {
    let server = runtime("server");
    let (sender, receiver) = std::sync::mpsc::channel();
    server.spawn(async move {
        let memory = Bytes::from(vec![b'x'; MEMORY_BYTES]);
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.expect("a port");
        sender.send(listener.address()).expect("the main thread waits");
        let handle = move |request: http::Request<hyper::body::Incoming>, _| {
            let response = answer(&memory, request.uri().path());
            async move { response }
        };
        let (_drainer, drain) = apiwright_chain::drain();
        listener.serve(Arc::new(tls()), handle, drain, Duration::ZERO).await;
    });
    let address = receiver.recv().expect("the server starts");
    let client = runtime("client");
    println!("| answer | bytes | CPU µs | ns/byte |\n|---|--:|--:|--:|");
    for (name, bytes, times) in ANSWERS {
        client.block_on(ask(address, bytes, CONNECTIONS));
        let before = cpu("server");
        client.block_on(ask(address, bytes, times));
        let micros = (cpu("server") - before) / 1e3 / times as f64;
        println!("| {name} | {bytes} | {micros:.0} | {:.2} |", micros * 1e3 / bytes as f64);
    }
}

fn runtime(name: &str) -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).thread_name(name).enable_all().build().expect("a runtime")
}

/// The CPU time of the threads with this name, in nanoseconds.
fn cpu(name: &str) -> f64 {
    let mut nanos = 0.0;
    for thread in std::fs::read_dir("/proc/self/task").expect("Linux").flatten() {
        let read = |file: &str| std::fs::read_to_string(thread.path().join(file)).unwrap_or_default();
        if read("comm").trim() == name {
            nanos += read("schedstat").split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
        }
    }
    nanos
}

/// As many bytes as the path says, none of them copied.
fn answer(memory: &Bytes, path: &str) -> Response {
    let length = path.trim_start_matches('/').parse().unwrap_or(0_usize).min(MEMORY_BYTES);
    let bytes = memory.slice(..length);
    if length <= 2 * PIECE_BYTES {
        return Response::new(Body::from(bytes));
    }
    let pieces = (0..length).step_by(PIECE_BYTES).map(move |start| {
        let mut rope = Rope::default();
        rope.share(&bytes, start..length.min(start + PIECE_BYTES));
        Ok(Piece::from(rope))
    });
    Response::new(Body::Stream(stream::iter(pieces).boxed()))
}

/// Asks so often for so many bytes, on several connections.
async fn ask(address: SocketAddr, bytes: usize, times: usize) {
    let connections = (0..CONNECTIONS).map(|_| async {
        let stream = tokio::net::TcpStream::connect(address).await.expect("the server listens");
        stream.set_nodelay(true).expect("a TCP stream");
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = TlsConnector::from(Arc::new(trusting())).connect(name, stream).await.expect("TLS");
        let (mut sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(4 << 20)
            .initial_connection_window_size(1 << 30)
            .handshake(TokioIo::new(stream))
            .await
            .expect("HTTP/2");
        tokio::spawn(connection);
        for _ in 0..times / CONNECTIONS {
            let uri = format!("https://localhost/{bytes}");
            let request = http::Request::get(uri).body(Empty::<Bytes>::new()).expect("a request");
            let mut body = sender.send_request(request).await.expect("an answer").into_body();
            let mut read = 0;
            while let Some(frame) = body.frame().await {
                read += frame.expect("all of it").data_ref().map_or(0, Bytes::len);
            }
            assert_eq!(read, bytes);
        }
    });
    futures::future::join_all(connections).await;
}

fn tls() -> Tls {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: String| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let certificate = file("crt", made.cert.pem());
    let key = file("key", made.signing_key.serialize_pem());
    let pair = KeyPair { certificate, key, names: Vec::new() };
    Tls::new(
        apiwright_transport::Rules::default(),
        Certificates::load(&pair, &[]).expect("what was written"),
        &[],
    )
    .expect("a key")
}

/// A client that trusts everybody: who is at the other end is not the question here.
fn trusting() -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let mut config = builder
        .with_safe_default_protocol_versions()
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

#[derive(Debug)]
struct Anybody(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
