//! Whom we believe to be a server.
//!
//! The chain is webpki's business. What differs from it is what Go allows besides (a certificate
//! that is trusted itself, whatever it is for) and the words in which a refusal is told.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::error::{Error, Kind};

/// Who signs a server's certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// The authorities that the system trusts.
    #[default]
    System,
    /// These, PEM.
    Bundle(Vec<u8>),
    /// Nobody is asked.
    Insecure,
}

impl Trust {
    /// What `caBundle` and `insecureSkipTLSVerify` mean together.
    pub fn of(bundle: &[u8], insecure: bool) -> Self {
        match (insecure, bundle) {
            (true, _) => Self::Insecure,
            (false, []) => Self::System,
            (false, bundle) => Self::Bundle(bundle.to_vec()),
        }
    }

    pub(crate) fn verifier(&self) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        let (certificates, insecure) = match self {
            Self::System => (system().to_vec(), false),
            Self::Bundle(pem) => (read(pem)?, false),
            Self::Insecure => (Vec::new(), true),
        };
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        let chains = if roots.is_empty() {
            None
        } else {
            let built =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
            Some(built.map_err(|error| unusable(&error.to_string()))?)
        };
        Ok(Arc::new(Verifier { certificates, chains, insecure, provider }))
    }
}

fn read(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|_| unusable("unable to parse bytes as PEM block"))?;
    if certificates.is_empty() {
        return Err(unusable("unable to parse bytes as PEM block"));
    }
    for certificate in &certificates {
        X509Certificate::from_der(certificate)
            .map_err(|error| unusable(&format!("failed to parse certificate: x509: {error}")))?;
    }
    Ok(certificates)
}

fn unusable(why: &str) -> Error {
    Error::new(Kind::Target, format!("unable to load root certificates: {why}"))
}

/// Read once: the system's bundle is long.
fn system() -> &'static [CertificateDer<'static>] {
    static SYSTEM: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();
    SYSTEM.get_or_init(|| rustls_native_certs::load_native_certs().certs)
}

#[derive(Debug)]
struct Verifier {
    certificates: Vec<CertificateDer<'static>>,
    chains: Option<Arc<WebPkiServerVerifier>>,
    insecure: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.insecure {
            return Ok(ServerCertVerified::assertion());
        }
        let checked = match &self.chains {
            Some(chains) => chains.verify_server_cert(own, others, name, ocsp, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        };
        let Err(error) = checked else { return Ok(ServerCertVerified::assertion()) };
        match fault(own, name, now) {
            Some(words) => Err(refusal(words)),
            None if self.certificates.iter().any(|one| one == own) => Ok(ServerCertVerified::assertion()),
            None => Err(refusal(of_chain(&error))),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The words for what is wrong, on their way through the TLS library.
#[derive(Debug)]
struct Words(String);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Words {}

fn refusal(words: String) -> rustls::Error {
    CertificateError::Other(OtherError(Arc::new(Words(words)))).into()
}

/// What is wrong with a certificate whoever signed it: its time, its names.
fn fault(own: &CertificateDer<'_>, name: &ServerName<'_>, now: UnixTime) -> Option<String> {
    let (_, certificate) = match X509Certificate::from_der(own) {
        Ok(parsed) => parsed,
        Err(error) => return Some(format!("x509: {error}")),
    };
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let validity = certificate.validity();
    for (outside, relation, limit) in [
        (seconds < validity.not_before.timestamp(), "before", validity.not_before.timestamp()),
        (seconds > validity.not_after.timestamp(), "after", validity.not_after.timestamp()),
    ] {
        if outside {
            return Some(format!(
                "x509: certificate has expired or is not yet valid: current time {} is {relation} {}",
                moment(seconds),
                moment(limit)
            ));
        }
    }
    let matches =
        ParsedCertificate::try_from(own).and_then(|parsed| rustls::client::verify_server_name(&parsed, name));
    matches.is_err().then(|| of_names(&certificate, name))
}

fn of_names(certificate: &X509Certificate<'_>, name: &ServerName<'_>) -> String {
    let wanted = name.to_str();
    let (mut dns, mut ips, mut has_names) = (Vec::new(), Vec::new(), false);
    if let Ok(Some(names)) = certificate.subject_alternative_name() {
        has_names = true;
        for one in &names.value.general_names {
            match one {
                GeneralName::DNSName(name) => dns.push((*name).to_owned()),
                GeneralName::IPAddress(bytes) => ips.extend(ip(bytes)),
                _ => {}
            }
        }
    }
    let common = certificate.subject().iter_common_name().next().and_then(|name| name.as_str().ok());
    if !has_names && common.is_some_and(|common| common.eq_ignore_ascii_case(&wanted)) {
        return "x509: certificate relies on legacy Common Name field, use SANs instead".into();
    }
    let is_ip = matches!(name, ServerName::IpAddress(_));
    match if is_ip { ips } else { dns }.join(", ").as_str() {
        "" if is_ip => {
            format!("x509: cannot validate certificate for {wanted} because it doesn't contain any IP SANs")
        }
        "" => format!("x509: certificate is not valid for any names, but wanted to match {wanted}"),
        valid => format!("x509: certificate is valid for {valid}, not {wanted}"),
    }
}

fn ip(bytes: &[u8]) -> Option<String> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|four| std::net::IpAddr::from(four).to_string());
    let v6 = || <[u8; 16]>::try_from(bytes).map(|all| std::net::IpAddr::from(all).to_string());
    v4.or_else(|_| v6()).ok()
}

fn of_chain(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. },
        ) => "x509: certificate specifies an incompatible key usage".into(),
        rustls::Error::InvalidCertificate(CertificateError::Revoked) => "x509: certificate is revoked".into(),
        _ => "x509: certificate signed by unknown authority".into(),
    }
}

fn moment(seconds: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(&Rfc3339).unwrap_or_default()
}
