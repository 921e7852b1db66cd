//! What the runtime asks of a controller.

use std::time::Duration;

use apiwright_meta::status::Result;
use futures::future::BoxFuture;
use tracing::debug;

use crate::change::Change;
use crate::fact::{Fact, Facts};
use crate::spec::ControllerSpec;

/// A controller, as the runtime sees it. The generated `Reconciler` implements it over observe,
/// decide and the outcomes.
pub trait Reconcile: Send + Sync + 'static {
    /// Its spec.
    fn spec(&self) -> &'static ControllerSpec;
    /// Adds the keys that a change is about, of watches with `key: hook`. Called in the order of
    /// revisions; it must not wait.
    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str));
    /// Brings what a key stands for to where it should be.
    fn reconcile<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Next>>;
    /// How a key stands, without touching anything.
    fn stand<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Standing>>;
}

/// What comes after a key was dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing, until something changes.
    Done,
    /// The key again after so long.
    After(Duration),
    /// The key again, later each time, as after a failure: what it waits for tells nobody.
    Again,
}

/// How a key stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Each fact's name and value.
    pub facts: Vec<(&'static str, &'static str)>,
    /// The outcome's name in the spec.
    pub outcome: String,
}

impl Standing {
    /// What was observed and what it calls for.
    pub fn of(facts: &impl Facts, outcome: impl Fact) -> Self {
        Self { facts: facts.describe(), outcome: spec_name(outcome) }
    }
}

/// Tells the log what was decided, and on what.
pub fn log_decision(spec: &ControllerSpec, key: &str, facts: &impl Facts, outcome: impl Fact) {
    debug!(controller = spec.name, key, facts = ?facts.describe(), outcome = outcome.name(), "decided");
}

/// Variants begin with a capital, outcomes do not.
fn spec_name(outcome: impl Fact) -> String {
    let mut chars = outcome.name().chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}
