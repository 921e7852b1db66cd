//! How often APIServices became unavailable, and which are.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use apiwright_aggregator::Registration;
use apiwright_filters::metrics::{Source, help};

/// Counts what became unavailable, by name and reason.
#[derive(Default)]
pub struct Unavailable(Mutex<BTreeMap<(String, &'static str), u64>>);

impl Unavailable {
    /// One more.
    pub(super) fn count(&self, name: &str, reason: &'static str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((name.to_owned(), reason)).or_default() += 1;
    }
}

/// The figures of APIServices.
pub struct Figures {
    /// Which there are.
    pub registration: Arc<Registration>,
    /// What was counted.
    pub unavailable: Arc<Unavailable>,
}

impl Source for Figures {
    fn render(&self, out: &mut String) {
        let name = "aggregator_unavailable_apiservice";
        help(
            out,
            name,
            "gauge",
            "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
        );
        for service in self.registration.all() {
            let _ = writeln!(out, "{name}{{name=\"{}\"}} {}", service.name, u8::from(!service.available));
        }
        let name = "aggregator_unavailable_apiservice_total";
        help(
            out,
            name,
            "counter",
            "Counter of APIServices which are marked as unavailable broken down by APIService name and reason.",
        );
        let counts = self.unavailable.0.lock().unwrap_or_else(PoisonError::into_inner);
        for ((service, reason), count) in counts.iter() {
            let _ = writeln!(out, "{name}{{name=\"{service}\",reason=\"{reason}\"}} {count}");
        }
    }
}
