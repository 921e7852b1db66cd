//! The certificate that we show, from files that may change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, X509Certificate};

/// A certificate and its key; connections made after [`Identity::reload`] show what is there then.
#[derive(Debug)]
pub struct Identity {
    certificate: PathBuf,
    key: PathBuf,
    current: ArcSwap<Shown>,
}

#[derive(Debug)]
struct Shown {
    key: Arc<CertifiedKey>,
    /// Who signed the chain's certificates, DER.
    issuers: Vec<Vec<u8>>,
}

impl Identity {
    /// Reads both files.
    ///
    /// # Errors
    /// One line that names the file.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, String> {
        let current = ArcSwap::from_pointee(Shown::load(certificate, key)?);
        Ok(Self { certificate: certificate.into(), key: key.into(), current })
    }

    /// Reads the files again; on an error the old pair stays.
    ///
    /// # Errors
    /// As [`Identity::load`].
    pub fn reload(&self) -> Result<(), String> {
        self.current.store(Arc::new(Shown::load(&self.certificate, &self.key)?));
        Ok(())
    }

    /// The files.
    pub fn files(&self) -> [&Path; 2] {
        [&self.certificate, &self.key]
    }
}

impl Shown {
    fn load(certificate: &Path, key: &Path) -> Result<Self, String> {
        let fail = |path: &Path, why: String| format!("cannot use {}: {why}", path.display());
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect)
            .map_err(|error| fail(certificate, error.to_string()))?;
        if chain.is_empty() {
            return Err(fail(certificate, "it holds no PEM certificate".into()));
        }
        let issuers = chain.iter().filter_map(|der| issuer(der)).collect();
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| fail(key, error.to_string()))?;
        let key = CertifiedKey::from_der(chain, private, &ring::default_provider())
            .map_err(|error| fail(key, error.to_string()))?;
        Ok(Self { key: Arc::new(key), issuers })
    }
}

impl ResolvesClientCert for Identity {
    /// Nothing where the server names authorities and none of them has signed: as Go does it.
    fn resolve(&self, authorities: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let shown = self.current.load();
        let known = |issuer: &Vec<u8>| authorities.contains(&issuer.as_slice());
        let wanted = authorities.is_empty() || shown.issuers.iter().any(known);
        wanted.then(|| Arc::clone(&shown.key))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

fn issuer(der: &[u8]) -> Option<Vec<u8>> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Some(certificate.issuer().as_raw().to_vec())
}
