//! How long admission takes, by plugin and all together, under upstream's names.

use std::time::Instant;

use apiwright_meta::metrics::{Bounds, Histogram, help};

use crate::attributes::Operation;

const MILLISECOND: u64 = 1_000_000;

static BOUNDS: Bounds<6> = Bounds {
    values: [
        5 * MILLISECOND,
        25 * MILLISECOND,
        100 * MILLISECOND,
        500 * MILLISECOND,
        1000 * MILLISECOND,
        2500 * MILLISECOND,
    ],
    scale: 1e9,
};

const OPERATIONS: [Operation; 4] =
    [Operation::Connect, Operation::Create, Operation::Delete, Operation::Update];

/// What a plugin does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It changes it.
    Admit,
    /// It looks at it.
    Validate,
}

/// The durations of one plugin, or of a whole step: by operation, step and outcome.
#[derive(Debug)]
pub(crate) struct Durations(Vec<Histogram<6>>);

impl Default for Durations {
    fn default() -> Self {
        Self((0..OPERATIONS.len() * 4).map(|_| Histogram::new(&BOUNDS)).collect())
    }
}

impl Durations {
    /// Counts what has taken since then.
    pub(crate) fn count(&self, operation: Operation, step: Step, rejected: bool, since: Instant) {
        let at = OPERATIONS.iter().position(|one| *one == operation).unwrap_or_default();
        let at = at * 4 + usize::from(rejected) * 2 + usize::from(step == Step::Validate);
        self.0[at].observe_duration(since.elapsed());
    }

    fn render(&self, out: &mut String, name: &str, before: &str) {
        for (at, histogram) in self.0.iter().enumerate() {
            let operation = OPERATIONS[at / 4].as_str();
            let rejected = at / 2 % 2 == 1;
            let step = if at % 2 == 1 { "validate" } else { "admit" };
            let labels = format!("{before}operation=\"{operation}\",rejected=\"{rejected}\",type=\"{step}\"");
            histogram.render(out, name, &labels);
        }
    }
}

/// Appends the durations of plugins by name, and of the steps.
pub(crate) fn render<'a>(
    out: &mut String,
    plugins: impl Iterator<Item = (&'static str, &'a Durations)>,
    steps: &Durations,
) {
    let name = "apiserver_admission_controller_admission_duration_seconds";
    let text = "Admission controller latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).";
    help(out, name, "histogram", text);
    for (plugin, durations) in plugins {
        durations.render(out, name, &format!("name=\"{plugin}\","));
    }
    let name = "apiserver_admission_step_admission_duration_seconds";
    let text = "Admission sub-step latency histogram in seconds, broken out for each operation and API resource and step type (validate or admit).";
    help(out, name, "histogram", text);
    steps.render(out, name, "");
}
