//! Connections as clients make them: both protocols, certificates, limits, the drain.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use apiwright_chain::{Body, Drainer, Response};
use apiwright_transport::{Certificates, KeyPair, Limits, Listener, Rules, Tls};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

struct Server {
    address: SocketAddr,
    certificate: CertificateDer<'static>,
    drainer: Drainer,
    serving: JoinHandle<()>,
    _dir: TempDir,
}

/// A server that answers `/slow` after half a second, `/watch` without end, `/peer` with what it
/// knows of the client, `/last` before closing, and all else with the length of the path.
async fn start(grace: Duration) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let (pair, certificate) = write_pair(&dir, "server", &["localhost"]);
    let tls = Arc::new(Tls::new(Rules::default(), Certificates::load(&pair, &[]).unwrap(), &[]).unwrap());
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let limits = Limits {
        handshake: Duration::from_millis(400),
        head: Duration::from_millis(400),
        preface: Duration::from_millis(400),
        idle: Duration::from_millis(1500),
        ..Limits::default()
    };
    let listener = listener.with_limits(limits);
    let address = listener.address();
    let (drainer, drain) = apiwright_chain::drain();
    let handle = |request: http::Request<Incoming>, peer: Arc<apiwright_chain::Peer>| async move {
        match request.uri().path() {
            "/slow" => {
                tokio::time::sleep(Duration::from_millis(500)).await;
                Response::new(Body::from("late"))
            }
            "/watch" => Response::new(Body::Stream(Box::pin(futures::stream::pending()))),
            "/peer" => Response::new(Body::from(format!("{} {}", peer.is_http2, peer.certificates.len()))),
            "/last" => {
                peer.close_when_idle();
                Response::new(Body::from("last"))
            }
            path => Response::new(Body::from(path.len().to_string())),
        }
    };
    let serving = tokio::spawn(listener.serve(tls, handle, drain, grace));
    Server { address, certificate, drainer, serving, _dir: dir }
}

fn write_pair(dir: &TempDir, name: &str, names: &[&str]) -> (KeyPair, CertificateDer<'static>) {
    let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let file = |suffix: &str, text: String| {
        let path = dir.path().join(format!("{name}.{suffix}"));
        std::fs::write(&path, text).unwrap();
        path
    };
    let pair = KeyPair {
        certificate: file("crt", made.cert.pem()),
        key: file("key", made.signing_key.serialize_pem()),
        names: Vec::new(),
    };
    (pair, made.cert.der().clone())
}

/// A TLS connection that offers these protocols, and a certificate if it has one.
async fn connect(server: &Server, protocols: &[&[u8]], with_certificate: bool) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(server.certificate.clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = if with_certificate {
        let made = rcgen::generate_simple_self_signed(vec!["client".into()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        builder.with_client_auth_cert(vec![made.cert.der().clone()], key).unwrap()
    } else {
        builder.with_no_client_auth()
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
}

type Sender2 = hyper::client::conn::http2::SendRequest<Empty<Bytes>>;

async fn http2(server: &Server, with_certificate: bool) -> (Sender2, JoinHandle<hyper::Result<()>>) {
    let stream = connect(server, &[b"h2", b"http/1.1"], with_certificate).await;
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    (sender, tokio::spawn(connection))
}

async fn get(sender: &mut Sender2, path: &str) -> (u16, String) {
    let request = http::Request::get(format!("https://localhost{path}")).body(Empty::new()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(body.to_vec()).unwrap())
}

/// Sends text over HTTP/1.1 and reads until the server closes.
async fn raw(server: &Server, text: &str) -> String {
    let mut stream = connect(server, &[b"http/1.1"], false).await;
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn both_protocols_and_certificates() {
    let server = start(Duration::from_secs(1)).await;
    for (with_certificate, expected) in [(false, "true 0"), (true, "true 1")] {
        let (mut sender, _) = http2(&server, with_certificate).await;
        assert_eq!(get(&mut sender, "/peer").await, (200, expected.into()));
    }
    let answer = raw(&server, "GET /peer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nfalse 0"), "{answer}");
}

#[tokio::test]
async fn long_paths_pass_and_endless_headers_do_not() {
    let server = start(Duration::from_secs(1)).await;
    let path = format!("/{}", "a".repeat(20_000));
    let (mut sender, _) = http2(&server, false).await;
    assert_eq!(get(&mut sender, &path).await, (200, "20001".into()));
    let answer = raw(&server, &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
    assert!(answer.ends_with("\r\n\r\n20001"), "{answer}");
    let headers = "x: y\r\n".repeat(300);
    let answer = raw(&server, &format!("GET / HTTP/1.1\r\nHost: x\r\n{headers}\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

/// How long the server bears with a connection on which nothing more comes than this.
async fn borne(mut stream: impl AsyncReadExt + AsyncWriteExt + Unpin, sent: &[u8]) -> Duration {
    let begun = Instant::now();
    stream.write_all(sent).await.unwrap();
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
    begun.elapsed()
}

#[tokio::test]
async fn slow_clients_lose_their_connections() {
    let server = start(Duration::from_secs(1)).await;
    let took = borne(TcpStream::connect(server.address).await.unwrap(), b"").await;
    assert!((300..1200).contains(&took.as_millis()), "no handshake: {took:?}");
    for (protocol, sent, least, most) in [
        (&b"http/1.1"[..], "", 300, 1200),
        (b"http/1.1", "GET / HTTP/1.1\r\nHost: x\r\nX-Slow:", 300, 1200),
        // An answer, then half of another head, then nothing but an idle connection.
        (b"http/1.1", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 1300, 3000),
        (b"http/1.1", "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", 1300, 3000),
        (b"h2", "", 300, 1200),
        (b"h2", "PRI * HTTP/2.0\r\n", 300, 1200),
        (b"h2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", 1300, 3000),
    ] {
        let took = borne(connect(&server, &[protocol], false).await, sent.as_bytes()).await;
        assert!((least..most).contains(&took.as_millis()), "{sent:?}: {took:?}");
    }
}

#[tokio::test]
async fn what_is_under_way_is_borne() {
    let server = start(Duration::from_secs(1)).await;
    let (mut sender, _) = http2(&server, false).await;
    assert_eq!(get(&mut sender, "/slow").await, (200, "late".into()));
    let answer = raw(&server, "GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(answer.ends_with("\r\n\r\nlate"), "{answer}");
    let watch =
        borne(connect(&server, &[b"http/1.1"], false).await, b"GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(watch.await >= Duration::from_secs(5));
}

#[tokio::test]
async fn plain_http_is_told_so() {
    let server = start(Duration::from_secs(1)).await;
    for (sent, told) in [("GET / HTTP/1.1\r\nHost: x\r\n\r\n", true), ("POST /", true), ("BREW /", false)] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let expected = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
        assert_eq!(answer == expected.as_bytes(), told, "{sent}");
    }
}

#[tokio::test]
async fn a_connection_can_be_closed_after_an_answer() {
    let server = start(Duration::from_secs(1)).await;
    let (mut sender, connection) = http2(&server, false).await;
    assert_eq!(get(&mut sender, "/last").await, (200, "last".into()));
    tokio::time::timeout(Duration::from_secs(5), connection)
        .await
        .expect("the connection ends")
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_drain_finishes_what_is_in_flight() {
    let server = start(Duration::from_secs(5)).await;
    let (mut sender, _) = http2(&server, false).await;
    let slow = tokio::spawn(async move { get(&mut sender, "/slow").await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let begun = Instant::now();
    server.drainer.begin();
    assert_eq!(slow.await.unwrap(), (200, "late".into()));
    server.serving.await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn a_drain_ends_in_bounded_time() {
    let server = start(Duration::from_millis(300)).await;
    let (mut sender, _) = http2(&server, false).await;
    let watch = tokio::spawn(async move {
        let request = http::Request::get("https://localhost/watch").body(Empty::new()).unwrap();
        let response = sender.send_request(request).await.unwrap();
        response.into_body().collect().await.is_err()
    });
    // A client that never finishes its handshake is no reason to wait, either.
    let _silent = TcpStream::connect(server.address).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.drainer.begin();
    tokio::time::timeout(Duration::from_secs(5), server.serving).await.expect("the drain ends").unwrap();
    assert!(watch.await.unwrap(), "the watch is cut");
}

#[tokio::test]
async fn addresses_that_cannot_be_had_are_named() {
    let first = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = first.address();
    let why = Listener::bind(address).await.err().unwrap().to_string();
    assert_eq!(why, format!("cannot listen on {address}: the address is already in use by another process"));
    let why = Listener::bind(([192, 0, 2, 1], 1).into()).await.err().unwrap().to_string();
    assert_eq!(why, "cannot listen on 192.0.2.1:1: this machine does not have that address");
}

#[test]
fn certificates_by_name_and_faults() {
    let dir = tempfile::tempdir().unwrap();
    let (default, _) = write_pair(&dir, "default", &["localhost"]);
    let (exact, _) = write_pair(&dir, "exact", &["a.example"]);
    let (mut wild, _) = write_pair(&dir, "wild", &["unused"]);
    wild.names = vec!["*.b.example".into()];
    let certificates = Certificates::load(&default, &[exact.clone(), wild.clone()]).unwrap();
    let shown = |name: Option<&str>| certificates.resolve(name).cert.clone();
    assert_eq!(shown(Some("A.example")), Certificates::load(&exact, &[]).unwrap().resolve(None).cert);
    assert_eq!(shown(Some("x.b.example")), Certificates::load(&wild, &[]).unwrap().resolve(None).cert);
    for name in [None, Some("b.example"), Some("x.y.b.example"), Some("localhost")] {
        assert_eq!(shown(name), Certificates::load(&default, &[]).unwrap().resolve(None).cert);
    }
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("text"), "no certificate").unwrap();
    let pair = |certificate: &str, key: &str| KeyPair {
        certificate: path(certificate),
        key: path(key),
        names: Vec::new(),
    };
    for (pair, file, why) in [
        (pair("none", "default.key"), "none", "No such file or directory"),
        (pair("text", "default.key"), "text", "it holds no PEM certificate"),
        (pair("default.crt", "text"), "text", "it holds no PEM private key"),
        (pair("default.crt", "exact.key"), "exact.key", "it is not the key of"),
    ] {
        let fault = Certificates::load(&pair, &[]).unwrap_err().to_string();
        assert!(fault.starts_with(&format!("cannot use {}: {why}", path(file).display())), "{fault}");
    }
}
