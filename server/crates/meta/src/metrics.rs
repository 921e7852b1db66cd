//! Numbers as Prometheus reads them.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often values were how great. Counting is two additions; nobody waits for anybody.
#[derive(Debug)]
pub struct Histogram<const N: usize> {
    bounds: &'static Bounds<N>,
    counts: [AtomicU64; N],
    greater: AtomicU64,
    sum: AtomicU64,
}

/// The upper bounds of a histogram's buckets.
#[derive(Debug)]
pub struct Bounds<const N: usize> {
    /// In the unit that values are counted in.
    pub values: [u64; N],
    /// How many of that unit are one of those that are shown: 10⁹ for durations, 1 for sizes.
    pub scale: f64,
}

impl<const N: usize> Histogram<N> {
    /// Nothing counted yet.
    pub fn new(bounds: &'static Bounds<N>) -> Self {
        Self {
            bounds,
            counts: std::array::from_fn(|_| AtomicU64::new(0)),
            greater: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }

    /// Counts a value.
    pub fn observe(&self, value: u64) {
        let at = self.bounds.values.iter().position(|bound| value <= *bound);
        at.map_or(&self.greater, |at| &self.counts[at]).fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Counts a duration, in nanoseconds.
    pub fn observe_duration(&self, took: Duration) {
        self.observe(took.as_nanos() as u64);
    }

    /// Appends its lines, in the text format; nothing where nothing was counted. `labels` are `a="b",c="d"`.
    pub fn render(&self, out: &mut String, name: &str, labels: &str) {
        let counts: Vec<u64> = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let total = counts.iter().sum::<u64>() + self.greater.load(Ordering::Relaxed);
        if total == 0 {
            return;
        }
        let comma = if labels.is_empty() { "" } else { "," };
        let mut below = 0;
        for (bound, count) in self.bounds.values.iter().zip(&counts) {
            below += count;
            let bound = shown(*bound as f64 / self.bounds.scale);
            let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {below}");
        }
        let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {total}");
        let sum = self.sum.load(Ordering::Relaxed) as f64 / self.bounds.scale;
        let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(out, "{name}_sum{braces} {}", shown(sum));
        let _ = writeln!(out, "{name}_count{braces} {total}");
    }
}

/// As Go shows it: great numbers with an exponent.
fn shown(number: f64) -> String {
    if number >= 1e6 && number.fract() == 0.0 {
        let exponent = number.log10().floor();
        let mantissa = number / 10f64.powf(exponent);
        if (mantissa * 1e6).fract() == 0.0 {
            return format!("{mantissa}e+{exponent:02}");
        }
    }
    number.to_string()
}

/// The lines before a metric's own.
pub fn help(out: &mut String, name: &str, kind: &str, text: &str) {
    let _ = writeln!(out, "# HELP {name} {text}\n# TYPE {name} {kind}");
}

/// A label's value.
pub fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up() {
        static BOUNDS: Bounds<3> = Bounds { values: [5, 1_000, 10_000_000], scale: 1.0 };
        let histogram = Histogram::new(&BOUNDS);
        let mut out = String::new();
        histogram.render(&mut out, "x", "");
        assert_eq!(out, "");
        for value in [1, 5, 6, 20_000_000] {
            histogram.observe(value);
        }
        histogram.render(&mut out, "x", "a=\"b\"");
        assert_eq!(
            out,
            "x_bucket{a=\"b\",le=\"5\"} 2\nx_bucket{a=\"b\",le=\"1000\"} 3\nx_bucket{a=\"b\",le=\"1e+07\"} 3\n\
             x_bucket{a=\"b\",le=\"+Inf\"} 4\nx_sum{a=\"b\"} 20000012\nx_count{a=\"b\"} 4\n"
        );
    }
}
