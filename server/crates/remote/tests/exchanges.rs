//! Exchanges with servers that answer, misbehave, or are somebody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use apiwright_remote::{Backends, Host, Resolver, ServiceReference, Target, Trust, empty, full};
use futures::future::BoxFuture;
use http::{Method, Request};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use time::OffsetDateTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A certificate authority of our own.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: Vec<u8>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem().into_bytes();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A server's configuration, with a certificate for these names until `days` from now.
    fn sign(&self, names: &[&str], days: i64) -> Arc<ServerConfig> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = OffsetDateTime::now_utc() - time::Duration::days(10);
        params.not_after = OffsetDateTime::now_utc() + time::Duration::days(days);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        serving(certificate.der().clone(), &key)
    }
}

/// A certificate of its own, signed by nobody else, and its PEM.
fn self_signed(names: &[&str]) -> (Arc<ServerConfig>, Vec<u8>) {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    (serving(certificate.der().clone(), &key), certificate.pem().into_bytes())
}

fn serving(certificate: CertificateDer<'static>, key: &KeyPair) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    Arc::new(config)
}

/// What a server does with each request.
#[derive(Clone, Copy)]
enum Manner {
    Answer,
    /// Answers, then closes as if the connection had been idle for too long.
    AnswerOnce,
    HangUp,
    Sleep,
    Half,
    PlainHttp,
    Upgrade,
}

/// Starts a server; gives its port and how many connections it has had.
async fn serve(config: Arc<ServerConfig>, manner: Manner) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let acceptor = TlsAcceptor::from(Arc::clone(&config));
            tokio::spawn(async move {
                if matches!(manner, Manner::PlainHttp) {
                    let _ = stream.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n").await;
                    return;
                }
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut buffer = vec![0; 4096];
                while let Ok(1..) = stream.read(&mut buffer).await {
                    let answer: &[u8] = match manner {
                        Manner::Answer | Manner::AnswerOnce => b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
                        Manner::Half => b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
                        Manner::Upgrade => {
                            b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\nhello"
                        }
                        Manner::Sleep => std::future::pending().await,
                        _ => return,
                    };
                    let _ = stream.write_all(answer).await;
                    match manner {
                        Manner::AnswerOnce | Manner::Half => {
                            let _ = stream.shutdown().await;
                            return;
                        }
                        _ => {}
                    }
                }
            });
        }
    });
    (port, connections)
}

/// Knows one service.
struct One(u16);

impl Resolver for One {
    fn resolve<'a>(&'a self, service: &'a ServiceReference) -> BoxFuture<'a, Result<Host, String>> {
        Box::pin(async move {
            match service.name.as_str() {
                "backend" => Ok(Host { name: "127.0.0.1".into(), port: self.0 }),
                other => Err(format!("service {other:?} not found")),
            }
        })
    }
}

fn service(name: &str) -> Target {
    Target::Service(ServiceReference { namespace: "default".into(), name: name.into(), port: 443 })
}

async fn call(backends: &Backends, target: &Target, trust: &Trust) -> Result<String, String> {
    let backend = backends.get(target, trust).map_err(|error| error.to_string())?;
    let request = Request::post(format!("https://{}/x", target.authority())).body(full("{}")).unwrap();
    let (method, uri) = (request.method().clone(), request.uri().clone());
    match backend.exchange(request, Duration::from_millis(500), 100).await {
        Ok(response) => {
            Ok(format!("{} {}", response.status().as_u16(), String::from_utf8_lossy(response.body())))
        }
        Err(error) => Err(error.of_request(&method, &uri)),
    }
}

/// What, how the server is and behaves, whom we trust, what comes of it.
type Case<'a> = (&'a str, Arc<ServerConfig>, Manner, Trust, Result<&'a str, String>);

#[tokio::test]
async fn failures_read_as_gos() {
    let authority = Authority::new();
    let other = Authority::new();
    let names = ["backend.default.svc"];
    let good = || authority.sign(&names, 1);
    let (own, own_pem) = self_signed(&names);
    let bundle = |authority: &Authority| Trust::Bundle(authority.pem.clone());
    let ok = || Ok("200 ok");
    let verify = "tls: failed to verify certificate: x509: ";
    let cases: Vec<Case<'_>> = vec![
        ("trusted", good(), Manner::Answer, bundle(&authority), ok()),
        ("trusted itself", own, Manner::Answer, Trust::Bundle(own_pem), ok()),
        ("insecure", other.sign(&["other"], -1), Manner::Answer, Trust::Insecure, ok()),
        (
            "unknown authority",
            good(),
            Manner::Answer,
            bundle(&other),
            Err(format!("{verify}certificate signed by unknown authority")),
        ),
        (
            "unknown to the system",
            good(),
            Manner::Answer,
            Trust::System,
            Err(format!("{verify}certificate signed by unknown authority")),
        ),
        (
            "other names",
            authority.sign(&["a.example", "b.example"], 1),
            Manner::Answer,
            bundle(&authority),
            Err(format!("{verify}certificate is valid for a.example, b.example, not backend.default.svc")),
        ),
        (
            "no names",
            authority.sign(&[], 1),
            Manner::Answer,
            bundle(&authority),
            Err(format!(
                "{verify}certificate is not valid for any names, but wanted to match backend.default.svc"
            )),
        ),
        ("hang up", good(), Manner::HangUp, bundle(&authority), Err("EOF".into())),
        ("half an answer", good(), Manner::Half, bundle(&authority), Err("unexpected EOF".into())),
        ("too slow", good(), Manner::Sleep, bundle(&authority), Err("context deadline exceeded".into())),
        (
            "plain",
            good(),
            Manner::PlainHttp,
            bundle(&authority),
            Err("http: server gave HTTP response to HTTPS client".into()),
        ),
    ];
    for (what, config, manner, trust, expected) in cases {
        let (port, _) = serve(config, manner).await;
        let backends = Backends::new(Arc::new(One(port)), None);
        let found = call(&backends, &service("backend"), &trust).await;
        let expected = expected
            .map(ToOwned::to_owned)
            .map_err(|why| format!("Post \"https://backend.default.svc:443/x\": {why}"));
        assert_eq!(found, expected, "{what}");
    }
    let expired = serve(authority.sign(&names, -1), Manner::Answer).await.0;
    let backends = Backends::new(Arc::new(One(expired)), None);
    let why = call(&backends, &service("backend"), &bundle(&authority)).await.unwrap_err();
    assert!(why.contains("x509: certificate has expired or is not yet valid: current time "), "{why}");
    let why = call(&backends, &service("absent"), &Trust::System).await.unwrap_err();
    assert_eq!(why, "Post \"https://absent.default.svc:443/x\": service \"absent\" not found");
    let refused = Target::Host(Host { name: "127.0.0.1".into(), port: 1 });
    let why = call(&backends, &refused, &Trust::Insecure).await.unwrap_err();
    assert_eq!(why, "Post \"https://127.0.0.1:1/x\": dial tcp 127.0.0.1:1: connect: connection refused");
    for pem in [&b"no PEM"[..], b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----"] {
        let why = call(&backends, &refused, &Trust::Bundle(pem.into())).await.unwrap_err();
        assert_eq!(why, "unable to load root certificates: unable to parse bytes as PEM block");
    }
}

#[tokio::test]
async fn connections_are_kept_and_replaced() {
    for (manner, connections_max) in [(Manner::Answer, 1), (Manner::AnswerOnce, 10)] {
        let (config, _) = self_signed(&["backend.default.svc"]);
        let (port, connections) = serve(config, manner).await;
        let backends = Backends::new(Arc::new(One(port)), None);
        for _ in 0..5 {
            let backend = backends.get(&service("backend"), &Trust::Insecure).unwrap();
            let request = Request::get("https://backend.default.svc:443/").body(empty()).unwrap();
            let response = backend.exchange(request, Duration::from_secs(1), 100).await.unwrap();
            assert_eq!(response.status(), 200);
        }
        let found = connections.load(Ordering::SeqCst);
        assert!((1..=connections_max).contains(&found), "{found} connections");
    }
}

#[tokio::test]
async fn an_upgrade_gives_the_connection() {
    let (config, _) = self_signed(&["backend.default.svc"]);
    let (port, _) = serve(config, Manner::Upgrade).await;
    let backends = Backends::new(Arc::new(One(port)), None);
    let backend = backends.get(&service("backend"), &Trust::Insecure).unwrap();
    let request = Request::builder()
        .method(Method::GET)
        .uri("https://backend.default.svc:443/")
        .header("connection", "upgrade")
        .header("upgrade", "echo")
        .body(empty())
        .unwrap();
    let response = backend.upgrade(request).await.unwrap();
    assert_eq!(response.status(), 101);
    let upgraded = hyper::upgrade::on(response).await.unwrap();
    let mut stream = hyper_util::rt::TokioIo::new(upgraded);
    let mut buffer = [0; 5];
    stream.read_exact(&mut buffer).await.unwrap();
    assert_eq!(&buffer, b"hello");
}
