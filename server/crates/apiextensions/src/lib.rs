//! The third link of the chain. It serves its own kind, CustomResourceDefinition, and the resources
//! that those define.
//!
//! Position: above `endpoints`, below `aggregator`. A [`Controller`] follows the definitions in
//! storage and keeps [`CustomResources`], which [`ApiExtensions`] looks requests up in.
//! Invariant: a resource is served before its definition says that it is established.

pub mod approval;
mod cleanup;
mod conditions;
mod controller;
mod conversion;
mod custom;
pub mod definition;
mod embedded;
mod finalizers;
pub mod literals;
mod naming;
mod scale;
pub mod schema;
pub mod server;
mod serving;
mod status;
pub mod validations;
mod view;

pub use controller::Controller;
pub use server::ApiExtensions;
pub use view::CustomResources;
