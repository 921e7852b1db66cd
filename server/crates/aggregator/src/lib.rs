//! The head of the chain. It serves its own kind, APIService, and the pages that speak for the
//! whole chain: discovery, OpenAPI, health, the list of paths. Requests for the group versions of
//! servers outside are theirs to answer; everything else goes on.
//!
//! Position: above `apiextensions`, below `filters`.
//! Invariants: a request that this process answers pays for one look at a map; a server outside
//! that is slow, dead or lying costs its own group versions and nobody else.

pub mod content;
mod forward;
mod gather;
mod proxy;
pub mod registration;
pub mod routes;
pub mod server;
pub mod service;
mod swagger;
mod upgrade;

pub use content::{Elsewhere, Held};
pub use gather::aggregator_headers;
pub use registration::Registration;
pub use routes::Routes;
pub use server::Aggregator;
pub use service::{ApiService, Remote};
