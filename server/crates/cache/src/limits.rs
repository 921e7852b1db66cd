//! How much memory the past and the watches may take.

/// The limits of a [`crate::Memory`]. The defaults suit a cluster of some hundred nodes.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How many of the newest changes are kept, to read the past and to resume watches from.
    pub window_events_max: usize,
    /// How many bytes the values that these changes replaced may have together.
    pub window_bytes_max: usize,
    /// How many undelivered changes one watch may hold before it falls back on the window.
    pub watch_queue_events_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { window_events_max: 32_768, window_bytes_max: 64 << 20, watch_queue_events_max: 1024 }
    }
}
