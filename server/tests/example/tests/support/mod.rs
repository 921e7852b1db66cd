//! The main server in this process, certificates, and servers that misbehave.

#![allow(dead_code, missing_docs, unreachable_pub)] // each test file uses a part

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use apiwright::config::Config;
use apiwright::flags::{Flags, Outcome};
use apiwright_json::{Value, decode};
use apiwright_remote::{Backend, Trust, Via, empty, full};
use apiwright_transport::KeyPair;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_mins(1);
const ADMIN: &str = "admintoken";

/// The main server, and a client of it.
pub struct Main {
    backend: Backend,
    pub port: u16,
    pub home: TempDir,
}

impl Main {
    /// Starts it and waits until it is ready.
    pub async fn start(more: &[&str]) -> Self {
        let home = TempDir::new().expect("a folder");
        let port = free_port();
        let tokens = home.path().join("tokens.csv");
        std::fs::write(
            &tokens,
            "admintoken,admin,1,system:masters\nalicetoken,alice,2,devs\nbobtoken,bob,3\n",
        )
        .expect("a file");
        let path = |path: PathBuf| path.to_str().expect("a plain name").to_owned();
        let own = [
            "--secure-port".into(),
            port.to_string(),
            "--data-dir".into(),
            path(home.path().join("data")),
            "--storage=memory".into(),
            "--token-auth-file".into(),
            path(tokens),
        ];
        let flags = own.into_iter().chain(more.iter().map(ToString::to_string));
        let Ok(Outcome::Start(flags)) = Flags::read(flags) else { panic!("flags") };
        tokio::spawn(apiwright::run::run(Config::prepare(*flags).expect("a configuration")));
        let backend = Backend::new(Via::Address, None, &Trust::Insecure, None).expect("a client");
        let main = Self { backend, port, home };
        main.until("/readyz", |code, _| code == 200).await;
        main
    }

    /// All that is served, as aggregated discovery tells it.
    pub async fn aggregated(&self) -> Value {
        let mut request = Request::new(empty());
        *request.uri_mut() = format!("https://127.0.0.1:{}/apis", self.port).parse().expect("a path");
        let headers = request.headers_mut();
        headers.insert("authorization", format!("Bearer {ADMIN}").parse().expect("a header"));
        let form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        headers.insert("accept", form.parse().expect("a header"));
        let answer = self.backend.exchange(request, PATIENCE, 64 << 20).await.expect("an answer");
        value(answer.body())
    }

    pub async fn ask(&self, token: &str, method: Method, path: &str, body: &str) -> (u16, Bytes) {
        let mut request = Request::new(if body.is_empty() { empty() } else { full(body.to_owned()) });
        *request.method_mut() = method.clone();
        *request.uri_mut() = format!("https://127.0.0.1:{}{path}", self.port).parse().expect("a path");
        let headers = request.headers_mut();
        headers.insert("authorization", format!("Bearer {token}").parse().expect("a header"));
        if !body.is_empty() {
            let kind =
                if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
            headers.insert("content-type", kind.parse().expect("a header"));
        }
        match self.backend.exchange(request, PATIENCE, 64 << 20).await {
            Ok(response) => (response.status().as_u16(), response.into_body()),
            Err(why) => (0, why.to_string().into()),
        }
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        let (code, body) = self.ask(ADMIN, Method::GET, path, "").await;
        (code, value(&body))
    }

    /// A request that must succeed, as the administrator.
    pub async fn must(&self, method: Method, path: &str, body: &str) -> Value {
        let (code, answer) = self.ask(ADMIN, method, path, body).await;
        assert!((200..300).contains(&code), "{path}: {code} {}", String::from_utf8_lossy(&answer));
        value(&answer)
    }

    /// Asks until the answer is as it should be.
    pub async fn until(&self, path: &str, wanted: impl Fn(u16, &Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (code, answer) = self.get(path).await;
            if wanted(code, &answer) {
                return answer;
            }
            assert!(Instant::now() < deadline, "{path} stays {code} {answer:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// A Service that stands for a port of this machine.
    pub async fn service(&self, name: &str) {
        let body = format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"type":"ExternalName","externalName":"127.0.0.1"}}}}"#
        );
        self.must(Method::POST, "/api/v1/namespaces/default/services", &body).await;
    }

    /// An APIService for a version of a group, served by a Service at a port.
    pub async fn register(&self, (group, version): (&str, &str), service: &str, port: u16, trust: &str) {
        let body = format!(
            r#"{{"metadata":{{"name":"{version}.{group}"}},"spec":{{"group":"{group}","version":"{version}",
            "groupPriorityMinimum":1000,"versionPriority":15,{trust},
            "service":{{"namespace":"default","name":"{service}","port":{port}}}}}}}"#
        );
        self.must(Method::POST, API_SERVICES, &body).await;
    }

    /// Waits for a reason of the condition Available.
    pub async fn reason(&self, name: &str, reason: &str) -> Value {
        let found = |value: &Value| condition(value).text_at(&["reason"]) == reason;
        self.until(&format!("{API_SERVICES}/{name}"), |_, value| found(value)).await
    }
}

pub const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
pub const INSECURE: &str = r#""insecureSkipTLSVerify":true"#;

/// The only condition of an APIService.
pub fn condition(service: &Value) -> Value {
    let conditions = service.at(&["status", "conditions"]).and_then(Value::as_array);
    conditions.and_then(|all| all.first().cloned()).unwrap_or_default()
}

pub fn value(body: &[u8]) -> Value {
    decode(body).map_or_else(|_| String::from_utf8_lossy(body).into_owned().into(), |(value, _)| value)
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A certificate of an authority of its own, in files; and the authority, PEM.
pub fn certificate(home: &TempDir, names: &[&str]) -> (KeyPair, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().expect("a key");
    let authority = params.self_signed(&key).expect("an authority").pem();
    let issuer = Issuer::new(params, key);
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate =
        CertificateParams::new(names).expect("names").signed_by(&key, &issuer).expect("a certificate");
    let write = |name: &str, text: String| {
        let path = home.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let pair = KeyPair {
        certificate: write("backend.crt", certificate.pem()),
        key: write("backend.key", key.serialize_pem()),
        names: Vec::new(),
    };
    (pair, authority)
}

/// What backends do TLS with: a certificate that nobody signed, of its own.
pub fn acceptor() -> TlsAcceptor {
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec!["x".to_owned()])
        .expect("names")
        .self_signed(&key)
        .expect("a certificate");
    let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("protocols")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .expect("a configuration");
    TlsAcceptor::from(Arc::new(config))
}

/// What a server that misbehaves answers to a path; nothing hangs up.
pub type Manner = Arc<dyn Fn(&str) -> Option<(u16, &'static str, String)> + Send + Sync>;

/// Starts a server with manners at a port (0 for any); it ends with the task.
pub async fn misbehave(port: u16, delay: Duration, manner: Manner) -> (u16, tokio::task::JoinHandle<()>) {
    let acceptor = acceptor();
    let listener =
        tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let task = tokio::spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, manner) = (acceptor.clone(), Arc::clone(&manner));
            connections.spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let answer = service_fn(move |request: Request<Incoming>| {
                    let answer = manner(request.uri().path());
                    async move {
                        tokio::time::sleep(delay).await;
                        let Some((code, kind, body)) = answer else {
                            return Err(std::io::Error::other("hung up"));
                        };
                        let mut response = Response::new(Full::new(Bytes::from(body)));
                        *response.status_mut() = StatusCode::from_u16(code).expect("a code");
                        response.headers_mut().insert("content-type", kind.parse().expect("a header"));
                        Ok(response)
                    }
                });
                let http = hyper::server::conn::http1::Builder::new();
                let _ = http.serve_connection(TokioIo::new(stream), answer).await;
            });
        }
    });
    (port, task)
}
