//! Addresses as Go's `net/url` reads them, with its words for what is none.

use crate::field::quoted;

/// A parsed address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// In lower case; empty where there is none.
    pub scheme: String,
    /// What stands before the host, `name:password`.
    pub user: Option<String>,
    /// The host, with its port.
    pub host: String,
    /// The path.
    pub path: String,
    /// Behind the question mark.
    pub query: String,
    /// Behind the hash, decoded.
    pub fragment: String,
}

impl Url {
    /// Parses an address.
    ///
    /// # Errors
    /// In Go's words: `parse "https://[::1": missing ']' in host`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (address, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = parse(address).map_err(|why| format!("parse {}: {why}", quoted(address)))?;
        url.fragment =
            unescape(fragment, Part::Path).map_err(|why| format!("parse {}: {why}", quoted(text)))?;
        Ok(url)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Host,
    Path,
}

fn parse(text: &str) -> Result<Url, String> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".into());
    }
    let (scheme, rest) = scheme(text)?;
    let mut url = Url { scheme: scheme.to_lowercase(), ..Url::default() };
    let (mut rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    url.query = query.into();
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            return Ok(url);
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".into());
        }
    }
    let is_authority = !url.scheme.is_empty() || !rest.starts_with("///");
    if let Some(authority) = rest.strip_prefix("//").filter(|_| is_authority) {
        let end = authority.find('/').unwrap_or(authority.len());
        rest = &authority[end..];
        let authority = &authority[..end];
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        url.host = self::host(host)?;
        if let Some(user) = user {
            let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
            if !user.bytes().all(valid) {
                return Err("net/url: invalid userinfo".into());
            }
            unescape(user, Part::Path)?;
            url.user = Some(user.into());
        }
    }
    url.path = unescape(rest, Part::Path)?;
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => return Ok(("", text)),
        }
    }
    Ok(("", text))
}

fn host(text: &str) -> Result<String, String> {
    let port = if text.starts_with('[') {
        let end = text.rfind(']').ok_or("missing ']' in host")?;
        &text[end + 1..]
    } else {
        text.rfind(':').map_or("", |at| &text[at..])
    };
    let digits = port.strip_prefix(':').unwrap_or(if port.is_empty() { "" } else { "?" });
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("invalid port {} after host", quoted(port)));
    }
    unescape(text, Part::Host)
}

fn unescape(text: &str, part: Part) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte == b'%' {
            let hex = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
            let escape = || String::from_utf8_lossy(&bytes[at..bytes.len().min(at + 3)]).into_owned();
            let (Some(high), Some(low)) = (hex(at + 1), hex(at + 2)) else {
                return Err(format!("invalid URL escape {}", quoted(&escape())));
            };
            // In hosts, only what is not ASCII is escaped so.
            if part == Part::Host && high < 8 && escape() != "%25" {
                return Err(format!("invalid URL escape {}", quoted(&escape())));
            }
            decoded.push((high * 16 + low) as u8);
            at += 3;
            continue;
        }
        let fits = |byte: u8| {
            !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"!$&'()*+,;=:[]<>\"-_.~".contains(&byte)
        };
        if part == Part::Host && !fits(byte) {
            return Err(format!("invalid character {} in host name", quoted(&char::from(byte).to_string())));
        }
        decoded.push(byte);
        at += 1;
    }
    Ok(String::from_utf8_lossy(&decoded).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_go_does() {
        let ok = |scheme: &str, host: &str, path: &str| {
            Ok(Url { scheme: scheme.into(), host: host.into(), path: path.into(), ..Url::default() })
        };
        for (text, want) in [
            ("https://hooks.example/admit", ok("https", "hooks.example", "/admit")),
            ("HTTPS://a:1/%41b", ok("https", "a:1", "/Ab")),
            ("https:///admit", ok("https", "", "/admit")),
            ("https://[::1]:8/", ok("https", "[::1]:8", "/")),
            ("hooks.example/admit", ok("", "", "hooks.example/admit")),
            ("https:opaque", ok("https", "", "")),
            ("https://[::1", Err("parse \"https://[::1\": missing ']' in host")),
            ("https://a:b/", Err("parse \"https://a:b/\": invalid port \":b\" after host")),
            ("https://a b/", Err("parse \"https://a b/\": invalid character \" \" in host name")),
            ("https://a/%zz", Err("parse \"https://a/%zz\": invalid URL escape \"%zz\"")),
            ("https://a/\n", Err("parse \"https://a/\\n\": net/url: invalid control character in URL")),
            (":x", Err("parse \":x\": missing protocol scheme")),
            ("1:x", Err("parse \"1:x\": first path segment in URL cannot contain colon")),
            ("https://{@a/", Err("parse \"https://{@a/\": net/url: invalid userinfo")),
        ] {
            assert_eq!(Url::parse(text), want.map_err(str::to_owned), "{text}");
        }
        let full = Url::parse("https://me:secret@a/b?c=d#e%20f").unwrap();
        assert_eq!(full.user.as_deref(), Some("me:secret"));
        assert_eq!((full.query.as_str(), full.fragment.as_str()), ("c=d", "e f"));
    }
}
