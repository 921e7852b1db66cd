//! Other protocols through the main server: whoever upgrades, whatever is said, whoever leaves.

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use support::{INSECURE, Main};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsConnector, server};

const BASE: &str = "/apis/up.example/v1";
const PATIENCE: Duration = Duration::from_secs(30);
const BIG: usize = 4 << 20;

/// What the backend saw.
#[derive(Debug, PartialEq)]
enum Seen {
    /// The head of a request.
    Head(String),
    /// The end of what the other side says.
    End,
}

/// Reads up to the empty line; gives what came behind it as well.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> (String, Vec<u8>) {
    let mut read = Vec::new();
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = read.split_off(end + 4);
            return (String::from_utf8(read).expect("text"), rest);
        }
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).await.unwrap_or(0);
        if length == 0 {
            return (String::from_utf8_lossy(&read).into_owned(), Vec::new());
        }
        read.extend_from_slice(&piece[..length]);
    }
}

/// A server that speaks whatever it is asked for, by path.
async fn backend() -> (u16, mpsc::UnboundedReceiver<Seen>) {
    let acceptor = support::acceptor();
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (tell, seen) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, tell) = (acceptor.clone(), tell.clone());
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    answer(stream, tell).await;
                }
            });
        }
    });
    (port, seen)
}

async fn answer(mut stream: server::TlsStream<TcpStream>, tell: mpsc::UnboundedSender<Seen>) {
    let (head, early) = head(&mut stream).await;
    let path = head.split([' ', '?']).nth(1).unwrap_or_default().to_owned();
    let whole = |code: &str, kind: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    };
    let list = r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"up.example/v1","resources":[
        {"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["get"]}]}"#;
    let Some(what) = path.strip_prefix(&format!("{BASE}/widgets/")) else {
        let found = if path == BASE {
            whole("200 OK", "application/json", list)
        } else {
            whole("404 Not Found", "text/plain", "no")
        };
        let _ = stream.write_all(found.as_bytes()).await;
        let _ = stream.shutdown().await;
        return;
    };
    let protocol =
        head.lines().find_map(|line| line.strip_prefix("upgrade: ")).unwrap_or_default().to_owned();
    let _ = tell.send(Seen::Head(head));
    let switching = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\nX-Own: 1\r\n\r\n"
    );
    match what {
        // What comes in one piece with the answer is part of what is said.
        "echo" => {
            let _ = stream.write_all(format!("{switching}hello ").as_bytes()).await;
            let _ = stream.write_all(&early).await;
            let _ = stream.flush().await;
            let (mut from, mut to) = tokio::io::split(stream);
            let _ = tokio::io::copy(&mut from, &mut to).await;
            let _ = tell.send(Seen::End);
        }
        "farewell" => {
            let _ = stream.write_all(switching.as_bytes()).await;
            let _ = stream.write_all(&vec![b'x'; BIG]).await;
            let _ = stream.shutdown().await;
        }
        "refuse" => {
            let _ =
                stream.write_all(whole("403 Forbidden", "text/plain", "no such protocol").as_bytes()).await;
            let _ = stream.shutdown().await;
        }
        "agree" => {
            let _ = stream.write_all(whole("200 OK", "text/plain", "fine").as_bytes()).await;
            let _ = stream.shutdown().await;
        }
        _ => {}
    }
}

/// Asks the main server for a protocol; gives the connection, the answer's head and what came behind it.
async fn ask(
    main: &Main,
    what: &str,
    protocol: &str,
    early: &str,
) -> (TlsStream<TcpStream>, String, Vec<u8>) {
    let mut roots = rustls::RootCertStore::empty();
    let authority = std::fs::read(main.home.path().join("data/pki/ca.crt")).expect("an authority");
    for certificate in CertificateDer::pem_slice_iter(&authority) {
        roots.add(certificate.expect("a certificate")).expect("an authority");
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("protocols")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let stream = TcpStream::connect(("127.0.0.1", main.port)).await.expect("a connection");
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("a handshake");
    let request = format!(
        "GET {BASE}/widgets/{what}?b=2&a=1 HTTP/1.1\r\nHost: main\r\nAuthorization: Bearer admintoken\r\n\
         Connection: Upgrade\r\nUpgrade: {protocol}\r\nSec-WebSocket-Key: abc\r\nX-Remote-User: mallory\r\n\r\n{early}"
    );
    stream.write_all(request.as_bytes()).await.expect("it is sent");
    let (head, rest) = head(&mut stream).await;
    (stream, head, rest)
}

/// What was read, and so much more that it is this long.
async fn exactly(stream: &mut (impl AsyncRead + Unpin), mut read: Vec<u8>, length: usize) -> Vec<u8> {
    let mut rest = vec![0; length - read.len()];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut rest)).await.expect("in time").expect("all of it");
    read.extend(rest);
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn other_protocols_go_both_ways() {
    let main = Main::start(&[]).await;
    let (port, mut seen) = backend().await;
    main.service("up").await;
    main.register(("up.example", "v1"), "up", port, INSECURE).await;
    main.reason("v1.up.example", "Passed").await;
    let mut saw =
        async || tokio::time::timeout(PATIENCE, seen.recv()).await.expect("in time").expect("a backend");

    for protocol in ["websocket", "SPDY/3.1"] {
        let (mut stream, head, rest) = ask(&main, "echo", protocol, "early ").await;
        assert!(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{head}");
        let head = head.to_ascii_lowercase();
        for line in
            ["connection: upgrade", &format!("upgrade: {}", protocol.to_ascii_lowercase()), "x-own: 1"]
        {
            assert!(head.contains(&format!("{line}\r\n")), "{line}: {head}");
        }
        let Seen::Head(asked) = saw().await else { panic!("a request comes first") };
        assert!(asked.starts_with(&format!("GET {BASE}/widgets/echo?a=1&b=2 HTTP/1.1\r\n")), "{asked}");
        let (lower, own) = (asked.to_ascii_lowercase(), format!("host: 127.0.0.1:{port}"));
        for line in ["x-remote-user: admin", "sec-websocket-key: abc", "x-forwarded-for: 127.0.0.1", &own] {
            assert!(lower.contains(&format!("{line}\r\n")), "{line}: {asked}");
        }
        assert!(!lower.contains("authorization") && !lower.contains("mallory"), "{asked}");

        let said = exactly(&mut stream, rest, "hello early ".len()).await;
        assert_eq!(String::from_utf8_lossy(&said), "hello early ");
        // Much, both ways at once.
        let (mut from, mut to) = tokio::io::split(stream);
        let sent: Vec<u8> = (0..BIG).map(|at| u8::try_from(at % 251).expect("a byte")).collect();
        let copy = sent.clone();
        let sending = tokio::spawn(async move {
            to.write_all(&copy).await.expect("it is sent");
            to.flush().await.expect("it is sent");
            to
        });
        assert!(exactly(&mut from, Vec::new(), BIG).await == sent, "what comes back is what was sent");
        // The client leaves, and the backend hears of it.
        drop((from, sending.await.expect("it is sent")));
        assert_eq!(saw().await, Seen::End);
    }

    // The backend leaves, and all that it said arrives.
    let (mut stream, _, mut read) = ask(&main, "farewell", "websocket", "").await;
    saw().await;
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut read)).await.expect("in time").expect("an end");
    assert_eq!(read.len(), BIG);

    let unavailable = "503 Service Unavailable";
    for (what, code, body) in [
        ("refuse", "403 Forbidden", "no such protocol"),
        ("agree", unavailable, "invalid upgrade response: status code 200\n"),
        ("vanish", unavailable, "unexpected EOF\n"),
    ] {
        let (mut stream, head, rest) = ask(&main, what, "websocket", "").await;
        saw().await;
        assert!(head.starts_with(&format!("HTTP/1.1 {code}\r\n")), "{what}: {head}");
        let body_read = exactly(&mut stream, rest, body.len()).await;
        assert_eq!(String::from_utf8_lossy(&body_read), body, "{what}");
    }
}
