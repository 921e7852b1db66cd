//! The node.k8s.io group.

mod runtime_class;

pub use runtime_class::RuntimeClass;
