//! The events.k8s.io group: the core group's events by other field names.

pub use super::core::Event;
