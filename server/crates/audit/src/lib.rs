//! Auditing: what was asked of the server, by whom, and what came of it.
//!
//! Position: above `chain`, whose [`Trail`](apiwright_chain::Trail) carries what handlers note;
//! below `filters`, which tells the stages of a request. The events are audit.k8s.io/v1's.
//! Knows nothing of HTTP connections. Invariant: what a policy does not ask for costs nothing.

mod event;
mod log;
pub mod policy;

use std::sync::Arc;

pub use event::{Ended, Event, Head, Stage};
pub use log::{Log, Mode, Rotation};
pub use policy::{Orders, Policy};

/// Takes events: one JSON object each, without a newline.
pub trait Backend: Send + Sync + 'static {
    /// Takes one.
    ///
    /// # Errors
    /// When it is lost, and the operator wants requests to fail then.
    fn take(&self, event: Vec<u8>) -> Result<(), Lost>;

    /// Writes out what is still on its way.
    fn flush(&self) {}
}

/// An event that could not be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to store audit event")]
pub struct Lost;

/// A policy and those who take its events.
pub struct Audit {
    policy: Policy,
    backends: Vec<Arc<dyn Backend>>,
}

impl Audit {
    /// Events by this policy, to all of these.
    pub fn new(policy: Policy, backends: Vec<Arc<dyn Backend>>) -> Self {
        Self { policy, backends }
    }

    /// What the policy orders for requests.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Tells a stage, unless the policy leaves it out.
    ///
    /// # Errors
    /// As [`Backend::take`].
    pub fn tell(&self, event: &Event<'_>, stage: Stage, ended: Option<&Ended>) -> Result<(), Lost> {
        if event.orders.omits(stage) {
            return Ok(());
        }
        let json = event.to_json(stage, ended);
        let mut told = Ok(());
        for backend in &self.backends {
            told = backend.take(json.clone()).and(told);
        }
        told
    }

    /// Writes out what is still on its way.
    pub fn flush(&self) {
        for backend in &self.backends {
            backend.flush();
        }
    }
}
