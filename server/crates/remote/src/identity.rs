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
    files: Option<[PathBuf; 2]>,
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
        Ok(Self { files: Some([certificate.into(), key.into()]), current })
    }

    /// A pair that never changes, PEM.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_pem(certificate: &[u8], key: &[u8]) -> Result<Self, String> {
        let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| format!("its client-certificate: {error}"))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("its client-key: {error}"))?;
        let shown = Shown::of(chain, key).map_err(|why| format!("its client-certificate: {why}"))?;
        Ok(Self { files: None, current: ArcSwap::from_pointee(shown) })
    }

    /// Reads the files again; on an error the old pair stays.
    ///
    /// # Errors
    /// As [`Identity::load`].
    pub fn reload(&self) -> Result<(), String> {
        if let Some([certificate, key]) = &self.files {
            self.current.store(Arc::new(Shown::load(certificate, key)?));
        }
        Ok(())
    }

    /// The files, if it is from any.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().flatten().map(PathBuf::as_path)
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
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| fail(key, error.to_string()))?;
        Self::of(chain, private).map_err(|why| fail(key, why))
    }

    fn of(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Self, String> {
        let issuers = chain.iter().filter_map(|der| issuer(der)).collect();
        let key = CertifiedKey::from_der(chain, key, &ring::default_provider());
        Ok(Self { key: Arc::new(key.map_err(|error| error.to_string())?), issuers })
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
