//! What an operator may tune of the engine.

use std::time::Duration;

use apiwright_cache::Limits;

use crate::expiry::Clock;

/// The limits of an engine. The defaults suit a cluster of some hundred nodes.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many of the newest changes are kept, to read the past and to resume watches from.
    pub window_events_max: usize,
    /// How many bytes the values of these changes may have together.
    pub window_bytes_max: usize,
    /// How many undelivered changes one watch may hold before it falls back on the window.
    pub watch_queue_events_max: usize,
    /// How many writes may share one commit to disk.
    pub batch_writes_max: usize,
    /// How many bytes the values of one commit may have before no more writes join it.
    pub batch_bytes_max: usize,
    /// From how many bytes of the log on the table takes its older half. The rest is for watches to resume
    /// from after a restart.
    pub checkpoint_bytes: usize,
    /// From how many bytes of the log on writers wait for that.
    pub log_bytes_max: usize,
    /// How often watches are told how far they have come, if anything was written since.
    pub progress_interval: Duration,
    /// How long to wait after a failure of the disk before using it again. Zero for trying again
    /// at the next write, and only then.
    pub retry_interval: Duration,
    /// What deadlines are measured by.
    pub clock: Clock,
}

impl Options {
    /// How long a segment of the log gets before the next one begins: a small part of it, since only whole
    /// ones are dropped.
    pub(crate) fn segment_bytes(&self) -> u64 {
        (self.checkpoint_bytes as u64 / 4).clamp(64 << 10, 4 << 20)
    }

    /// Those of what is held in memory.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            window_events_max: self.window_events_max,
            window_bytes_max: self.window_bytes_max,
            watch_queue_events_max: self.watch_queue_events_max,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        let Limits { window_events_max, window_bytes_max, watch_queue_events_max } = Limits::default();
        Self {
            window_events_max,
            window_bytes_max,
            watch_queue_events_max,
            batch_writes_max: 1024,
            batch_bytes_max: 8 << 20,
            checkpoint_bytes: 16 << 20,
            log_bytes_max: 64 << 20,
            clock: Clock::default(),
            progress_interval: Duration::from_secs(5),
            retry_interval: Duration::from_secs(1),
        }
    }
}
