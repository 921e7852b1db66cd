//! The figures of the priority levels, under upstream's names.

use std::fmt::Write;

use super::Flows;
use super::seats::{Counts, Figures};
use crate::metrics::{Source, help};

/// Reads one figure.
type Of = fn(&Figures) -> u64;

impl Source for Flows {
    fn render(&self, out: &mut String) {
        let Some(seats) = &self.seats else { return };
        let all = seats.figures();
        let gauges: [(&str, &str, Of); 3] = [
            ("nominal_limit_seats", "A priority level's own seats.", |figures| figures.nominal.into()),
            ("current_executing_seats", "Seats that are taken.", |figures| figures.taken.into()),
            ("current_inqueue_requests", "Requests that wait.", |figures| figures.waiting as u64),
        ];
        for (name, text, of) in gauges {
            let name = format!("apiserver_flowcontrol_{name}");
            help(out, &name, "gauge", text);
            for figures in &all {
                let _ = writeln!(out, "{name}{{priority_level=\"{}\"}} {}", figures.level, of(figures));
            }
        }
        let dispatched = "apiserver_flowcontrol_dispatched_requests_total";
        help(out, dispatched, "counter", "Requests that were given a seat.");
        for figures in &all {
            let (level, count) = (&figures.level, figures.counts.dispatched);
            let _ = writeln!(out, "{dispatched}{{priority_level=\"{level}\"}} {count}");
        }
        let rejected = "apiserver_flowcontrol_rejected_requests_total";
        help(out, rejected, "counter", "Requests that were given none, by the reason.");
        for figures in &all {
            for (reason, count) in reasons(&figures.counts).into_iter().filter(|(_, count)| *count > 0) {
                let level = &figures.level;
                let _ = writeln!(out, "{rejected}{{priority_level=\"{level}\",reason=\"{reason}\"}} {count}");
            }
        }
    }
}

fn reasons(counts: &Counts) -> [(&'static str, u64); 4] {
    [
        ("cancelled", counts.cancelled),
        ("concurrency-limit", counts.concurrency_limit),
        ("queue-full", counts.queue_full),
        ("time-out", counts.time_out),
    ]
}
