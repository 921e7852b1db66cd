//! A bundle of certificate authorities in files, exchanged when they change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

/// Authorities whose certificates tell who a client is.
pub struct Authority {
    paths: Vec<PathBuf>,
    bundle: ArcSwap<Bundle>,
}

struct Bundle {
    generation: u64,
    verifier: Arc<dyn ClientCertVerifier>,
    pem: Vec<u8>,
    certificates: Vec<Vec<u8>>,
}

static GENERATIONS: AtomicU64 = AtomicU64::new(1);

impl Authority {
    /// Reads PEM files.
    ///
    /// # Errors
    /// When one cannot be read, or holds no usable certificate; the text names the file.
    pub fn load<P: AsRef<Path>>(paths: &[P]) -> Result<Self, String> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.as_ref().into()).collect();
        let bundle = Bundle::load(&paths)?;
        Ok(Self { paths, bundle: ArcSwap::from_pointee(bundle) })
    }

    /// Reads the files again; says whether they hold something else now. On an error the old
    /// bundle stays.
    ///
    /// # Errors
    /// As [`Authority::load`].
    pub fn reload(&self) -> Result<bool, String> {
        let bundle = Bundle::load(&self.paths)?;
        let changed = bundle.pem != self.bundle.load().pem;
        if changed {
            self.bundle.store(Arc::new(bundle));
        }
        Ok(changed)
    }

    /// A number that changes with the bundle.
    pub fn generation(&self) -> u64 {
        self.bundle.load().generation
    }

    /// The certificates, DER: what clients are told to look for.
    pub fn certificates(&self) -> Vec<Vec<u8>> {
        self.bundle.load().certificates.clone()
    }

    /// The files' content.
    pub fn pem(&self) -> String {
        String::from_utf8_lossy(&self.bundle.load().pem).into_owned()
    }

    /// Whether one of the authorities has signed the first of these certificates for a client,
    /// over the others where need be, and all are valid now.
    ///
    /// # Errors
    /// The reason, for the log.
    pub fn verify(&self, certificates: &[Bytes]) -> Result<(), String> {
        let mut chain = certificates.iter().map(|der| CertificateDer::from(der.as_ref()));
        let Some(own) = chain.next() else { return Err("no certificate".into()) };
        let others: Vec<_> = chain.collect();
        match self.bundle.load().verifier.verify_client_cert(&own, &others, UnixTime::now()) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("x509: {error}")),
        }
    }
}

impl Bundle {
    fn load(paths: &[PathBuf]) -> Result<Self, String> {
        let mut pem = Vec::new();
        let mut roots = RootCertStore::empty();
        let mut certificates = Vec::new();
        for path in paths {
            let name = path.display();
            let text =
                std::fs::read(path).map_err(|error| format!("cannot read the CA file {name}: {error}"))?;
            let known = certificates.len();
            for certificate in CertificateDer::pem_slice_iter(&text) {
                let certificate =
                    certificate.map_err(|error| format!("the CA file {name} is not PEM: {error}"))?;
                certificates.push(certificate.to_vec());
                roots
                    .add(certificate)
                    .map_err(|error| format!("the CA file {name} has a bad certificate: {error}"))?;
            }
            if certificates.len() == known {
                return Err(format!("the CA file {name} holds no PEM certificate"));
            }
            pem.extend(text);
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| format!("cannot use the CA files: {error}"))?;
        Ok(Self { generation: GENERATIONS.fetch_add(1, Ordering::Relaxed), verifier, pem, certificates })
    }
}
