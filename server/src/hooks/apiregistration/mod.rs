//! The apiregistration.k8s.io group.

mod api_service;

pub use api_service::APIService;
