//! Which TLS is spoken: the versions, the suites, the protocols inside.

use rustls::crypto::{CryptoProvider, ring};
use rustls::version::{TLS12, TLS13};
use rustls::{SupportedCipherSuite, SupportedProtocolVersion};

/// What the handshake may agree on.
#[derive(Clone, Debug)]
pub struct Rules {
    versions: &'static [&'static SupportedProtocolVersion],
    suites: Vec<SupportedCipherSuite>,
    /// Whether HTTP/2 is spoken.
    pub http2: bool,
}

const FROM_12: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
const FROM_13: &[&SupportedProtocolVersion] = &[&TLS13];

/// The names of suites under which Go has others than the standard.
const ALIASES: [(&str, &str); 2] = [
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
];

impl Default for Rules {
    fn default() -> Self {
        Self { versions: FROM_12, suites: ring::default_provider().cipher_suites, http2: true }
    }
}

impl Rules {
    /// From this version on: `VersionTLS12` or `VersionTLS13`.
    ///
    /// # Errors
    /// When there is no such version, or it is too old to be spoken.
    pub fn from_version(mut self, name: &str) -> Result<Self, String> {
        self.versions = match name {
            "VersionTLS12" => FROM_12,
            "VersionTLS13" => FROM_13,
            "VersionTLS10" | "VersionTLS11" => {
                return Err(format!("{name} is not spoken; VersionTLS12 and VersionTLS13 are"));
            }
            _ => return Err(format!("unknown tls version {name:?}")),
        };
        Ok(self)
    }

    /// Of TLS 1.2, only these suites; those of TLS 1.3 cannot be chosen, as in Go. None stands for all.
    ///
    /// # Errors
    /// When one is not spoken, or none of what is left could be.
    pub fn with_suites(mut self, names: &[String]) -> Result<Self, String> {
        if names.is_empty() {
            return Ok(self);
        }
        let known = ring::default_provider().cipher_suites;
        let mut wanted = Vec::new();
        for name in names {
            let standard =
                ALIASES.iter().find(|(alias, _)| alias == name).map_or(name.as_str(), |(_, its)| its);
            let suite = known.iter().find(|suite| self::name(suite) == standard).ok_or_else(|| {
                let spoken: Vec<String> = known.iter().map(self::name).collect();
                format!("Cipher suite {name} not supported or doesn't exist; there are {}", spoken.join(", "))
            })?;
            wanted.push(*suite);
        }
        self.suites =
            known.into_iter().filter(|suite| suite.tls13().is_some() || wanted.contains(suite)).collect();
        Ok(self)
    }

    pub(crate) fn provider(&self) -> CryptoProvider {
        CryptoProvider { cipher_suites: self.suites.clone(), ..ring::default_provider() }
    }

    pub(crate) fn versions(&self) -> &'static [&'static SupportedProtocolVersion] {
        // Without a suite of its own the older version could not be agreed on.
        if self.suites.iter().all(|suite| suite.tls13().is_some()) { FROM_13 } else { self.versions }
    }

    pub(crate) fn protocols(&self) -> Vec<Vec<u8>> {
        let protocols: &[&[u8]] = if self.http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
        protocols.iter().map(|protocol| protocol.to_vec()).collect()
    }
}

/// The name that the standard has for a suite.
fn name(suite: &SupportedCipherSuite) -> String {
    let name = format!("{:?}", suite.suite());
    name.strip_prefix("TLS13_").map_or(name.clone(), |rest| format!("TLS_{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn suites_by_name() {
        for (list, expected) in [
            (&[][..], 9),
            (&["TLS_AES_128_GCM_SHA256"], 3),
            (&["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"], 4),
            (&["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"], 5),
        ] {
            let rules = Rules::default().with_suites(&names(list)).unwrap();
            assert_eq!(rules.provider().cipher_suites.len(), expected, "{list:?}");
        }
        let why = Rules::default().with_suites(&names(&["TLS_RSA_WITH_RC4_128_SHA"])).unwrap_err();
        assert!(
            why.starts_with("Cipher suite TLS_RSA_WITH_RC4_128_SHA not supported or doesn't exist"),
            "{why}"
        );
    }

    #[test]
    fn versions_by_name() {
        for (name, expected) in [
            ("VersionTLS12", Ok(2)),
            ("VersionTLS13", Ok(1)),
            ("VersionTLS11", Err("VersionTLS11 is not spoken; VersionTLS12 and VersionTLS13 are")),
            ("1.2", Err("unknown tls version \"1.2\"")),
        ] {
            let found = Rules::default().from_version(name).map(|rules| rules.versions().len());
            assert_eq!(found, expected.map_err(str::to_owned), "{name}");
        }
    }
}
