//! Certificates and keys in files, read with an error that names the file and the fault.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// A certificate chain and its key, in PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPair {
    /// The chain, the server's own certificate first.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
    /// The names that it is used for; empty for those in the certificate.
    pub names: Vec<String>,
}

/// What a server shows: one certificate for everyone, others by the name that is asked for.
#[derive(Debug)]
pub struct Certificates {
    default: Arc<CertifiedKey>,
    named: Vec<(String, Arc<CertifiedKey>)>,
}

/// Why a certificate or a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot use {path}: {why}")]
pub struct Error {
    /// The file.
    pub path: String,
    /// The fault.
    pub why: String,
}

impl Error {
    fn new(path: &Path, why: impl ToString) -> Self {
        Self { path: path.display().to_string(), why: why.to_string() }
    }
}

impl Certificates {
    /// Reads the default pair and those by name.
    ///
    /// # Errors
    /// When a file cannot be read, holds something else, or a key is not its certificate's.
    pub fn load(default: &KeyPair, by_name: &[KeyPair]) -> Result<Self, Error> {
        let default = Arc::new(load_pair(default)?);
        let mut named = Vec::new();
        for pair in by_name {
            let key = Arc::new(load_pair(pair)?);
            let names = if pair.names.is_empty() { names_of(&key) } else { pair.names.clone() };
            named.extend(names.into_iter().map(|name| (name.to_ascii_lowercase(), Arc::clone(&key))));
        }
        Ok(Self { default, named })
    }

    /// The certificate for a name: an exact one, else a wildcard's, else the default.
    pub fn resolve(&self, name: Option<&str>) -> Arc<CertifiedKey> {
        let Some(name) = name.filter(|_| !self.named.is_empty()) else { return Arc::clone(&self.default) };
        let name = name.to_ascii_lowercase();
        let wildcard = name.split_once('.').map(|(_, parent)| format!("*.{parent}"));
        let found = |wanted: &str| self.named.iter().find(|(its_name, _)| its_name == wanted);
        let key = found(&name).or_else(|| found(&wildcard?)).map_or(&self.default, |(_, key)| key);
        Arc::clone(key)
    }
}

/// The certificates of a PEM file, at least one.
///
/// # Errors
/// When it cannot be read or holds none.
pub fn load_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|error| Error::new(path, words(&error)))?.collect();
    let chain = chain.map_err(|error| Error::new(path, words(&error)))?;
    if chain.is_empty() {
        return Err(Error::new(path, "it holds no PEM certificate"));
    }
    Ok(chain)
}

fn load_pair(pair: &KeyPair) -> Result<CertifiedKey, Error> {
    let chain = load_chain(&pair.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&pair.key).map_err(|error| match error {
        pem::Error::NoItemsFound => Error::new(&pair.key, "it holds no PEM private key"),
        other => Error::new(&pair.key, words(&other)),
    })?;
    CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            Error::new(&pair.key, format!("it is not the key of {}", pair.certificate.display()))
        }
        other => Error::new(&pair.key, other),
    })
}

fn words(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(cause) => cause.to_string(),
        other => format!("it is not PEM: {other}"),
    }
}

/// The DNS names of a certificate, or its common name where it has none.
fn names_of(key: &CertifiedKey) -> Vec<String> {
    let Some(Ok((_, certificate))) = key.cert.first().map(|der| X509Certificate::from_der(der)) else {
        return Vec::new();
    };
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let names: Vec<String> = alternatives
        .iter()
        .flat_map(|extension| &extension.value.general_names)
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        })
        .collect();
    if !names.is_empty() {
        return names;
    }
    certificate
        .subject()
        .iter_common_name()
        .filter_map(|name| name.as_str().ok().map(str::to_owned))
        .collect()
}
