//! The certificates.k8s.io group.

mod certificate_signing_request;
mod cluster_trust_bundle;
mod pem;
mod validate;

pub use certificate_signing_request::CertificateSigningRequest;
pub use cluster_trust_bundle::ClusterTrustBundle;
