//! A front proxy's word for who asks: it shows a certificate of its own and names the user in headers.

use std::sync::Arc;

use apiwright_chain::{Peer, User};
use http::{HeaderMap, HeaderName};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::authentication::authenticated;
use crate::authority::Authority;
use crate::client_certificate::common_name;

/// What makes a front proxy, and where it names the user.
#[derive(Clone)]
pub struct RequestHeader {
    /// Signs the proxies' certificates.
    pub authority: Arc<Authority>,
    /// Common names that proxies may have; empty for any.
    pub allowed_names: Vec<String>,
    /// Headers with the user's name; the first that is there counts.
    pub username_headers: Vec<String>,
    /// Headers with the user's uid.
    pub uid_headers: Vec<String>,
    /// Headers with groups, all of them.
    pub group_headers: Vec<String>,
    /// What headers with anything else begin with.
    pub extra_header_prefixes: Vec<String>,
}

impl RequestHeader {
    /// Whom the proxy names; `None` without a certificate or a name.
    ///
    /// # Errors
    /// When the certificate is no proxy's.
    pub fn authenticate(&self, headers: &HeaderMap, peer: &Peer) -> Result<Option<User>, String> {
        let Some(own) = peer.certificates.first() else { return Ok(None) };
        self.authority.verify(&peer.certificates)?;
        if !self.allowed_names.is_empty() {
            let (_, certificate) =
                X509Certificate::from_der(own).map_err(|error| format!("x509: {error}"))?;
            let name = common_name(&certificate);
            if !self.allowed_names.contains(&name) {
                return Err(format!("x509: subject with cn={name} is not in the allowed list"));
            }
        }
        Ok(self.user(headers))
    }

    fn user(&self, headers: &HeaderMap) -> Option<User> {
        let first = |names: &[String]| {
            names.iter().filter_map(|name| text(headers.get(name)?)).find(|value| !value.is_empty())
        };
        let name = first(&self.username_headers)?;
        let all = self.group_headers.iter().flat_map(|name| headers.get_all(name)).filter_map(text);
        let groups = all.filter(|group| !group.is_empty()).map(str::to_owned).collect();
        let mut extra: Vec<(String, Vec<String>)> = Vec::new();
        for prefix in &self.extra_header_prefixes {
            for (header, value) in headers {
                let (Some(key), Some(value)) = (without_prefix(header, prefix), text(value)) else {
                    continue;
                };
                let key = apiwright_chain::info::decode(key).map_or_else(|| key.to_owned(), Into::into);
                match extra.iter_mut().find(|(its_key, _)| *its_key == key) {
                    Some((_, values)) => values.push(value.into()),
                    None => extra.push((key, vec![value.into()])),
                }
            }
        }
        extra.sort();
        let uid = first(&self.uid_headers).unwrap_or_default().into();
        Some(authenticated(User { name: name.into(), uid, groups, extra }))
    }

    /// Takes the headers that name users out: nobody behind the authenticators believes them.
    pub fn clear(&self, headers: &mut HeaderMap) {
        for name in self.username_headers.iter().chain(&self.uid_headers).chain(&self.group_headers) {
            headers.remove(name);
        }
        clear_prefixes(headers, &self.extra_header_prefixes);
    }

    /// Takes the standard ones out, whatever is configured.
    pub fn clear_standard(headers: &mut HeaderMap) {
        for name in ["x-remote-user", "x-remote-uid", "x-remote-group"] {
            headers.remove(name);
        }
        clear_prefixes(headers, &["x-remote-extra-"]);
    }
}

fn clear_prefixes<S: AsRef<str>>(headers: &mut HeaderMap, prefixes: &[S]) {
    let is_extra =
        |name: &&HeaderName| prefixes.iter().any(|prefix| without_prefix(name, prefix.as_ref()).is_some());
    let extras: Vec<HeaderName> = headers.keys().filter(is_extra).cloned().collect();
    for name in extras {
        headers.remove(name);
    }
}

fn without_prefix<'a>(name: &'a HeaderName, prefix: &str) -> Option<&'a str> {
    let name = name.as_str();
    let (start, rest) = name.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn text(value: &http::HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok()
}
