//! The life of the process: what it says, how it stops, what it keeps for the next start.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tempfile::TempDir;
use tokio::net::TcpStream;

struct Server {
    child: Child,
    home: PathBuf,
    port: u16,
    /// The first line that it printed.
    line: String,
}

impl Server {
    /// Starts a server in a folder and waits until it says that it is ready.
    fn start(home: &Path, arguments: &[&str]) -> Self {
        let port = free_port();
        let tokens = home.join("tokens.csv");
        std::fs::write(&tokens, "admintoken,admin,admin-uid,system:masters\n").expect("a file");
        let mut child = Command::new(env!("CARGO_BIN_EXE_apiwright"))
            .current_dir(home)
            .args(["--secure-port", &port.to_string(), "--token-auth-file", "tokens.csv"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        Self { child, home: home.into(), port, line }
    }

    fn signal(&self) {
        let status = Command::new("kill").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(status.success());
    }

    /// Waits for the end; gives how it ended and what it complained about.
    fn end(mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + Duration::from_secs(20);
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(Instant::now() < deadline, "the server does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        let mut complaints = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut complaints).expect("text");
        (status, complaints)
    }

    /// The answer to a GET by the administrator.
    async fn get(&self, path: &str) -> http::Response<Incoming> {
        let mut roots = rustls::RootCertStore::empty();
        let authority = self.home.join(".apiwright/pki/ca.crt");
        roots.add(CertificateDer::from_pem_file(authority).expect("a certificate")).expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("a connection");
        let name = ServerName::try_from("127.0.0.1").expect("a name");
        let stream = tokio_rustls::TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .expect("a handshake");
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .expect("HTTP/2");
        tokio::spawn(connection);
        let request = http::Request::get(format!("https://127.0.0.1{path}"))
            .header("authorization", "Bearer admintoken")
            .body(Empty::<Bytes>::new())
            .expect("a request");
        sender.send_request(request).await.expect("an answer")
    }

    async fn text(&self, path: &str) -> (u16, String) {
        let response = self.get(path).await;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        (code, String::from_utf8_lossy(&body).into_owned())
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port")
        .port()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_one_line_and_ends_well() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &[]);
    assert_eq!(server.line, "kubectl --kubeconfig .apiwright/kubeconfig get namespaces\n");
    assert_eq!(server.text("/readyz").await, (200, "ok".into()));
    let watch = server.get("/api/v1/namespaces?watch=1").await;
    assert_eq!(watch.status(), 200);
    server.signal();
    let watched = tokio::time::timeout(Duration::from_secs(10), watch.into_body().collect()).await;
    assert!(watched.expect("the watch ends").is_ok(), "the watch was cut");
    let (status, complaints) = server.end();
    assert!(status.success() && complaints.is_empty(), "{status} {complaints}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_serves_on_while_others_notice_and_goes_at_the_second_signal() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &["--shutdown-delay-duration=60s", "--storage=memory"]);
    server.signal();
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let (code, text) = server.text("/readyz").await;
        if code == 500 {
            assert!(text.contains("[-]shutdown failed: reason withheld"), "{text}");
            break;
        }
        assert!(Instant::now() < deadline, "it stays ready");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.text("/livez").await.0, 200);
    server.signal();
    let (status, _) = server.end();
    assert_eq!(status.code(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_start_finds_everything() {
    let home = TempDir::new().expect("a folder");
    let files = ["pki/ca.crt", "pki/apiserver.crt", "pki/sa.key"];
    let read = || files.map(|file| std::fs::read(home.path().join(".apiwright").join(file)).expect("a file"));
    let uid = async |server: &Server| {
        let (code, text) = server.text("/api/v1/namespaces/default").await;
        assert_eq!(code, 200, "{text}");
        let (_, after) = text.split_once("\"uid\":\"").expect("a uid");
        after.split('"').next().expect("a uid").to_owned()
    };
    let first = Server::start(home.path(), &[]);
    let (kept, its_uid) = (read(), uid(&first).await);
    first.signal();
    assert!(first.end().0.success());
    let second = Server::start(home.path(), &[]);
    assert!(read() == kept, "certificates were made anew");
    assert_eq!(uid(&second).await, its_uid);
    second.signal();
    assert!(second.end().0.success());
}
