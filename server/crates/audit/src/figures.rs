//! What is counted of audits, under upstream's names.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use apiwright_chain::trail::Depth;

const LEVELS: [&str; 4] = ["Metadata", "None", "Request", "RequestResponse"];

/// The counts of one server.
#[derive(Debug)]
pub struct Figures {
    events: AtomicU64,
    rejected: AtomicU64,
    levels: [AtomicU64; LEVELS.len()],
    errors: Vec<(&'static str, AtomicU64)>,
}

impl Figures {
    pub(crate) fn of(sinks: impl Iterator<Item = &'static str>) -> Self {
        let errors = sinks.chain(["truncate"]).map(|name| (name, AtomicU64::new(0))).collect();
        Self { events: AtomicU64::new(0), rejected: AtomicU64::new(0), levels: Default::default(), errors }
    }

    pub(crate) fn count_event(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_rejected(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_level(&self, depth: Option<Depth>) {
        let at = match depth {
            Some(Depth::Metadata) => 0,
            None => 1,
            Some(Depth::Request) => 2,
            Some(Depth::RequestResponse) => 3,
        };
        self.levels[at].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_error(&self, sink: &str) {
        if let Some((_, count)) = self.errors.iter().find(|(name, _)| *name == sink) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Appends them, in Prometheus' text format.
    pub fn render(&self, out: &mut String) {
        let mut metric = |name: &str, help: &str, samples: &[(String, u64)]| {
            let _ =
                writeln!(out, "# HELP apiserver_audit_{name} {help}\n# TYPE apiserver_audit_{name} counter");
            for (labels, value) in samples {
                let _ = writeln!(out, "apiserver_audit_{name}{labels} {value}");
            }
        };
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let errors: Vec<_> = self
            .errors
            .iter()
            .filter(|(_, count)| load(count) > 0)
            .map(|(name, count)| (format!("{{plugin=\"{name}\"}}"), load(count)))
            .collect();
        metric(
            "error_total",
            "Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the error.",
            &errors,
        );
        let plain = |count| [(String::new(), load(count))];
        metric(
            "event_total",
            "Counter of audit events generated and sent to the audit backend.",
            &plain(&self.events),
        );
        let levels: Vec<_> = LEVELS
            .iter()
            .zip(&self.levels)
            .filter(|(_, count)| load(count) > 0)
            .map(|(level, count)| (format!("{{level=\"{level}\"}}"), load(count)))
            .collect();
        metric("level_total", "Counter of policy levels for audit events (1 per request).", &levels);
        metric(
            "requests_rejected_total",
            "Counter of apiserver requests rejected due to an error in audit logging backend.",
            &plain(&self.rejected),
        );
    }
}
