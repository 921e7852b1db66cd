//! The rbac.authorization.k8s.io group.

mod binding;
mod role;

pub use binding::Binding;
pub use role::Role;
