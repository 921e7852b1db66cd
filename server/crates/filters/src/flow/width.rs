//! How many seats a request takes: one, or more for a list that was long the last time.
//!
//! Upstream counts objects in its cache; here what counts is what it costs, the bytes that the
//! answer to the same question had. The memory is small and forgets by being overwritten.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use apiwright_chain::RequestInfo;

/// The most seats that a request takes.
const WIDTH_MAX: u32 = 10;
/// An answer of so many bytes takes another seat: about a hundred objects, upstream's measure.
const BYTES_PER_SEAT: u64 = 256 << 10;
/// How many questions are told apart. A power of two.
const REMEMBERED: usize = 1024;

/// The memory.
pub(super) struct Widths {
    hasher: RandomState,
    widths: Box<[AtomicU32]>,
}

/// Counts an answer's bytes into the memory.
pub(crate) struct Meter {
    widths: Arc<Widths>,
    at: usize,
    bytes: u64,
}

impl Default for Widths {
    fn default() -> Self {
        Self { hasher: RandomState::new(), widths: (0..REMEMBERED).map(|_| AtomicU32::new(1)).collect() }
    }
}

impl Widths {
    /// The seats for a request, and the meter for its answer if that is of interest.
    pub(super) fn of(self: &Arc<Self>, info: &RequestInfo, query: &str) -> (u32, Option<Meter>) {
        if info.verb != "list" && info.verb != "watch" {
            return (1, None);
        }
        let question = (
            &info.group,
            &info.resource,
            &info.namespace,
            &info.label_selector,
            &info.field_selector,
            limit(query),
        );
        let at = self.hasher.hash_one(question) as usize % REMEMBERED;
        let meter = (info.verb == "list").then(|| Meter { widths: Arc::clone(self), at, bytes: 0 });
        (self.widths[at].load(Ordering::Relaxed), meter)
    }
}

impl Meter {
    /// So many bytes more.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        // An answer that was never begun tells nothing.
        if self.bytes == 0 {
            return;
        }
        let width = u32::try_from(1 + self.bytes / BYTES_PER_SEAT).unwrap_or(WIDTH_MAX).min(WIDTH_MAX);
        self.widths.widths[self.at].store(width, Ordering::Relaxed);
    }
}

fn limit(query: &str) -> &str {
    query.split('&').find_map(|pair| pair.strip_prefix("limit=")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    #[test]
    fn what_was_long_is_thought_long() {
        let widths = Arc::new(Widths::default());
        let info = |path| RequestInfo::parse(&Method::GET, path, "").unwrap();
        let (pods, pod) = (info("/api/v1/pods"), info("/api/v1/namespaces/n/pods/p"));
        let (width, meter) = widths.of(&pods, "");
        assert_eq!(width, 1);
        let mut meter = meter.unwrap();
        meter.add(1 << 20);
        drop(meter);
        assert_eq!(widths.of(&pods, "").0, 5);
        let (width, meter) = widths.of(&pods, "");
        assert_eq!(width, 5);
        let mut meter = meter.unwrap();
        meter.add(1 << 30);
        drop(meter);
        assert_eq!(widths.of(&pods, "").0, WIDTH_MAX);
        let (width, meter) = widths.of(&pod, "");
        assert_eq!((width, meter.is_none()), (1, true));
    }
}
