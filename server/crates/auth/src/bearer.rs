//! Where a request carries its bearer token: the Authorization header, or, for websockets of
//! browsers, which cannot set one, a subprotocol's name.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::header::{AUTHORIZATION, CONNECTION, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, HeaderValue};

const EXTRA_SPACE: &str =
    "the provided Authorization header contains extra space before the bearer token, and is ignored";
const PROTOCOL_PREFIX: &str = "base64url.bearer.authorization.k8s.io.";

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Bearer {
    /// A token.
    Token(String),
    /// Nothing that counts, and a text about it for the client.
    Ignored(&'static str),
    /// Nothing.
    None,
}

/// Finds the token; a websocket's is taken out of the list of protocols.
pub(crate) fn find(headers: &mut HeaderMap) -> Result<Bearer, &'static str> {
    match in_authorization(headers) {
        Bearer::None => in_websocket_protocol(headers),
        found => Ok(found),
    }
}

fn in_authorization(headers: &HeaderMap) -> Bearer {
    let Some(value) = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()) else {
        return Bearer::None;
    };
    let mut parts = value.trim().splitn(3, ' ');
    let (Some(scheme), Some(token)) = (parts.next(), parts.next()) else { return Bearer::None };
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Bearer::None;
    }
    match (token.is_empty(), parts.next()) {
        (false, _) => Bearer::Token(token.into()),
        (true, Some(_)) => Bearer::Ignored(EXTRA_SPACE),
        (true, None) => Bearer::None,
    }
}

fn in_websocket_protocol(headers: &mut HeaderMap) -> Result<Bearer, &'static str> {
    let has = |name, wanted: &str| {
        let lists = headers.get_all(name).into_iter().filter_map(|value: &HeaderValue| value.to_str().ok());
        lists.flat_map(|list| list.split(',')).any(|word| word.trim().eq_ignore_ascii_case(wanted))
    };
    if !has(UPGRADE, "websocket") || !has(CONNECTION, "upgrade") {
        return Ok(Bearer::None);
    }
    let mut token = None;
    let mut others = Vec::new();
    let lists = headers.get_all(SEC_WEBSOCKET_PROTOCOL).into_iter().filter_map(|value| value.to_str().ok());
    for protocol in lists.flat_map(|list| list.split(',')).map(str::trim) {
        match protocol.strip_prefix(PROTOCOL_PREFIX) {
            None => others.push(protocol),
            Some(_) if token.is_some() => {
                return Err("multiple base64.bearer.authorization tokens specified");
            }
            Some(encoded) => token = Some(decode(encoded)?),
        }
    }
    let Some(token) = token.filter(|token| !token.is_empty()) else { return Ok(Bearer::None) };
    if others.is_empty() {
        return Err("missing additional subprotocol");
    }
    if let Ok(others) = HeaderValue::from_str(&others.join(",")) {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, others);
    }
    Ok(Bearer::Token(token))
}

fn decode(encoded: &str) -> Result<String, &'static str> {
    let token = BASE64_URL_SAFE_NO_PAD
        .decode(encoded)
        .map_err(|_| "invalid base64.bearer.authorization token encoding")?;
    String::from_utf8(token).map_err(|_| "invalid base64.bearer.authorization token")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn websocket(protocols: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocols));
        headers
    }

    #[test]
    fn websockets_carry_the_token_in_a_protocol() {
        for (protocols, expected, left) in [
            ("v4.channel.k8s.io", Ok(Bearer::None), "v4.channel.k8s.io"),
            (
                "base64url.bearer.authorization.k8s.io.dG9rZW4, v4.channel.k8s.io",
                Ok(Bearer::Token("token".into())),
                "v4.channel.k8s.io",
            ),
            (
                "base64url.bearer.authorization.k8s.io.dG9rZW4",
                Err("missing additional subprotocol"),
                "base64url.bearer.authorization.k8s.io.dG9rZW4",
            ),
            (
                "base64url.bearer.authorization.k8s.io.!,x",
                Err("invalid base64.bearer.authorization token encoding"),
                "base64url.bearer.authorization.k8s.io.!,x",
            ),
        ] {
            let mut headers = websocket(protocols);
            assert_eq!(find(&mut headers), expected, "{protocols}");
            assert_eq!(headers[SEC_WEBSOCKET_PROTOCOL], left);
        }
    }

    #[test]
    fn other_requests_do_not() {
        let mut headers = websocket("base64url.bearer.authorization.k8s.io.dG9rZW4,x");
        headers.remove(UPGRADE);
        assert_eq!(find(&mut headers), Ok(Bearer::None));
    }
}
