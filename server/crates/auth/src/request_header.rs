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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Signer, days};

    fn names(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.into()).collect()
    }

    #[test]
    fn a_proxys_word_counts() {
        let signer = Signer::new("proxies");
        let proxy = RequestHeader {
            authority: Arc::new(signer.authority()),
            allowed_names: names(&["front"]),
            username_headers: names(&["X-Remote-User", "X-User"]),
            uid_headers: names(&["X-Remote-Uid"]),
            group_headers: names(&["X-Remote-Group"]),
            extra_header_prefixes: names(&["X-Remote-Extra-"]),
        };
        let certificate = |name: &str| vec![signer.sign(name, "", true, days(-1), days(1))];
        for (certificates, headers, expected) in [
            (vec![], vec![("x-remote-user", "alice")], Ok(None)),
            (certificate("front"), vec![], Ok(None)),
            (
                certificate("other"),
                vec![("x-remote-user", "alice")],
                Err("x509: subject with cn=other is not in the allowed list"),
            ),
            (
                certificate("front"),
                vec![
                    ("x-user", "alice"),
                    ("x-remote-group", "a"),
                    ("x-remote-group", "b"),
                    ("x-remote-extra-Acme.Io%2fScopes", "s"),
                ],
                Ok(Some(("alice", vec!["a", "b", "system:authenticated"], "acme.io/scopes"))),
            ),
        ] {
            let mut peer = Peer::new(([127, 0, 0, 1], 1).into());
            peer.certificates = certificates;
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(HeaderName::try_from(name).unwrap(), value.parse().unwrap());
            }
            let found = proxy.authenticate(&map, &peer);
            let found = found.as_ref().map(|user| {
                user.as_ref().map(|user| {
                    let groups: Vec<_> = user.groups.iter().map(String::as_str).collect();
                    (user.name.as_str(), groups, user.extra.first().map_or("", |(key, _)| key.as_str()))
                })
            });
            assert_eq!(found.map_err(String::as_str), expected);
            proxy.clear(&mut map);
            assert!(map.keys().all(|name| !name.as_str().starts_with("x-")), "{map:?}");
        }
    }
}
