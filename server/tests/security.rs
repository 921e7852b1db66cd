//! What hostile clients try: routes that are not theirs, paths and framing that mean two things, bodies that are bombs,
//! more requests than their share. All of it is refused, and the server is none the worse for it.

mod support;

use std::io::Write;
use std::time::{Duration, Instant};

use apiwright_json::Value;
use bytes::Bytes;
use http::Method;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use support::process::{Client, Server};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
/// What nobody may read who is not the administrator, in base64.
const HIDDEN: &str = "dG9wIHNlY3JldA==";
const JSON: &str = "application/json";

/// Who may do everything, and two who may nothing that they are not given.
const TOKENS: &str =
    "admintoken,admin,admin-uid,system:masters\nevetoken,eve,eve-uid\nadamtoken,adam,adam-uid\n";

/// A server whom these may ask.
fn start(home: &TempDir, arguments: &[&str]) -> Server {
    std::fs::write(home.path().join("tokens.csv"), TOKENS).expect("a file");
    let arguments: Vec<&str> = ["--storage=memory"].iter().chain(arguments).copied().collect();
    Server::start(home.path(), &arguments)
}

/// The answer to somebody, or nobody.
async fn send_as(
    client: &Client,
    token: Option<&str>,
    method: Method,
    path: &str,
    body: impl AsRef<[u8]>,
    kind: &str,
) -> hyper::Result<(u16, String)> {
    let bearer = format!("Bearer {}", token.unwrap_or_default());
    let headers = [("content-type", kind), ("authorization", &bearer)];
    let client = client.with(if token.is_some() { &headers } else { &headers[..1] });
    let response = client.send(method, path, body).await?;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((code, String::from_utf8_lossy(&body).into_owned()))
}

fn decode(text: &str) -> Value {
    apiwright_json::decode(text.as_bytes()).expect("JSON").0
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

async fn get(client: &Client, path: &str) -> Value {
    let (code, text) = client.call(Method::GET, path, "").await.expect("an answer");
    assert_eq!(code, 200, "{path}: {text}");
    decode(&text)
}

/// Every method at every address that discovery tells of.
async fn routes(client: &Client) -> Vec<(Method, String)> {
    let mut versions = vec!["/api/v1".to_owned()];
    for group in list(&get(client, "/apis").await, "groups") {
        let of = list(group, "versions").iter();
        versions.extend(of.map(|version| format!("/apis/{}", version.text_at(&["groupVersion"]))));
    }
    let mut routes = Vec::new();
    for version in versions {
        for resource in list(&get(client, &version).await, "resources") {
            let (plural, subresource) =
                resource.text_at(&["name"]).split_once('/').unwrap_or((resource.text_at(&["name"]), ""));
            let namespaced = resource.get("namespaced").and_then(Value::as_bool) == Some(true);
            let namespace = if namespaced { "/namespaces/default" } else { "" };
            let all = format!("{version}{namespace}/{plural}");
            let mut one = format!("{all}/x");
            if !subresource.is_empty() {
                one = format!("{one}/{subresource}");
            }
            for verb in list(resource, "verbs").iter().filter_map(Value::as_str) {
                routes.push(match verb {
                    "get" => (Method::GET, one.clone()),
                    "list" => (Method::GET, all.clone()),
                    "watch" => (Method::GET, format!("{all}?watch=1&timeoutSeconds=1")),
                    "create" if subresource.is_empty() => (Method::POST, all.clone()),
                    "create" => (Method::POST, one.clone()),
                    "update" => (Method::PUT, one.clone()),
                    "patch" => (Method::PATCH, one.clone()),
                    "delete" => (Method::DELETE, one.clone()),
                    "deletecollection" => (Method::DELETE, all.clone()),
                    verb => panic!("{verb} of {all}"),
                });
            }
        }
    }
    routes
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_asks_who_and_whether() {
    let home = TempDir::new().expect("a folder");
    let server = start(&home, &["--runtime-config=api/all=true"]);
    let client = server.client().await;
    let routes = routes(&client).await;
    assert!(routes.len() > 700, "{}", routes.len());
    let pages = get(&client, "/").await;
    let pages =
        list(&pages, "paths").iter().filter_map(Value::as_str).map(|path| (Method::GET, path.to_owned()));
    // Over HTTP/1.1 nobody keeps a connection, too.
    let stream = TokioIo::new(server.raw(b"http/1.1").await);
    let (mut asking, connection) = hyper::client::conn::http1::handshake(stream).await.expect("a connection");
    tokio::spawn(connection);
    for (at, (method, path)) in routes.into_iter().chain(pages).enumerate() {
        // Whoever may not ask does not get as far as having a body read.
        for token in [None, Some("evetoken"), Some("notoken")] {
            // Documents are long to make, and everybody's who is somebody.
            if token == Some("evetoken") && path.starts_with("/openapi/") {
                continue;
            }
            // Each is a line in the log, which nobody reads here.
            if token == Some("notoken") && at % 10 > 0 {
                continue;
            }
            let mut request = http::Request::builder()
                .method(method.clone())
                .uri(&path)
                .header("host", "127.0.0.1")
                .header("content-type", JSON)
                .body(Full::new(Bytes::from_static(b"{")))
                .expect("a request");
            if let Some(token) = token {
                let bearer = format!("Bearer {token}").parse().expect("a header's value");
                request.headers_mut().insert("authorization", bearer);
            }
            let ask = async {
                asking.ready().await.expect("the connection stays");
                let answer = asking.send_request(request).await.expect("an answer");
                let code = answer.status().as_u16();
                answer.into_body().collect().await.expect("a body");
                code
            };
            let code = tokio::time::timeout(Duration::from_secs(20), ask).await;
            let code = code.unwrap_or_else(|_| panic!("{method} {path} by {token:?} takes for ever"));
            let public = ["/healthz", "/livez", "/readyz", "/version"].contains(&&*path);
            let discovery = method == Method::GET
                && (["/api", "/apis", "/openapi/v2", "/openapi/v3"].contains(&&*path)
                    || path.starts_with("/openapi/")
                    || (path.starts_with("/api")
                        && path.split('/').count() <= 4
                        && !path.contains("resources/")));
            let about_oneself = [
                "selfsubjectaccessreviews",
                "selfsubjectrulesreviews",
                "selfsubjectreviews",
                "clustertrustbundles",
            ]
            .iter()
            .any(|plural| path.split('?').next().unwrap_or_default().split('/').any(|part| part == *plural));
            let expected: &[u16] = match token {
                Some("notoken") => &[401],
                _ if public => &[200],
                None => &[403],
                Some(_) if discovery => &[200, 403],
                Some(_) if about_oneself => &[400, 403, 200, 404],
                Some(_) => &[403],
            };
            assert!(expected.contains(&code), "{method} {path} by {token:?}: {code}");
        }
    }
}

async fn with_secret(server: &Server) -> Client {
    let client = server.client().await;
    let secret = format!(r#"{{"metadata":{{"name":"a"}},"data":{{"a":"{HIDDEN}"}}}}"#);
    assert_eq!(client.call(Method::POST, SECRETS, &secret).await.expect("an answer").0, 201);
    client
}

/// Sends bytes over HTTP/1.1; gives everything that comes until the server closes or falls silent.
async fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = server.raw(b"http/1.1").await;
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let mut piece = vec![0; 65536];
    while let Ok(Ok(count @ 1..)) =
        tokio::time::timeout(Duration::from_millis(700), stream.read(&mut piece)).await
    {
        answer.extend_from_slice(&piece[..count]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_mean_one_thing() {
    let home = TempDir::new().expect("a folder");
    let server = start(&home, &[]);
    with_secret(&server).await;
    for path in [
        "//api/v1/namespaces/default/secrets",
        "/api//v1/namespaces/default/secrets",
        "/api/v1/namespaces/default//secrets",
        "/healthz/../api/v1/namespaces/default/secrets",
        "/healthz/%2e%2e/api/v1/namespaces/default/secrets",
        "/healthz%2f..%2fapi/v1/namespaces/default/secrets",
        "/version/../api/v1/secrets",
        "/readyz/..;/api/v1/secrets",
        "/openapi/v2/../../api/v1/secrets",
        "/apis/../api/v1/secrets",
        "/./api/v1/secrets",
        "/api/v1/namespaces/default%2fsecrets",
        "/api/v1/namespaces/default/secrets%2fa",
        "/api/v1/namespaces/default/secrets/a%00",
        "/api/v1/namespaces/..%2fdefault/secrets/a",
        "/api/v1/secrets/",
        "/api/v1/secrets?x=/healthz",
        "/API/v1/secrets",
        "/api/v1/watch/secrets",
        "/api/v1/proxy/secrets",
        "https://127.0.0.1/api/v1/secrets",
        "http://127.0.0.1/healthz/../api/v1/secrets",
        "/%",
        "*",
    ] {
        for token in ["evetoken", "adamtoken"] {
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
            );
            let answer = raw(&server, request.as_bytes()).await;
            let code = answer.get(9..12).unwrap_or("closed").to_owned();
            assert!(["400", "403", "404", "closed"].contains(&&*code), "{path}: {answer}");
            assert!(!answer.contains(HIDDEN), "{path}: {answer}");
        }
    }
    assert_eq!(server.text("/readyz").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_ends_where_it_ends() {
    let home = TempDir::new().expect("a folder");
    let server = start(&home, &[]);
    with_secret(&server).await;
    let hidden = format!("GET {SECRETS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admintoken\r\n\r\n");
    let length = hidden.len();
    let chunked = "5\r\nhello\r\n0\r\n\r\n";
    // How many answers there may be to a request of nobody with another inside of what one reading takes for its body.
    for (name, headers, body, most) in [
        (
            "both lengths",
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n".to_owned(),
            chunked.to_owned(),
            1,
        ),
        ("two lengths", format!("Content-Length: 0\r\nContent-Length: {length}\r\n"), hidden.clone(), 1),
        ("a list of lengths", format!("Content-Length: 0, {length}\r\n"), hidden.clone(), 1),
        ("a signed length", format!("Content-Length: +{length}\r\n"), hidden.clone(), 1),
        ("a negative length", "Content-Length: -1\r\n".to_owned(), hidden.clone(), 1),
        ("a hexadecimal length", "Content-Length: 0x0\r\n".to_owned(), hidden.clone(), 1),
        ("an unknown coding", "Transfer-Encoding: xchunked\r\n".to_owned(), hidden.clone(), 1),
        ("a coding before", "Transfer-Encoding: chunked, identity\r\n".to_owned(), hidden.clone(), 1),
        ("a space before the colon", "Transfer-Encoding : chunked\r\n".to_owned(), hidden.clone(), 1),
        (
            "a folded line",
            format!("X: y\r\n Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
            "0\r\n\r\n".to_owned(),
            1,
        ),
        (
            "a chunk that overflows",
            "Transfer-Encoding: chunked\r\n".to_owned(),
            format!("fffffffffffffffff\r\n{hidden}"),
            1,
        ),
        ("a chunk of no length", "Transfer-Encoding: chunked\r\n".to_owned(), format!("x\r\n{hidden}"), 1),
        ("a zero byte", "X: a\0b\r\n".to_owned(), String::new(), 1),
    ] {
        let request = format!("POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\n{headers}\r\n{body}");
        let answer = raw(&server, request.as_bytes()).await;
        let answers = answer.matches("HTTP/1.1 ").count();
        assert!(answers <= most && !answer.contains(HIDDEN), "{name}: {answer}");
        assert!(answer.is_empty() || ["400", "403", "501"].contains(&&answer[9..12]), "{name}: {answer}");
    }
    assert_eq!(server.text("/readyz").await.0, 200);
}

/// One frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Header fields as they are, in HPACK without tables.
fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0);
        for text in [name, value] {
            assert!(text.len() < 127);
            out.push(text.len() as u8);
            out.extend_from_slice(text.as_bytes());
        }
    }
    out
}

/// Sends one request over HTTP/2; gives the first byte of the answer's header block, 0x88 for a 200, or none where the
/// stream or the connection is ended instead.
async fn raw_http2(server: &Server, block: &[u8]) -> Option<u8> {
    let mut stream = server.raw(b"h2").await;
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, &[]));
    bytes.extend(frame(1, 0x5, 1, block));
    stream.write_all(&bytes).await.expect("it is sent");
    loop {
        let mut head = [0; 9];
        let read = tokio::time::timeout(Duration::from_secs(5), stream.read_exact(&mut head)).await;
        read.expect("an answer in time").ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).await.ok()?;
        match head[3] {
            1 => return payload.first().copied(),
            3 | 7 => return None,
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_is_what_it_says() {
    let home = TempDir::new().expect("a folder");
    let server = start(&home, &[]);
    let (method, path) = ((":method", "GET"), (":path", SECRETS));
    let (scheme, authority) = ((":scheme", "https"), (":authority", "x"));
    let token = ("authorization", "Bearer admintoken");
    assert_eq!(raw_http2(&server, &fields(&[method, scheme, path, authority, token])).await, Some(0x88));
    for (name, bad) in [
        (
            "a header of connections",
            vec![method, scheme, path, authority, token, ("connection", "keep-alive")],
        ),
        ("a coding", vec![method, scheme, path, authority, token, ("transfer-encoding", "chunked")]),
        ("an upgrade", vec![method, scheme, path, authority, token, ("upgrade", "websocket")]),
        ("trailers of another kind", vec![method, scheme, path, authority, token, ("te", "gzip")]),
        ("two paths", vec![method, scheme, path, (":path", "/healthz"), authority, token]),
        ("no path", vec![method, scheme, authority, token]),
        ("an empty path", vec![method, scheme, (":path", ""), authority, token]),
        ("a path without a slash", vec![method, scheme, (":path", "api/v1/secrets"), authority, token]),
        (
            "a line break in a path",
            vec![method, scheme, (":path", "/api/v1/secrets\r\nX: y"), authority, token],
        ),
        ("a line break in a value", vec![method, scheme, path, authority, token, ("x", "y\r\nz: w")]),
        ("a name in capitals", vec![method, scheme, path, authority, token, ("X-A", "b")]),
        ("a pseudo-header behind", vec![method, scheme, authority, token, path]),
        (
            "a pseudo-header that there is not",
            vec![method, scheme, path, authority, token, (":user", "admin")],
        ),
        ("two methods", vec![method, (":method", "DELETE"), scheme, path, authority, token]),
        ("a length that is none", vec![method, scheme, path, authority, token, ("content-length", "x")]),
        ("a length of nothing", vec![method, scheme, path, authority, token, ("content-length", "5")]),
        ("a status", vec![method, scheme, path, authority, token, (":status", "200")]),
    ] {
        let answer = raw_http2(&server, &fields(&bad)).await;
        assert_ne!(answer, Some(0x88), "{name}");
    }
    assert_eq!(server.text("/readyz").await.0, 200);
}

fn rss_kib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_no_bombs() {
    const YAML: &str = "application/yaml";
    const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
    let home = TempDir::new().expect("a folder");
    let server = start(&home, &[]);
    let maps = "/api/v1/namespaces/default/configmaps";
    let before = rss_kib(&server);

    let nested = |open: &str, close: &str, depth: usize| open.repeat(depth) + &close.repeat(depth);
    let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let last = format!("*a{}", level - 1);
        laughs.push_str(&format!("a{level}: &a{level} [{}]\n", [&*last; 10].join(",")));
    }
    laughs.push_str("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..4 {
        gzip.write_all(&vec![b' '; 1 << 20]).expect("memory");
    }
    let bomb = gzip.finish().expect("memory");
    // An envelope whose object nests, or says that it is longer than everything.
    let mut deep = Vec::new();
    for _ in 0..20_000 {
        let length = deep.len();
        let mut field = vec![0x0a];
        let mut left = length;
        loop {
            field.push((left & 0x7f) as u8 | if left > 0x7f { 0x80 } else { 0 });
            left >>= 7;
            if left == 0 {
                break;
            }
        }
        field.extend_from_slice(&deep);
        deep = field;
        if deep.len() > 60_000 {
            break;
        }
    }
    let envelope = |rest: &[u8]| [b"k8s\0".as_slice(), rest].concat();
    let many = format!("[{}]", vec![r#"{"op":"add","path":"/data/a","value":"b"}"#; 10_001].join(","));
    let map = |data: &str| format!(r#"{{"metadata":{{"name":"a"}},"data":{data}}}"#);
    for (name, kind, body, codes) in [
        ("long", JSON, map(&format!(r#"{{"a":"{}"}}"#, "x".repeat(4 << 20))).into_bytes(), &[413][..]),
        ("deep arrays", JSON, map(&nested("[", "]", 9_000)).into_bytes(), &[400]),
        ("deeper arrays", JSON, map(&nested("[", "]", 1_000_000)).into_bytes(), &[400]),
        ("deep objects", JSON, map(&nested(r#"{"a":"#, "}", 300_000)).into_bytes(), &[400]),
        ("deep YAML", YAML, nested("[", "]", 200_000).into_bytes(), &[400]),
        (
            "deep blocks",
            YAML,
            (0..3_000).map(|at| " ".repeat(at % 900) + "a:\n").collect::<String>().into_bytes(),
            &[400, 422],
        ),
        ("laughs", YAML, laughs.into_bytes(), &[400]),
        ("gzip", JSON, bomb.clone(), &[400]),
        ("gzip as YAML", YAML, bomb, &[400]),
        ("no protobuf", PROTOBUF, b"garbage".to_vec(), &[400]),
        ("an endless field", PROTOBUF, envelope(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), &[400]),
        ("deep protobuf", PROTOBUF, envelope(&deep), &[400]),
        ("no such kind", "application/x-www-form-urlencoded", b"a=b".to_vec(), &[415]),
        ("many operations", "application/json-patch+json", many.into_bytes(), &[415]),
    ] {
        let client = server.client().await;
        let begun = Instant::now();
        let (code, text) =
            send_as(&client, Some("admintoken"), Method::POST, maps, body, kind).await.expect(name);
        assert!(codes.contains(&code), "{name}: {code} {}", &text[..text.len().min(500)]);
        assert!(begun.elapsed() < Duration::from_secs(30), "{name}: {:?}", begun.elapsed());
        // What the envelope says of itself is repeated, with signs that are none spelled out.
        assert!(text.len() < 256 << 10, "{name}: {}", text.len());
    }
    for (name, head, codes) in [
        (
            "a long address",
            format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(2 << 20)),
            ["431", "414"],
        ),
        (
            "a long header",
            format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(2 << 20)),
            ["431", "431"],
        ),
        (
            "many headers",
            format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: y\r\n".repeat(10_000)),
            ["431", "431"],
        ),
    ] {
        let answer = raw(&server, head.as_bytes()).await;
        // Whoever goes on sending may lose the answer with the connection.
        assert!(answer.is_empty() || codes.contains(&&answer[9..12]), "{name}: {answer}");
    }
    let grown = rss_kib(&server) - before;
    assert!(grown < 400 << 10, "{grown} KiB more than before");
    assert_eq!(server.text("/readyz").await.0, 200);
    assert_eq!(server.text(&format!("{maps}/a")).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_too_much_waits_and_others_do_not() {
    let home = TempDir::new().expect("a folder");
    let server = start(&home, &["--max-requests-inflight=4", "--max-mutating-requests-inflight=2"]);
    let client = server.client().await;
    let binding = r#"{"metadata":{"name":"all"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"edit"},
        "subjects":[{"kind":"User","name":"eve"},{"kind":"User","name":"adam"}]}"#;
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    assert_eq!(client.call(Method::POST, bindings, binding).await.expect("an answer").0, 201);
    let maps = "/api/v1/namespaces/default/configmaps";
    for at in 0..200 {
        let body = format!(r#"{{"metadata":{{"name":"m{at}"}},"data":{{"a":"{}"}}}}"#, "x".repeat(5_000));
        assert_eq!(client.call(Method::POST, maps, &body).await.expect("an answer").0, 201);
    }
    let begun = Instant::now();
    while send_as(&client, Some("adamtoken"), Method::GET, maps, "", JSON).await.expect("an answer").0 != 200
    {
        assert!(begun.elapsed() < Duration::from_secs(10), "the binding takes no effect");
    }
    let mut floods = Vec::new();
    for _ in 0..8 {
        let flooding = server.client().await;
        for _ in 0..16 {
            let flooding = flooding.clone();
            floods.push(tokio::spawn(async move {
                let mut codes = Vec::new();
                while let Ok((code, _)) =
                    send_as(&flooding, Some("evetoken"), Method::GET, maps, "", JSON).await
                {
                    codes.push(code);
                }
                codes
            }));
        }
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let adam = server.client().await;
    let mut slowest = Duration::ZERO;
    for at in 0..20 {
        let begun = Instant::now();
        let path = format!("{maps}/m{at}");
        let (code, text) =
            send_as(&adam, Some("adamtoken"), Method::GET, &path, "", JSON).await.expect("an answer");
        assert_eq!(code, 200, "{text}");
        slowest = slowest.max(begun.elapsed());
    }
    assert!(slowest < Duration::from_secs(10), "{slowest:?}");
    let (_, metrics) = client.call(Method::GET, "/metrics", "").await.expect("an answer");
    floods.iter().for_each(tokio::task::JoinHandle::abort);
    let dispatched = "apiserver_flowcontrol_dispatched_requests_total{priority_level=\"global-default\"}";
    assert!(metrics.lines().any(|line| line.starts_with(dispatched)), "{metrics}");
    assert_eq!(server.text("/readyz").await.0, 200);
}
