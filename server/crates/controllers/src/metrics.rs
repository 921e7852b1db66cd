//! What queues count, under upstream's names, in Prometheus' text format.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::queue::Queue;

/// Upper bounds of the histograms: 10 ns to 10 s.
const BUCKETS: [f64; 10] =
    [1e-8, 1e-7, 1e-6, 9.999_999_999_999_999e-6, 9.999_999_999_999_999e-5, 0.001, 0.01, 0.1, 1.0, 10.0];

/// What one queue counts.
#[derive(Debug, Default)]
pub(crate) struct QueueMetrics {
    adds: AtomicU64,
    retries: AtomicU64,
    waits: Histogram,
    works: Histogram,
}

#[derive(Debug, Default)]
struct Histogram {
    /// How many fell into each bucket, not into those below; the last one has no bound.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    nanos: AtomicU64,
}

impl QueueMetrics {
    pub(crate) fn added(&self) {
        self.adds.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn retried(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn waited(&self, time: Duration) {
        self.waits.observe(time);
    }

    pub(crate) fn worked(&self, time: Duration) {
        self.works.observe(time);
    }
}

impl Histogram {
    fn observe(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let bucket = BUCKETS.iter().position(|bound| seconds <= *bound).unwrap_or(BUCKETS.len());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn render(&self, out: &mut String, metric: &str, name: &str) {
        let mut count = 0;
        for (bucket, bound) in self.buckets.iter().zip(BUCKETS) {
            count += bucket.load(Ordering::Relaxed);
            let _ = writeln!(out, "{metric}_bucket{{name=\"{name}\",le=\"{bound:e}\"}} {count}");
        }
        count += self.buckets[BUCKETS.len()].load(Ordering::Relaxed);
        let sum = Duration::from_nanos(self.nanos.load(Ordering::Relaxed)).as_secs_f64();
        let _ = writeln!(out, "{metric}_bucket{{name=\"{name}\",le=\"+Inf\"}} {count}");
        let _ = writeln!(out, "{metric}_sum{{name=\"{name}\"}} {sum}");
        let _ = writeln!(out, "{metric}_count{{name=\"{name}\"}} {count}");
    }
}

/// Tells of some queues, by name.
pub(crate) fn render(out: &mut String, queues: &[(&str, &Queue)]) {
    let mut metric = |name: &str, kind: &str, help: &str, line: &dyn Fn(&mut String, &str, &Queue)| {
        let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} {kind}");
        for (queue_name, queue) in queues {
            line(out, queue_name, queue);
        }
    };
    metric("workqueue_adds_total", "counter", "Keys added to the queue.", &|out, name, queue| {
        let adds = queue.metrics.adds.load(Ordering::Relaxed);
        let _ = writeln!(out, "workqueue_adds_total{{name=\"{name}\"}} {adds}");
    });
    metric("workqueue_depth", "gauge", "Keys that are ready.", &|out, name, queue| {
        let _ = writeln!(out, "workqueue_depth{{name=\"{name}\"}} {}", queue.len());
    });
    let longest = "workqueue_longest_running_processor_seconds";
    metric(longest, "gauge", "For how long the longest work has been under way.", &|out, name, queue| {
        let longest_one = queue.processing().into_iter().max().unwrap_or_default().as_secs_f64();
        let _ = writeln!(out, "{longest}{{name=\"{name}\"}} {longest_one}");
    });
    let waits = "workqueue_queue_duration_seconds";
    metric(waits, "histogram", "How long keys waited to be worked on.", &|out, name, queue| {
        queue.metrics.waits.render(out, waits, name);
    });
    metric("workqueue_retries_total", "counter", "Keys added again after a failure.", &|out, name, queue| {
        let retries = queue.metrics.retries.load(Ordering::Relaxed);
        let _ = writeln!(out, "workqueue_retries_total{{name=\"{name}\"}} {retries}");
    });
    let unfinished = "workqueue_unfinished_work_seconds";
    metric(unfinished, "gauge", "The time that work under way has taken so far.", &|out, name, queue| {
        let sum: Duration = queue.processing().into_iter().sum();
        let _ = writeln!(out, "{unfinished}{{name=\"{name}\"}} {}", sum.as_secs_f64());
    });
    let works = "workqueue_work_duration_seconds";
    metric(works, "histogram", "How long work on a key took.", &|out, name, queue| {
        queue.metrics.works.render(out, works, name);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_queue_tells_what_it_did() {
        let queue = Queue::new((5, 1000));
        queue.add("a");
        queue.add("a");
        queue.add("b");
        let key = queue.get().await.unwrap_or_else(|| "".into());
        tokio::time::advance(Duration::from_millis(50)).await;
        queue.add_rate_limited(&key);
        queue.done(&key);
        let mut out = String::new();
        render(&mut out, &[("x", &queue)]);
        for line in [
            "# TYPE workqueue_depth gauge",
            "workqueue_adds_total{name=\"x\"} 2",
            "workqueue_depth{name=\"x\"} 1",
            "workqueue_retries_total{name=\"x\"} 1",
            "workqueue_work_duration_seconds_bucket{name=\"x\",le=\"1e-2\"} 0",
            "workqueue_work_duration_seconds_bucket{name=\"x\",le=\"1e-1\"} 1",
            "workqueue_work_duration_seconds_sum{name=\"x\"} 0.05",
            "workqueue_work_duration_seconds_count{name=\"x\"} 1",
        ] {
            assert!(out.lines().any(|one| one == line), "{line} is not in\n{out}");
        }
    }
}
