//! Certificates for tests.

use std::path::PathBuf;

use bytes::Bytes;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use tempfile::TempDir;
use time::{Duration, OffsetDateTime};

use crate::authority::Authority;

/// An authority with its own key, and a file with its certificate.
pub(crate) struct Signer {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    dir: TempDir,
}

/// So many days from now.
pub(crate) fn days(count: i64) -> OffsetDateTime {
    OffsetDateTime::now_utc() + Duration::days(count)
}

impl Signer {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let signer = Self { issuer: Issuer::new(params, key), pem, dir: tempfile::tempdir().unwrap() };
        std::fs::write(signer.path(), &signer.pem).unwrap();
        signer
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("ca.crt")
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// What is trusted when this signer's file is.
    pub(crate) fn authority(&self) -> Authority {
        Authority::load(&[self.path()]).unwrap()
    }

    /// A certificate, DER, for a client or a server.
    pub(crate) fn sign(
        &self,
        name: &str,
        group: &str,
        client: bool,
        from: OffsetDateTime,
        to: OffsetDateTime,
    ) -> Bytes {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (kind, text) in [(DnType::OrganizationName, group), (DnType::CommonName, name)] {
            if !text.is_empty() {
                params.distinguished_name.push(kind, text);
            }
        }
        let usage =
            if client { ExtendedKeyUsagePurpose::ClientAuth } else { ExtendedKeyUsagePurpose::ServerAuth };
        params.extended_key_usages = vec![usage];
        (params.not_before, params.not_after) = (from, to);
        let certificate = params.signed_by(&KeyPair::generate().unwrap(), &self.issuer).unwrap();
        Bytes::copy_from_slice(certificate.der())
    }
}
