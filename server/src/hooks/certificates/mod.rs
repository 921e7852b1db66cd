//! The certificates.k8s.io group.

mod certificate_signing_request;
mod pem;
mod signer;
mod validate;

pub use certificate_signing_request::CertificateSigningRequest;
