//! The queue of one controller: a key is in it once, and is not given out twice at a time.
//!
//! What client-go's rate-limited work queues do: a key that is added while it is worked on comes
//! again when that is done; a key that failed comes again later.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::backoff::Backoff;
use crate::metrics::QueueMetrics;

/// What a controller works on: `namespace/name`, or whatever its spec says.
pub type Key = Arc<str>;

/// A queue.
#[derive(Debug)]
pub struct Queue {
    state: Mutex<State>,
    wake: Notify,
    pub(crate) metrics: QueueMetrics,
}

#[derive(Debug)]
struct State {
    /// In the order in which they are given out.
    ready: VecDeque<Key>,
    /// What is to be worked on, and since when it waits: what is ready, and what was added while it is worked on.
    dirty: HashMap<Key, Instant>,
    /// What is worked on, since when.
    processing: HashMap<Key, Instant>,
    /// What is to be added later, at the earliest of the moments asked for.
    waiting: HashMap<Key, Instant>,
    /// The moments; those that `waiting` no longer has are passed over.
    moments: BinaryHeap<Reverse<(Instant, Key)>>,
    backoff: Backoff,
    closed: bool,
}

impl Queue {
    /// An empty queue; the waits after failures, first and last, in milliseconds.
    pub fn new(retry_millis: (u64, u64)) -> Self {
        Self {
            state: Mutex::new(State {
                ready: VecDeque::new(),
                dirty: HashMap::new(),
                processing: HashMap::new(),
                waiting: HashMap::new(),
                moments: BinaryHeap::new(),
                backoff: Backoff::new(retry_millis),
                closed: false,
            }),
            wake: Notify::new(),
            metrics: QueueMetrics::default(),
        }
    }

    /// Adds a key, unless it is there.
    pub fn add(&self, key: &str) {
        let mut state = self.lock();
        if let Some(known) = state.dirty.get_key_value(key).map(|(known, _)| Key::clone(known)) {
            // It waits already; a moment that was asked for is now.
            state.waiting.remove(&known);
            return;
        }
        self.add_new(&mut state, key.into(), Instant::now());
    }

    /// Adds a key after a while.
    pub fn add_after(&self, key: &str, wait: Duration) {
        if wait.is_zero() {
            return self.add(key);
        }
        let mut state = self.lock();
        if state.closed {
            return;
        }
        let moment = Instant::now() + wait;
        let key: Key = key.into();
        if state.waiting.get(&key).is_some_and(|earlier| *earlier <= moment) {
            return;
        }
        state.waiting.insert(Key::clone(&key), moment);
        state.moments.push(Reverse((moment, key)));
        // Whoever waits for a later moment waits for this one.
        self.wake.notify_one();
    }

    /// Adds a key that failed, later each time.
    pub fn add_rate_limited(&self, key: &Key) {
        let wait = self.lock().backoff.next(key);
        self.metrics.retried();
        self.add_after(key, wait);
    }

    /// The key did not fail: its next failure is its first.
    pub fn forget(&self, key: &str) {
        self.lock().backoff.forget(key);
    }

    /// How often the key failed in a row.
    pub fn failures(&self, key: &str) -> u32 {
        self.lock().backoff.failures(key)
    }

    /// The next key; `None` when the queue is closed. [`Queue::done`] must follow.
    pub async fn get(&self) -> Option<Key> {
        loop {
            let moment = {
                let mut state = self.lock();
                let now = Instant::now();
                self.add_due(&mut state, now);
                if state.closed {
                    self.wake.notify_one();
                    return None;
                }
                if let Some(key) = self.take(&mut state, now) {
                    if !state.ready.is_empty() {
                        self.wake.notify_one();
                    }
                    return Some(key);
                }
                state.moments.peek().map(|Reverse((moment, _))| *moment)
            };
            match moment {
                None => self.wake.notified().await,
                Some(moment) => tokio::select! {
                    () = self.wake.notified() => {}
                    () = sleep_until(moment) => {}
                },
            }
        }
    }

    /// The key was dealt with; it is ready again where it was added meanwhile.
    pub fn done(&self, key: &Key) {
        let mut state = self.lock();
        if let Some(since) = state.processing.remove(key) {
            self.metrics.worked(since.elapsed());
        }
        if state.dirty.contains_key(key) {
            state.ready.push_back(Key::clone(key));
            self.wake.notify_one();
        }
    }

    /// Gives nothing out any more.
    pub fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
    }

    /// How many keys are ready.
    pub fn len(&self) -> usize {
        self.lock().ready.len()
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys that are to be worked on or are worked on.
    pub(crate) fn pending(&self) -> HashSet<Key> {
        let state = self.lock();
        state.dirty.keys().chain(state.processing.keys()).cloned().collect()
    }

    /// For how long each key has been worked on.
    pub(crate) fn processing(&self) -> Vec<Duration> {
        self.lock().processing.values().map(Instant::elapsed).collect()
    }

    fn add_new(&self, state: &mut State, key: Key, now: Instant) {
        if state.closed {
            return;
        }
        state.waiting.remove(&key);
        self.metrics.added();
        state.dirty.insert(Key::clone(&key), now);
        if !state.processing.contains_key(&key) {
            state.ready.push_back(key);
            self.wake.notify_one();
        }
    }

    /// Adds what waited for a moment that has come.
    fn add_due(&self, state: &mut State, now: Instant) {
        while let Some(Reverse((moment, key))) = state.moments.peek() {
            let wanted = state.waiting.get(key) == Some(moment);
            if wanted && *moment > now {
                return;
            }
            let Some(Reverse((_, key))) = state.moments.pop() else { return };
            if wanted {
                state.waiting.remove(&key);
                if !state.dirty.contains_key(&key) {
                    self.add_new(state, key, now);
                }
            }
        }
    }

    fn take(&self, state: &mut State, now: Instant) -> Option<Key> {
        let key = state.ready.pop_front()?;
        if let Some(since) = state.dirty.remove(&key) {
            self.metrics.waited(now.saturating_duration_since(since));
        }
        state.processing.insert(Key::clone(&key), now);
        Some(key)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn queue() -> Queue {
        Queue::new((5, 1_000_000))
    }

    fn now(queue: &Queue) -> Option<String> {
        queue.get().now_or_never().flatten().map(|key| key.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_in_it_once_and_out_once() {
        let queue = queue();
        for key in ["a", "b", "a"] {
            queue.add(key);
        }
        assert_eq!(queue.len(), 2);
        assert_eq!((now(&queue), now(&queue), now(&queue)), (Some("a".into()), Some("b".into()), None));
        queue.add("a");
        assert_eq!(now(&queue), None, "it is being worked on");
        queue.done(&"a".into());
        assert_eq!(now(&queue), Some("a".into()), "it was added meanwhile");
        queue.done(&"a".into());
        queue.done(&"b".into());
        assert_eq!((now(&queue), queue.is_empty()), (None, true));
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_moment_counts() {
        let queue = queue();
        let start = Instant::now();
        queue.add_after("a", Duration::from_secs(10));
        queue.add_after("a", Duration::from_secs(3));
        queue.add_after("a", Duration::from_secs(7));
        queue.add_after("b", Duration::from_secs(5));
        assert_eq!(queue.get().await.as_deref(), Some("a"));
        assert_eq!(start.elapsed(), Duration::from_secs(3));
        queue.done(&"a".into());
        assert_eq!(queue.get().await.as_deref(), Some("b"));
        assert_eq!(start.elapsed(), Duration::from_secs(5));
        queue.done(&"b".into());
        let rest = tokio::time::timeout(Duration::from_mins(1), queue.get()).await;
        assert!(rest.is_err(), "each came once");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_added_now_does_not_come_again_later() {
        let queue = queue();
        queue.add_after("a", Duration::from_secs(1));
        queue.add("a");
        assert_eq!(queue.get().await.as_deref(), Some("a"));
        queue.done(&"a".into());
        assert!(tokio::time::timeout(Duration::from_secs(9), queue.get()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_comes_later_each_time() {
        let queue = queue();
        let key: Key = "a".into();
        queue.add(&key);
        let start = Instant::now();
        let mut moments = Vec::new();
        for _ in 0..4 {
            assert_eq!(queue.get().await.as_deref(), Some("a"));
            moments.push(start.elapsed().as_millis());
            queue.add_rate_limited(&key);
            queue.done(&key);
        }
        assert_eq!(moments, [0, 5, 15, 35]);
        assert_eq!(queue.failures("a"), 4);
        queue.forget("a");
        assert_eq!(queue.failures("a"), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn all_workers_hear_that_it_is_closed() {
        let queue = Arc::new(queue());
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let queue = Arc::clone(&queue);
                tokio::spawn(async move { queue.get().await })
            })
            .collect();
        tokio::task::yield_now().await;
        queue.add_after("a", Duration::from_secs(1));
        queue.close();
        for worker in workers {
            assert_eq!(worker.await.ok().flatten(), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_worker_gets_a_key() {
        let queue = Arc::new(queue());
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let queue = Arc::clone(&queue);
                tokio::spawn(async move { queue.get().await.map(|key| key.to_string()) })
            })
            .collect();
        tokio::task::yield_now().await;
        for key in ["a", "b", "c"] {
            queue.add(key);
        }
        let mut got = Vec::new();
        for worker in workers {
            got.extend(worker.await.ok().flatten());
        }
        got.sort();
        assert_eq!(got, ["a", "b", "c"]);
    }
}
