//! Auditing: what was asked of the server, by whom, and what came of it.
//!
//! Position: above `chain`, whose [`Trail`](apiwright_chain::Trail) carries what handlers note;
//! below `filters`, which tells the stages of a request. The events are audit.k8s.io/v1's.
//! Knows nothing of HTTP connections. Invariant: what a policy does not ask for costs nothing.

mod buffer;
mod event;
mod figures;
mod log;
pub mod policy;
mod sink;
mod webhook;

use apiwright_chain::trail::Depth;
use bytes::Bytes;

pub use buffer::{Batching, Throttle};
pub use event::{Ended, Event, Head, Stage};
pub use figures::Figures;
pub use log::{Log, Rotation};
pub use policy::{Orders, Policy};
pub use sink::{Deliver, Form, Mode, Sink};
pub use webhook::{Post, Webhook};

use event::Objects;

/// An event that could not be kept, and whose request has to fail for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to store audit event")]
pub struct Lost;

/// A policy and those who take its events.
pub struct Audit {
    policy: Policy,
    sinks: Vec<Sink>,
    figures: Figures,
}

impl Audit {
    /// Events by this policy, to all of these.
    pub fn new(policy: Policy, sinks: Vec<Sink>) -> Self {
        let figures = Figures::of(sinks.iter().map(|sink| sink.name));
        Self { policy, sinks, figures }
    }

    /// What the policy orders for requests.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What has been counted.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// The server is about to serve.
    pub fn begin(&self) {
        self.sinks.iter().for_each(Sink::begin);
    }

    /// Counts what the policy ordered for a request.
    pub fn count(&self, depth: Option<Depth>) {
        self.figures.count_level(depth);
    }

    /// Tells a stage, unless the policy leaves it out.
    ///
    /// # Errors
    /// When an event is lost, and the operator wants requests to fail then.
    pub fn tell(&self, event: &Event<'_>, stage: Stage, ended: Option<&Ended>) -> Result<(), Lost> {
        if event.orders.omits(stage) {
            return Ok(());
        }
        self.figures.count_event();
        let whole: Bytes = event.to_json(stage, ended, Objects::Told).into();
        let mut told = Ok(());
        for sink in &self.sinks {
            let Some(text) = fitting(sink, event, stage, ended, &whole) else {
                tracing::error!(plugin = sink.name, "event is too large even after truncating");
                self.figures.count_error("truncate");
                continue;
            };
            match sink.take(text) {
                Ok(true) => {}
                Ok(false) => self.figures.count_error(sink.name),
                Err(lost) => {
                    self.figures.count_error(sink.name);
                    told = Err(lost);
                }
            }
        }
        if told.is_err() && stage == Stage::RequestReceived {
            self.figures.count_rejected();
        }
        told
    }

    /// Writes out what is still on its way.
    pub fn flush(&self) {
        self.sinks.iter().for_each(Sink::flush);
    }
}

/// An event as a sink wants it; none where it is too long however little is told.
fn fitting(
    sink: &Sink,
    event: &Event<'_>,
    stage: Stage,
    ended: Option<&Ended>,
    whole: &Bytes,
) -> Option<Bytes> {
    let mut text = whole.clone();
    if let Some(max) = sink.event_bytes_max.filter(|max| whole.len() > *max) {
        if event.tells_objects() {
            text = event.to_json(stage, ended, Objects::LeftOut).into();
        }
        if text.len() > max {
            return None;
        }
    }
    Some(match sink.form {
        Form::Json => text,
        Form::Legacy => event.to_line(stage, ended).into(),
    })
}
