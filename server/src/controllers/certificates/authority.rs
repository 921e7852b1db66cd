//! Whoever signs: a certificate of this server's own authority for what a request asks for.
//!
//! Subject, key and alternative names are copied as the request has them: rcgen, which made the
//! authority, keeps one value of each attribute only.

use std::path::Path;

use apiwright_meta::time::Time;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertificateParams, KeyPair, SigningKey};
use uuid::Uuid;
use x509_parser::extensions::ParsedExtension;
use x509_parser::pem::{Pem, parse_x509_pem};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::der;
use super::request::Request;

/// How long a certificate lives that does not say.
const LIFE_SECONDS: i64 = 365 * 24 * 3600;
/// The shortest life that is given.
const LIFE_SECONDS_MIN: i64 = 600;
/// Other machines' clocks may be behind. What lives shorter than eight hours lives that much longer instead.
const BACKDATE_SECONDS: i64 = 300;
const SHORT_SECONDS: i64 = 8 * 3600;

/// Bits of the key usage extension.
const KEY_USAGES: &[(&str, u16)] = &[
    ("signing", 0x8000),
    ("digital signature", 0x8000),
    ("content commitment", 0x4000),
    ("key encipherment", 0x2000),
    ("data encipherment", 0x1000),
    ("key agreement", 0x0800),
    ("cert sign", 0x0400),
    ("crl sign", 0x0200),
    ("encipher only", 0x0100),
    ("decipher only", 0x0080),
];
/// Object identifiers of the extended key usage extension, in the order in which Go writes them.
const EXTENDED_USAGES: &[(&str, &[u8])] = &[
    ("any", &[0x55, 0x1d, 0x25, 0x00]),
    ("server auth", &[0x2b, 6, 1, 5, 5, 7, 3, 1]),
    ("client auth", &[0x2b, 6, 1, 5, 5, 7, 3, 2]),
    ("code signing", &[0x2b, 6, 1, 5, 5, 7, 3, 3]),
    ("email protection", &[0x2b, 6, 1, 5, 5, 7, 3, 4]),
    ("s/mime", &[0x2b, 6, 1, 5, 5, 7, 3, 4]),
    ("ipsec end system", &[0x2b, 6, 1, 5, 5, 7, 3, 5]),
    ("ipsec tunnel", &[0x2b, 6, 1, 5, 5, 7, 3, 6]),
    ("ipsec user", &[0x2b, 6, 1, 5, 5, 7, 3, 7]),
    ("timestamping", &[0x2b, 6, 1, 5, 5, 7, 3, 8]),
    ("ocsp signing", &[0x2b, 6, 1, 5, 5, 7, 3, 9]),
    ("microsoft sgc", &[0x2b, 6, 1, 4, 1, 0x82, 0x37, 10, 3, 3]),
    ("netscape sgc", &[0x60, 0x86, 0x48, 1, 0x86, 0xf8, 0x42, 4, 1]),
];
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const AUTHORITY_KEY_IDENTIFIER: &[u8] = &[0x55, 0x1d, 0x23];
const SUBJECT_ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];

/// An authority and its key.
pub struct SigningAuthority {
    key: KeyPair,
    /// How it signs, as certificates say it.
    algorithm: Vec<u8>,
    name: Vec<u8>,
    key_id: Option<Vec<u8>>,
    not_after: i64,
}

impl SigningAuthority {
    /// The authority of two PEM files.
    ///
    /// # Errors
    /// Where they cannot be read or used.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, String> {
        let read =
            |path: &Path| std::fs::read(path).map_err(|why| format!("cannot read {}: {why}", path.display()));
        let unusable =
            |path: &Path, why: &dyn std::fmt::Display| format!("cannot use {}: {why}", path.display());
        let key_pem = read(key)?;
        let pair =
            KeyPair::from_pem(&String::from_utf8_lossy(&key_pem)).map_err(|why| unusable(key, &why))?;
        let pem = read(certificate)?;
        let (_, pem) = parse_x509_pem(&pem).map_err(|why| unusable(certificate, &why))?;
        let parsed = pem.parse_x509().map_err(|why| unusable(certificate, &why))?;
        let key_id = parsed.iter_extensions().find_map(|one| match one.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
            _ => None,
        });
        Ok(Self {
            algorithm: algorithm(&pair).ok_or_else(|| unusable(key, &"it signs nothing"))?,
            name: parsed.subject().as_raw().to_vec(),
            key_id,
            not_after: parsed.validity().not_after.timestamp(),
            key: pair,
        })
    }

    /// A certificate, as PEM.
    ///
    /// # Errors
    /// Usages that there are not; what keeps the key from signing.
    pub(super) fn sign(
        &self,
        request: &Request,
        usages: &[&str],
        seconds: Option<i64>,
        now: Time,
    ) -> Result<String, String> {
        let (from, until) = self.validity(seconds, now.seconds);
        let moment = |seconds: i64| der::time(&Time::from_unix(seconds).to_rfc3339());
        let to_sign = der::sequence(&[
            &der::tlv(0xa0, &[&der::integer(&[2])]),
            &der::integer(&Uuid::new_v4().as_u128().to_be_bytes()),
            &self.algorithm,
            &self.name,
            &der::sequence(&[&moment(from), &moment(until)]),
            &request.subject,
            &request.public_key,
            &der::tlv(0xa3, &[&der::sequence(&[&self.extensions(request, usages)?])]),
        ]);
        let signature = self.key.sign(&to_sign).map_err(|why| why.to_string())?;
        let certificate = der::sequence(&[&to_sign, &self.algorithm, &der::bits(&signature)]);
        Ok(pem("CERTIFICATE", &certificate))
    }

    fn validity(&self, seconds: Option<i64>, now: i64) -> (i64, i64) {
        let life = seconds.unwrap_or(LIFE_SECONDS).clamp(LIFE_SECONDS_MIN, LIFE_SECONDS);
        let from = now - BACKDATE_SECONDS;
        let until = if life < SHORT_SECONDS { now + life } else { from + life };
        (from, until.min(self.not_after))
    }

    fn extensions(&self, request: &Request, usages: &[&str]) -> Result<Vec<u8>, String> {
        let mut bits = 0;
        let mut extended: Vec<usize> = Vec::new();
        for usage in usages {
            if let Some((_, bit)) = KEY_USAGES.iter().find(|(name, _)| name == usage) {
                bits |= bit;
            } else if let Some(at) = EXTENDED_USAGES.iter().position(|(name, _)| name == usage) {
                extended.push(at);
            } else {
                return Err(format!("unrecognized usage values: [{usage:?}]"));
            }
        }
        extended.sort_unstable();
        let mut identifiers: Vec<Vec<u8>> =
            extended.into_iter().map(|at| der::tlv(0x06, &[EXTENDED_USAGES[at].1])).collect();
        identifiers.dedup();
        let mut out = Vec::new();
        if bits != 0 {
            out.extend(der::extension(KEY_USAGE, true, &der::flags(bits)));
        }
        if !identifiers.is_empty() {
            let parts: Vec<&[u8]> = identifiers.iter().map(Vec::as_slice).collect();
            out.extend(der::extension(EXTENDED_KEY_USAGE, false, &der::sequence(&parts)));
        }
        out.extend(der::extension(BASIC_CONSTRAINTS, true, &der::sequence(&[])));
        if let Some(id) = &self.key_id {
            let value = der::sequence(&[&der::tlv(0x80, &[id])]);
            out.extend(der::extension(AUTHORITY_KEY_IDENTIFIER, false, &value));
        }
        if let Some(names) = &request.alternative_names {
            out.extend(der::extension(SUBJECT_ALTERNATIVE_NAME, !request.has_subject, names));
        }
        Ok(out)
    }
}

/// How a key signs, as certificates say it: what a certificate says that it signed.
fn algorithm(key: &KeyPair) -> Option<Vec<u8>> {
    let signed = CertificateParams::default().self_signed(key).ok()?;
    let (_, parsed) = X509Certificate::from_der(signed.der()).ok()?;
    let identifier = der::tlv(0x06, &[parsed.signature_algorithm.algorithm.as_bytes()]);
    // RSA's has a NULL behind it.
    let null: &[u8] = if parsed.signature_algorithm.parameters.is_some() { &[0x05, 0x00] } else { &[] };
    Some(der::sequence(&[&identifier, null]))
}

/// Lines of 64 characters, as Go writes them.
fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let mut out = format!("-----BEGIN {label}-----\n");
    for line in text.as_bytes().chunks(64) {
        out.extend(line.iter().map(|byte| char::from(*byte)));
        out.push('\n');
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// When a certificate ends, where it is one.
pub(super) fn end_of(pem: &[u8]) -> Option<i64> {
    let pem = Pem::iter_from_buffer(pem).next()?.ok()?;
    Some(pem.parse_x509().ok()?.validity().not_after.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signed_certificate_is_what_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let pki = crate::pki::Pki::ensure(dir.path(), &[], &[]).unwrap();
        let authority = SigningAuthority::load(&pki.authority, &dir.path().join("ca.key")).unwrap();
        let mut params = CertificateParams::new(vec!["node.example".to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "system:nodes");
        params.distinguished_name.push(rcgen::DnType::CommonName, "system:node:a");
        let asked = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
        let request = Request::read(asked.as_bytes()).unwrap();
        assert_eq!((request.common_name.as_str(), request.organizations.len()), ("system:node:a", 1));
        let now = Time::now();
        let usages = ["client auth", "digital signature", "server auth"];
        let pem = authority.sign(&request, &usages, Some(3600), now).unwrap();
        let (_, pem) = parse_x509_pem(pem.as_bytes()).unwrap();
        let certificate = pem.parse_x509().unwrap();
        assert_eq!(certificate.subject().as_raw(), request.subject);
        assert_eq!(certificate.validity().not_after.timestamp(), now.seconds + 3600);
        assert_eq!(certificate.validity().not_before.timestamp(), now.seconds - 300);
        assert!(certificate.subject_alternative_name().unwrap().is_some());
        assert!(!certificate.is_ca());
        let trusted = apiwright_auth::Authority::load(&[&pki.authority]).unwrap();
        assert_eq!(trusted.verify(&[pem.contents.into()]), Ok(()), "its authority has signed it");
        let wrong = authority.sign(&request, &["frobnicate"], None, now);
        assert_eq!(wrong, Err("unrecognized usage values: [\"frobnicate\"]".to_owned()));
    }
}
