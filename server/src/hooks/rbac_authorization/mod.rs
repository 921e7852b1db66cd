//! The rbac.authorization.k8s.io group.

mod binding;

pub use binding::Binding;
