//! Connections to servers outside: admission and conversion webhooks, aggregated API servers.
//!
//! Position: above `meta`, below everything that talks to others. Knows nothing of objects, users
//! or the chain. Invariants: each backend has its own pool and its own trust, so that a broken one
//! costs nobody else anything; every failure reads as Go's HTTP client would have put it, because
//! such texts reach clients and conditions.

mod backend;
mod dial;
pub mod error;
mod identity;
mod pool;
mod resolve;
mod trust;

pub use backend::{Backend, Body, Via, empty, full};
pub use error::{Error, Kind};
pub use identity::Identity;
pub use pool::{Backends, Target};
pub use resolve::{Host, Resolver, ServiceReference};
pub use trust::Trust;
