//! The third link of the chain. It serves its own kind, CustomResourceDefinition.
//!
//! Position: above `endpoints`, below `aggregator`.
//! Absence: definitions are stored and listed; the resources that they define are not served yet,
//! requests for them go on to the end of the chain.

pub mod server;

pub use server::ApiExtensions;
