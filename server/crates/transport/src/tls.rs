//! The TLS configuration of the moment: what is shown, what is asked of clients.
//!
//! Clients are asked for a certificate and may have none. Whose a certificate is, and whether
//! anybody trusts its signer, is the authenticators' business; only the proof that the client
//! has its key belongs here.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};

use crate::certificates::Certificates;
use crate::rules::Rules;

/// The configuration that new connections get; can be exchanged while serving.
pub struct Tls {
    rules: Rules,
    config: ArcSwap<ServerConfig>,
}

impl Tls {
    /// By these rules, shows `certificates`; names the `authorities` (DER) whose certificates clients may show,
    /// where there are any.
    ///
    /// # Errors
    /// When the library refuses the configuration.
    pub fn new(
        rules: Rules,
        certificates: Certificates,
        authorities: &[Vec<u8>],
    ) -> Result<Self, rustls::Error> {
        let config = ArcSwap::new(configure(&rules, certificates, authorities)?);
        Ok(Self { rules, config })
    }

    /// Takes other certificates and authorities from now on; connections keep what they have.
    ///
    /// # Errors
    /// When the library refuses the configuration; the old one stays.
    pub fn replace(&self, certificates: Certificates, authorities: &[Vec<u8>]) -> Result<(), rustls::Error> {
        self.config.store(configure(&self.rules, certificates, authorities)?);
        Ok(())
    }

    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        self.config.load_full()
    }
}

fn configure(
    rules: &Rules,
    certificates: Certificates,
    authorities: &[Vec<u8>],
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let provider = Arc::new(rules.provider());
    let client = AnyCertificate { provider: Arc::clone(&provider), hints: hints(authorities) };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(rules.versions())?
        .with_client_cert_verifier(Arc::new(client))
        .with_cert_resolver(Arc::new(ByName(certificates)));
    config.alpn_protocols = rules.protocols();
    Ok(Arc::new(config))
}

fn hints(authorities: &[Vec<u8>]) -> Vec<DistinguishedName> {
    use x509_parser::prelude::{FromDer, X509Certificate};
    authorities
        .iter()
        .filter_map(|der| X509Certificate::from_der(der).ok())
        .map(|(_, certificate)| DistinguishedName::from(certificate.subject().as_raw().to_vec()))
        .collect()
}

#[derive(Debug)]
struct ByName(Certificates);

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.resolve(hello.server_name()))
    }
}

/// Asks for a certificate, takes any or none.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
    hints: Vec<DistinguishedName>,
}

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
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
