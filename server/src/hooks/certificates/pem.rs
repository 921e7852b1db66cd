//! Requests and certificates in PEM.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use x509_parser::certificate::X509Certificate;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

/// What is wrong with a request, which is base64 as JSON has it.
pub(super) fn request_fault(request: &str) -> Option<String> {
    let pem = STANDARD.decode(request).unwrap_or_default();
    let block = Pem::iter_from_buffer(&pem).find_map(Result::ok);
    let Some(block) = block.filter(|block| block.label == "CERTIFICATE REQUEST") else {
        return Some("PEM block type must be CERTIFICATE REQUEST".into());
    };
    match X509CertificationRequest::from_der(&block.contents) {
        Err(_) => Some("asn1: structure error: malformed certificate request".into()),
        Ok((rest, _)) if !rest.is_empty() => Some("asn1: syntax error: trailing data".into()),
        Ok((_, request)) => request
            .verify_signature()
            .err()
            .map(|_| "x509: signature of certificate request is invalid".into()),
    }
}

/// What is wrong with issued certificates, which are base64 as JSON has it; none is fine.
pub(super) fn certificates_fault(certificates: &str) -> Option<String> {
    let pem = STANDARD.decode(certificates).unwrap_or_default();
    if pem.is_empty() {
        return None;
    }
    let mut blocks = 0;
    for block in Pem::iter_from_buffer(&pem).filter_map(Result::ok) {
        if block.label != "CERTIFICATE" {
            return Some(format!("only CERTIFICATE PEM blocks are allowed, found {:?}", block.label));
        }
        if X509Certificate::from_der(&block.contents).is_err() {
            return Some("x509: malformed certificate".into());
        }
        blocks += 1;
    }
    (blocks == 0).then(|| "must contain at least one CERTIFICATE PEM block".into())
}
