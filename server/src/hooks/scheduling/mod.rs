//! The scheduling.k8s.io group.

mod priority_class;

pub use priority_class::PriorityClass;
