//! Events that wait to be taken together, for which no request waits.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::sink::Deliver;

/// How long a server that stops waits for what is on its way.
const FLUSH_MAX: Duration = Duration::from_secs(5);

/// How many events go together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batching {
    /// How many may wait; more are lost.
    pub buffer_size: usize,
    /// How many go together at most.
    pub batch_max: usize,
    /// How long the first waits for others.
    pub wait_max: Duration,
    /// How many batches go a second, and how many at once if none went before.
    pub throttle: Option<Throttle>,
}

/// A limit of batches a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throttle {
    /// A second.
    pub rate: f64,
    /// At once.
    pub burst: u32,
}

impl Eq for Batching {}

/// The queue in front of the thread that delivers.
pub(crate) struct Buffer {
    name: &'static str,
    queue: SyncSender<Message>,
}

enum Message {
    Event(Bytes),
    /// Say when everything before this has been delivered.
    Flush(SyncSender<()>),
}

impl Buffer {
    pub(crate) fn start(deliver: Arc<dyn Deliver>, batching: Batching) -> io::Result<Self> {
        let (queue, waiting) = sync_channel(batching.buffer_size);
        let name = deliver.name();
        let thread = std::thread::Builder::new().name(format!("audit-{name}"));
        thread.spawn(move || drain(&waiting, &*deliver, batching))?;
        Ok(Self { name, queue })
    }

    /// Takes an event, if there is room.
    pub(crate) fn take(&self, event: Bytes) -> bool {
        let taken = self.queue.try_send(Message::Event(event)).is_ok();
        if !taken {
            tracing::warn!(plugin = self.name, "audit buffer queue blocked");
        }
        taken
    }

    pub(crate) fn flush(&self) {
        let (done, is_done) = sync_channel(1);
        if self.queue.send(Message::Flush(done)).is_ok() {
            let _ = is_done.recv_timeout(FLUSH_MAX);
        }
    }
}

fn drain(waiting: &Receiver<Message>, deliver: &dyn Deliver, batching: Batching) {
    let mut tokens = batching.throttle.map(Tokens::full);
    let mut ends = false;
    while !ends {
        let mut batch = Vec::new();
        let mut flushed = None;
        let mut until: Option<Instant> = None;
        while batch.len() < batching.batch_max.max(1) {
            let next = match until {
                None => waiting.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(until) => waiting.recv_timeout(until.saturating_duration_since(Instant::now())),
            };
            match next {
                Ok(Message::Event(event)) => {
                    until.get_or_insert_with(|| Instant::now() + batching.wait_max);
                    batch.push(event);
                }
                Ok(Message::Flush(done)) => {
                    flushed = Some(done);
                    break;
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    ends = true;
                    break;
                }
            }
        }
        if !batch.is_empty() {
            if let Some(tokens) = &mut tokens {
                tokens.take();
            }
            deliver.hand_over(batch);
        }
        if let Some(done) = flushed {
            deliver.settle();
            let _ = done.send(());
        }
    }
}

/// A bucket that fills by the second.
struct Tokens {
    throttle: Throttle,
    left: f64,
    at: Instant,
}

impl Tokens {
    fn full(throttle: Throttle) -> Self {
        Self { throttle, left: f64::from(throttle.burst), at: Instant::now() }
    }

    /// Waits for one.
    fn take(&mut self) {
        let filled = self.at.elapsed().as_secs_f64() * self.throttle.rate;
        self.at = Instant::now();
        self.left = (self.left + filled).min(f64::from(self.throttle.burst)) - 1.0;
        if self.left < 0.0 {
            std::thread::sleep(Duration::from_secs_f64(-self.left / self.throttle.rate));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    #[derive(Default)]
    struct Kept(Mutex<Vec<usize>>);

    impl Deliver for Kept {
        fn name(&self) -> &'static str {
            "test"
        }

        fn deliver(&self, events: Vec<Bytes>) -> bool {
            self.0.lock().push(events.len());
            true
        }
    }

    #[test]
    fn events_go_together() {
        for (batch_max, wait_ms, rate, sent, expected) in [
            (1, 0, None, 3, vec![1, 1, 1]),
            (2, 10_000, None, 5, vec![2, 2, 1]),
            (10, 10_000, None, 5, vec![5]),
            (1, 0, Some(50.0), 3, vec![1, 1, 1]),
        ] {
            let kept = Arc::new(Kept::default());
            let throttle = rate.map(|rate| Throttle { rate, burst: 1 });
            let wait_max = Duration::from_millis(wait_ms);
            let batching = Batching { buffer_size: 10, batch_max, wait_max, throttle };
            let begun = Instant::now();
            let buffer = Buffer::start(Arc::clone(&kept) as _, batching).unwrap();
            assert!((0..sent).all(|_| buffer.take(Bytes::from_static(b"{}"))));
            buffer.flush();
            assert_eq!(*kept.0.lock(), expected);
            assert!(rate.is_none() || begun.elapsed() >= Duration::from_millis(35));
        }
    }
}
