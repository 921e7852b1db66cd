//! URLs, as Go's `net/url` reads absolute ones.

use std::sync::Arc;

use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::value::{Map, Members, Val};

pub(super) const FUNCTIONS: &[Entry] = &[
    Entry { name: "url", price: Price::Text, native: url, signatures: &["string_to_url: (string) -> url"] },
    Entry {
        name: "isURL",
        price: Price::One,
        native: is_url,
        signatures: &["is_url_string: (string) -> bool"],
    },
    Entry {
        name: "getScheme",
        price: Price::One,
        native: scheme,
        signatures: &["url_get_scheme: url.() -> string"],
    },
    Entry {
        name: "getHost",
        price: Price::One,
        native: host,
        signatures: &["url_get_host: url.() -> string"],
    },
    Entry {
        name: "getHostname",
        price: Price::One,
        native: hostname,
        signatures: &["url_get_hostname: url.() -> string"],
    },
    Entry {
        name: "getPort",
        price: Price::One,
        native: port,
        signatures: &["url_get_port: url.() -> string"],
    },
    Entry {
        name: "getEscapedPath",
        price: Price::One,
        native: escaped_path,
        signatures: &["url_get_escaped_path: url.() -> string"],
    },
    Entry {
        name: "getQuery",
        price: Price::One,
        native: query,
        signatures: &["url_get_query: url.() -> map(string, list(string))"],
    },
];

/// A URL.
#[derive(Debug)]
pub struct Url {
    scheme: String,
    authority: Option<String>,
    /// As it was written.
    path: String,
    query: Option<String>,
    fragment: Option<String>,
}

impl Url {
    /// Parses what a request may ask for: an absolute URL or an absolute path.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::read(text).map_err(|why| format!("parse {text:?}: {why}"))
    }

    fn read(text: &str) -> Result<Self, String> {
        if text.chars().any(char::is_control) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() {
            return Err("empty url".to_owned());
        }
        // For a request there is no fragment; the value has one all the same.
        let (whole, fragment) = match text.split_once('#') {
            Some((whole, fragment)) => (whole, Some(fragment.to_owned())),
            None => (text, None),
        };
        let (scheme, rest) = scheme_of(whole)?;
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        if !rest.starts_with('/') {
            if !scheme.is_empty() {
                // Opaque: `mailto:a`.
                let path = String::new();
                return Ok(Self { scheme, authority: None, path, query, fragment });
            }
            return Err("invalid URI for request".to_owned());
        }
        let (authority, path) = match rest.strip_prefix("//") {
            Some(after) if !scheme.is_empty() || !rest.starts_with("///") => {
                let end = after.find('/').unwrap_or(after.len());
                (Some(after[..end].to_owned()), &after[end..])
            }
            _ => (None, rest),
        };
        if let Some(authority) = &authority {
            check_host(authority.rsplit_once('@').map_or(authority.as_str(), |(_, host)| host))?;
        }
        check_escapes(path)?;
        Ok(Self { scheme, authority, path: path.to_owned(), query, fragment })
    }

    /// As it is written.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if !self.scheme.is_empty() {
            text.push_str(&self.scheme);
            text.push(':');
        }
        if let Some(authority) = &self.authority {
            text.push_str("//");
            text.push_str(authority);
        }
        text.push_str(&self.escaped_path());
        for (sign, part) in [('?', &self.query), ('#', &self.fragment)] {
            if let Some(part) = part {
                text.push(sign);
                text.push_str(part);
            }
        }
        text
    }

    fn host(&self) -> &str {
        let authority = self.authority.as_deref().unwrap_or_default();
        authority.rsplit_once('@').map_or(authority, |(_, host)| host)
    }

    /// Host and port.
    fn split_host(&self) -> (&str, &str) {
        let host = self.host();
        let end = host.rfind(']').map_or(0, |at| at + 1);
        let (name, port) = match host[end..].rfind(':') {
            Some(at) => (&host[..end + at], &host[end + at + 1..]),
            None => (host, ""),
        };
        (name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name), port)
    }

    /// The path with what must be escaped escaped.
    fn escaped_path(&self) -> String {
        let mut escaped = String::with_capacity(self.path.len());
        for byte in self.path.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@!*'()%[]".contains(&byte) {
                escaped.push(byte.into());
            } else {
                escaped.push_str(&format!("%{byte:02X}"));
            }
        }
        escaped
    }
}

fn scheme_of(text: &str) -> Result<(String, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' => break,
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((text[..at].to_ascii_lowercase(), &text[at + 1..])),
            _ => break,
        }
    }
    Ok((String::new(), text))
}

fn check_host(host: &str) -> Result<(), String> {
    let after = if host.starts_with('[') {
        let Some(end) = host.rfind(']') else { return Err("missing ']' in host".to_owned()) };
        &host[end + 1..]
    } else {
        match host.find(':') {
            Some(at) => &host[at..],
            None => "",
        }
    };
    let valid = match after.strip_prefix(':') {
        Some(port) => port.bytes().all(|byte| byte.is_ascii_digit()),
        None => after.is_empty(),
    };
    if !valid {
        return Err(format!("invalid port {after:?} after host"));
    }
    if let Some(sign) = host.chars().find(|sign| matches!(sign, ' ' | '\\' | '^' | '`' | '{' | '}' | '|')) {
        return Err(format!("invalid character {:?} in host name", sign.to_string()));
    }
    check_escapes(host)
}

fn check_escapes(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%') {
        let digits = bytes.get(at + 1..at + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            let part = String::from_utf8_lossy(&bytes[at..(at + 3).min(bytes.len())]).into_owned();
            return Err(format!("invalid URL escape {part:?}"));
        }
    }
    Ok(())
}

fn url<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::String(text)] = args else { return Err(EvalError::NO_OVERLOAD) };
    match Url::parse(text) {
        Ok(url) => Ok(Val::Url(Arc::new(url))),
        Err(why) => Err(EvalError::new(format!("URL parse error during conversion from string: {why}"))),
    }
}

fn is_url<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::String(text)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(Val::Bool(Url::parse(text).is_ok()))
}

fn part<'a>(args: &[Val<'a>], get: fn(&Url) -> String) -> Result<Val<'a>, EvalError> {
    let [Val::Url(url)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(Val::text(get(url)))
}

fn scheme<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    part(args, |url| url.scheme.clone())
}

fn host<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    part(args, |url| url.host().to_owned())
}

fn hostname<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    part(args, |url| url.split_host().0.to_owned())
}

fn port<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    part(args, |url| url.split_host().1.to_owned())
}

fn escaped_path<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    part(args, Url::escaped_path)
}

fn query<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Url(url)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let mut values: Vec<(String, Vec<Val<'_>>)> = Vec::new();
    for pair in url.query.as_deref().unwrap_or_default().split('&') {
        // Go leaves out what has a semicolon or a wrong escape.
        if pair.is_empty() || pair.contains(';') {
            continue;
        }
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(key), Some(value)) = (unescaped(key), unescaped(value)) else { continue };
        match values.iter_mut().find(|(known, _)| *known == key) {
            Some((_, list)) => list.push(Val::text(value)),
            None => values.push((key, vec![Val::text(value)])),
        }
    }
    let mut members = Members::default();
    for (key, list) in values {
        members.insert(Val::text(key), Val::list(list))?;
    }
    Ok(Val::Map(Map::Made(Arc::new(members))))
}

fn unescaped(text: &str) -> Option<String> {
    check_escapes(text).ok()?;
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'+' => out.push(b' '),
            b'%' => {
                out.push(u8::from_str_radix(text.get(at + 1..at + 3)?, 16).ok()?);
                at += 2;
            }
            byte => out.push(byte),
        }
        at += 1;
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}
