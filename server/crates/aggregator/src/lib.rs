//! The head of the chain. It serves its own kind, APIService, and the pages that speak for the
//! whole chain: discovery, OpenAPI, health, the list of paths. Everything else goes on.
//!
//! Position: above `apiextensions`, below `filters`.
//! Absence: APIServices are stored and listed; requests are not routed by them yet, the delegates
//! of this process serve what they own.

pub mod server;

pub use server::Aggregator;
