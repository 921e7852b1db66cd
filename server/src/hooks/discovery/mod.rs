//! The discovery.k8s.io group.

mod endpoint_slice;
mod validate;

pub use endpoint_slice::EndpointSlice;
