//! The networking.k8s.io group.

mod address;
mod ingress;
mod ingress_class;
mod network_policy;

pub use address::{IPAddress, ServiceCIDR};
pub use ingress::Ingress;
pub use ingress_class::IngressClass;
pub use network_policy::NetworkPolicy;
