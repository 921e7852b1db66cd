//! How long admission webhooks take, under upstream's names.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

use apiwright_meta::metrics::{Bounds, Histogram, help, quoted};
use parking_lot::Mutex;

const MILLISECOND: u64 = 1_000_000;

static BOUNDS: Bounds<8> = Bounds {
    values: [
        5 * MILLISECOND,
        25 * MILLISECOND,
        100 * MILLISECOND,
        500 * MILLISECOND,
        1_000 * MILLISECOND,
        2_500 * MILLISECOND,
        10_000 * MILLISECOND,
        25_000 * MILLISECOND,
    ],
    scale: 1e9,
};

/// How many kinds of calls are told apart: whoever configures webhooks makes them.
const SERIES_MAX: usize = 10_000;

/// The calls of one server.
#[derive(Debug, Default)]
pub(crate) struct Figures(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// By name, operation, outcome and type.
    durations: BTreeMap<(String, &'static str, bool, &'static str), Histogram<8>>,
    /// By name and type.
    passed_over: BTreeMap<(String, &'static str), u64>,
}

impl Figures {
    /// Counts a call that began then.
    pub(crate) fn count(
        &self,
        name: &str,
        operation: &'static str,
        rejected: bool,
        step: &'static str,
        since: Instant,
    ) {
        let mut counts = self.0.lock();
        let key = (name.to_owned(), operation, rejected, step);
        if counts.durations.len() < SERIES_MAX || counts.durations.contains_key(&key) {
            let histogram = counts.durations.entry(key).or_insert_with(|| Histogram::new(&BOUNDS));
            histogram.observe_duration(since.elapsed());
        }
    }

    /// Counts a webhook that failed and was passed over.
    pub(crate) fn count_passed_over(&self, name: &str, step: &'static str) {
        let mut counts = self.0.lock();
        let key = (name.to_owned(), step);
        if counts.passed_over.len() < SERIES_MAX || counts.passed_over.contains_key(&key) {
            *counts.passed_over.entry(key).or_default() += 1;
        }
    }

    /// Appends them, in Prometheus' text format.
    pub(crate) fn render(&self, out: &mut String) {
        let counts = self.0.lock();
        let name = "apiserver_admission_webhook_admission_duration_seconds";
        let text = "Admission webhook latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).";
        help(out, name, "histogram", text);
        for ((hook, operation, rejected, step), histogram) in &counts.durations {
            let hook = quoted(hook);
            let labels =
                format!("name={hook},operation=\"{operation}\",rejected=\"{rejected}\",type=\"{step}\"");
            histogram.render(out, name, &labels);
        }
        let name = "apiserver_admission_webhook_fail_open_count";
        let text = "Admission webhook fail open count, identified by name and broken out for each admission type (validating or admit).";
        help(out, name, "counter", text);
        for ((hook, step), count) in &counts.passed_over {
            let _ = writeln!(out, "{name}{{name={},type=\"{step}\"}} {count}", quoted(hook));
        }
    }
}
