//! What controllers are made of: facts and decisions, queues, informers, the loop.
//!
//! Position: above `registry`, below everything that speaks HTTP. A controller's spec and decision
//! are generated; what it observes and does is a [`Reconcile`] made of Rust and the generated half.
//!
//! ```text
//! storage --one watch, in order--> Informers --keys--> Queue --workers--> observe -> decide -> act
//! ```
//!
//! Invariant: a key is worked on by one worker at a time; what fails is tried again, later each time;
//! an idle controller costs nothing.

mod asked;
mod backoff;
mod cache;
mod change;
mod controllers;
pub mod election;
pub mod explain;
pub mod fact;
mod informers;
mod inspect;
mod lease;
pub mod metrics;
mod queue;
mod reconcile;
mod resources;
pub mod select;
mod spec;
mod standby;
mod worker;
mod writer;

pub use apiwright_meta::status::Result;
pub use cache::Cache;
pub use change::Change;
pub use controllers::{Controllers, Running};
pub use fact::{Fact, Facts};
pub use futures::future::BoxFuture;
pub use informers::{Handler, Informers};
pub use inspect::{Inspected, InspectedKey};
pub use lease::Lease;
pub use queue::{Key, Queue};
pub use reconcile::{Next, Reconcile, Standing, log_decision};
pub use resources::Resources;
pub use spec::{ControllerSpec, FactSpec, KeyFrom, OutcomeSpec, ResourceName, RuleSpec, WatchSpec};
pub use standby::Standby;
pub use writer::{Identity, Writer};
