//! Webhooks: others who are asked about requests, over HTTPS.
//!
//! Position: above `admission`, whose plugins it brings two more to, and `remote`, which makes the
//! connections; below `apiextensions`, whose definitions have objects converted by webhooks through
//! the same [`Client`].
//! Invariant: where nothing is configured, a request costs one load of an atomic pointer. What is
//! configured is compiled once, when it changes, by event.

pub mod admission;
mod answer;
mod call;
pub mod caller;
mod client;
mod conditions;
mod configurations;
mod figures;
mod hook;
mod kubeconfig;
mod mutating;
mod review;
mod validating;

pub use admission::AdmissionWebhooks;
pub use caller::Caller;
pub use client::{Client, Clients, Failure};
pub use kubeconfig::Access;
