//! What every request passes before a handler sees it: one file per filter, in order.
//!
//! Above: transport, which has the connections. Below: auth, and the delegation chain, whose
//! head gets what may pass. Knows nothing of objects and never reads a body. Invariants: every
//! request is answered, by its deadline if it has one, whatever panics below; every answer
//! carries its Audit-ID; nothing unauthorized gets behind the last filter.

mod access_log;
mod audit;
mod audit_id;
mod authentication;
mod authorization;
mod cache_control;
mod cors;
mod deadline;
mod drain;
pub mod flow;
mod head_method;
mod impersonation;
mod in_flight;
mod malformed_path;
pub mod metrics;
mod panic_recovery;
mod place;
mod request_info;
pub mod stack;
mod write;

pub use cors::Cors;
pub use flow::Flows;
pub use metrics::Metrics;
pub use stack::{Config, Stack};
