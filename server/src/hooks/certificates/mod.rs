//! The certificates.k8s.io group.

mod certificate_signing_request;

pub use certificate_signing_request::CertificateSigningRequest;
