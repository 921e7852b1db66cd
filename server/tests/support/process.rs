//! A server process of the built binary, and an HTTP client for it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::free_port;

/// A server in a folder.
pub struct Server {
    child: Child,
    home: PathBuf,
    pub port: u16,
    /// The first line that it printed.
    pub line: String,
}

/// A connection to it, as its administrator unless it is said otherwise.
#[derive(Clone)]
pub struct Client {
    sender: SendRequest<Full<Bytes>>,
    headers: HeaderMap,
}

/// Who the administrator is.
pub const ADMIN: &str = "admintoken,admin,admin-uid,system:masters\n";

impl Server {
    /// Starts a server in a folder and waits until it says that it is ready.
    pub fn start(home: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apiwright"));
        command.args(arguments);
        Self::spawn(home, command)
    }

    /// The same, by a command that ends up as the server when given more arguments.
    pub fn spawn(home: &Path, mut command: Command) -> Self {
        let port = free_port();
        let tokens = home.join("tokens.csv");
        if !tokens.exists() {
            std::fs::write(&tokens, ADMIN).expect("a file");
        }
        let mut child = command
            .current_dir(home)
            .args(["--secure-port", &port.to_string(), "--token-auth-file", "tokens.csv"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        Self { child, home: home.into(), port, line }
    }

    /// Asks it to stop.
    pub fn signal(&self) {
        let status = Command::new("kill").arg(self.id().to_string()).status().expect("kill runs");
        assert!(status.success());
    }

    /// Ends it as a power cut would.
    pub fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end; gives how it ended and what it complained about.
    pub fn end(mut self) -> (ExitStatus, String) {
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

    /// A connection.
    pub async fn client(&self) -> Client {
        Client::connect(&self.home.join(".apiwright/pki/ca.crt"), self.port).await
    }

    /// A connection on which nothing has been said yet.
    pub async fn raw(&self, protocol: &[u8]) -> TlsStream<TcpStream> {
        shake_hands(&self.home.join(".apiwright/pki/ca.crt"), self.port, protocol).await
    }

    /// The answer to a GET.
    pub async fn get(&self, path: &str) -> Response<Incoming> {
        self.client().await.send(Method::GET, path, "").await.expect("an answer")
    }

    /// The code and the text of the answer to a GET.
    pub async fn text(&self, path: &str) -> (u16, String) {
        self.client().await.call(Method::GET, path, "").await.expect("an answer")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Client {
    /// A connection to a server on this machine whose certificate this authority signed.
    pub async fn connect(authority: &Path, port: u16) -> Self {
        let stream = shake_hands(authority, port, b"h2").await;
        let (sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .expect("HTTP/2");
        tokio::spawn(connection);
        let authorization = [(AUTHORIZATION, HeaderValue::from_static("Bearer admintoken"))];
        Self { sender, headers: authorization.into_iter().collect() }
    }

    /// The same connection, as whomever these headers tell.
    pub fn with(&self, headers: &[(&'static str, &str)]) -> Self {
        let value = |text: &str| HeaderValue::from_str(text).expect("a header's value");
        let all = headers.iter().map(|&(name, text)| (HeaderName::from_static(name), value(text)));
        Self { sender: self.sender.clone(), headers: all.collect() }
    }

    /// The same connection, as whoever has a token.
    pub fn bearing(&self, token: &str) -> Self {
        self.with(&[("authorization", &format!("Bearer {token}"))])
    }

    /// The answer, on its way; an error where the server is gone.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: impl AsRef<[u8]>,
    ) -> hyper::Result<Response<Incoming>> {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let mut request = http::Request::builder()
            .method(method)
            .uri(format!("https://127.0.0.1{path}"))
            .header("content-type", kind)
            .body(Full::new(Bytes::copy_from_slice(body.as_ref())))
            .expect("a request");
        request.headers_mut().extend(self.headers.clone());
        self.sender.clone().send_request(request).await
    }

    /// The answer's code and text; an error where the server is gone before all of it came.
    pub async fn call(&self, method: Method, path: &str, body: &str) -> hyper::Result<(u16, String)> {
        let response = self.send(method, path, body).await?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        Ok((code, String::from_utf8_lossy(&body).into_owned()))
    }
}

/// A connection to a server on this machine whose certificate this authority signed, for one protocol.
async fn shake_hands(authority: &Path, port: u16, protocol: &[u8]) -> TlsStream<TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).expect("a certificate")).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
    // Otherwise the end of a body waits for the other side's delayed acknowledgement.
    stream.set_nodelay(true).expect("an open connection");
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("a handshake")
}
