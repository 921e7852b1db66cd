//! A request as it is passed on: its address, and the headers that tell who asks by what way.
//!
//! Upstream: `net/http/httputil.ReverseProxy`, `k8s.io/client-go/transport.NewAuthProxyRoundTripper`,
//! `k8s.io/apimachinery/pkg/util/proxy`.

use std::net::SocketAddr;

use apiwright_chain::{Query, Request, User};
use apiwright_remote::Host;
use http::header::{CONNECTION, HOST, TE, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

const REMOTE_USER: HeaderName = HeaderName::from_static("x-remote-user");
const REMOTE_UID: HeaderName = HeaderName::from_static("x-remote-uid");
const REMOTE_GROUP: HeaderName = HeaderName::from_static("x-remote-group");
const REMOTE_EXTRA: &str = "x-remote-extra-";
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");
const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// What concerns one connection only.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "proxy-connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The address of a request at a backend: the same path, the same parameters in order of their names.
pub(crate) fn address(host: &Host, request: &Request) -> Option<Uri> {
    let mut path = escape(&request.info.path, is_plain_in_paths, false);
    let query = request.query();
    if !query.is_empty() {
        path.push('?');
        path.push_str(&sorted(query));
    }
    Uri::builder().scheme("https").authority(host.to_string()).path_and_query(path).build().ok()
}

/// The headers of a request that is passed on.
pub(crate) fn headers(request: &Request, address: &Uri) -> HeaderMap {
    let mut headers = request.head.headers.clone();
    let trailers = headers.get(TE).is_some_and(|value| value.as_bytes() == b"trailers");
    without_hops(&mut headers);
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    tell_way(&mut headers, request);
    tell_user(&mut headers, &request.user);
    put(&mut headers, FORWARDED_URI, address.path());
    put(&mut headers, FORWARDED_HOST, address.authority().map_or("", http::uri::Authority::as_str));
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static("https"));
    headers
}

/// The headers of a request that asks for another protocol: what concerns the connection goes on, too.
pub(crate) fn upgrade_headers(request: &Request) -> HeaderMap {
    let mut headers = request.head.headers.clone();
    headers.remove(HOST);
    tell_way(&mut headers, request);
    tell_user(&mut headers, &request.user);
    headers
}

/// Whether a request asks for another protocol on its connection.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(UPGRADE)
        && headers
            .get_all(CONNECTION)
            .iter()
            .any(|value| value.to_str().is_ok_and(|text| text.to_ascii_lowercase().contains("upgrade")))
}

/// Names the user as front proxies do.
pub(crate) fn tell_user(headers: &mut HeaderMap, user: &User) {
    let extras: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(REMOTE_EXTRA)).cloned().collect();
    for name in extras.iter().chain(&[REMOTE_USER, REMOTE_UID, REMOTE_GROUP]) {
        headers.remove(name);
    }
    put(headers, REMOTE_USER, &user.name);
    if !user.uid.is_empty() {
        put(headers, REMOTE_UID, &user.uid);
    }
    for group in &user.groups {
        add(headers, &REMOTE_GROUP, group);
    }
    for (key, values) in &user.extra {
        let key = escape(key, is_plain_in_header_names, false);
        if let Ok(name) = HeaderName::try_from(format!("{REMOTE_EXTRA}{key}")) {
            for value in values {
                add(headers, &name, value);
            }
        }
    }
}

/// Takes out what concerns one connection only.
pub(crate) fn without_hops(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
    headers.remove(HOST);
}

fn tell_way(headers: &mut HeaderMap, request: &Request) {
    put(headers, AUDIT_ID, &request.audit_id);
    let Some(remote) = request.remote.as_ref().map(SocketAddr::ip) else { return };
    let before: Vec<&str> =
        headers.get_all(&FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok()).collect();
    let way = before.into_iter().map(ToOwned::to_owned).chain([remote.to_string()]);
    let way = way.collect::<Vec<_>>().join(", ");
    put(headers, FORWARDED_FOR, &way);
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
        headers.insert(name, value);
    }
}

fn add(headers: &mut HeaderMap, name: &HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
        headers.append(name.clone(), value);
    }
}

/// The parameters in order of their names, as Go's `url.Values.Encode` writes them.
fn sorted(query: &str) -> String {
    let query = Query::parse(query);
    let mut pairs: Vec<(&str, &str)> = query.iter().collect();
    pairs.sort_by_key(|(name, _)| *name);
    let encode = |text| escape(text, is_unreserved, true);
    let pairs = pairs.into_iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn escape(text: &str, is_plain: fn(u8) -> bool, plus_for_space: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' if plus_for_space => out.push('+'),
            byte if is_plain(byte) => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~')
}

fn is_plain_in_paths(byte: u8) -> bool {
    is_unreserved(byte) || matches!(byte, b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'@')
}

/// The signs of a token, but for the percent sign that marks the others.
fn is_plain_in_header_names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apiwright_chain::RequestInfo;
    use apiwright_chain::request::RequestBody;

    use super::*;

    fn request(uri: &str, given: &[(&str, &str)]) -> Request {
        let mut builder = http::Request::builder().uri(uri);
        for (name, value) in given {
            builder = builder.header(*name, *value);
        }
        let (head, ()) = builder.body(()).unwrap().into_parts();
        let query = head.uri.query().unwrap_or_default().to_owned();
        Request {
            info: RequestInfo::parse(&head.method, head.uri.path(), &query).unwrap(),
            head,
            body: RequestBody::Full(bytes::Bytes::new()),
            user: Arc::new(User {
                name: "alice".into(),
                uid: "7".into(),
                groups: vec!["devs".into(), "system:authenticated".into()],
                extra: vec![("acme.io/scopes".into(), vec!["a".into(), "b".into()])],
            }),
            audit_id: "an-id".into(),
            deadline: None,
            remote: Some(([10, 0, 0, 9], 1234).into()),
            trail: None,
        }
    }

    #[test]
    fn addresses_are_spelled_as_go_spells_them() {
        let host = Host { name: "10.0.0.5".into(), port: 443 };
        for (given, expected) in [
            ("/apis/g/v1/w", "/apis/g/v1/w"),
            ("/apis/g/v1/w/", "/apis/g/v1/w/"),
            ("/apis/g/v1/w?b=2&a=1&b=1", "/apis/g/v1/w?a=1&b=2&b=1"),
            (
                "/apis/g/v1/w?watch&labelSelector=a%3Db%20c,d~e",
                "/apis/g/v1/w?labelSelector=a%3Db+c%2Cd~e&watch=",
            ),
            ("/apis/g/v1/w/a%20b(c)", "/apis/g/v1/w/a%20b%28c%29"),
        ] {
            let found = address(&host, &request(given, &[])).unwrap();
            assert_eq!(found.to_string(), format!("https://10.0.0.5:443{expected}"), "{given}");
        }
    }

    #[test]
    fn headers_tell_who_asks_by_what_way() {
        let request = request(
            "/apis/g/v1/w",
            &[
                ("host", "us:6443"),
                ("connection", "keep-alive, x-own"),
                ("x-own", "1"),
                ("keep-alive", "5"),
                ("te", "trailers"),
                ("x-remote-user", "mallory"),
                ("x-remote-extra-bad", "1"),
                ("x-forwarded-for", "1.2.3.4"),
                ("accept", "application/json"),
            ],
        );
        let address = address(&Host { name: "backend".into(), port: 8443 }, &request).unwrap();
        let mut found: Vec<String> = headers(&request, &address)
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        found.sort();
        let expected = [
            "accept: application/json",
            "audit-id: an-id",
            "te: trailers",
            "x-forwarded-for: 1.2.3.4, 10.0.0.9",
            "x-forwarded-host: backend:8443",
            "x-forwarded-proto: https",
            "x-forwarded-uri: /apis/g/v1/w",
            "x-remote-extra-acme.io%2fscopes: a",
            "x-remote-extra-acme.io%2fscopes: b",
            "x-remote-group: devs",
            "x-remote-group: system:authenticated",
            "x-remote-uid: 7",
            "x-remote-user: alice",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn upgrades_are_asked_for_by_two_headers() {
        for (given, expected) in [
            (&[("connection", "Upgrade"), ("upgrade", "websocket")][..], true),
            (&[("connection", "keep-alive, upgrade"), ("upgrade", "SPDY/3.1")], true),
            (&[("connection", "close")], false),
            (&[], false),
        ] {
            assert_eq!(is_upgrade(&request("/", given).head.headers), expected, "{given:?}");
        }
    }
}
