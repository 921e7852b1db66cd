//! Keeps a memory as the engine is.
//!
//! Every batch of the engine's becomes one snapshot, so no reader sees a part of a revision. Where
//! the engine no longer knows what happened, all is read again, and the watches are told the
//! difference.

use std::sync::Arc;
use std::time::Duration;

use apiwright_storage::{At, Batch, Error, Event, Feed, Range, Result, Step, Storage};
use futures::StreamExt;
use tokio::sync::watch as flag;
use tokio::time::{Interval, MissedTickBehavior};

use crate::cached::{Options, Progress};
use crate::difference::difference;
use crate::memory::Memory;
use crate::snapshot::Snapshot;

const BACKOFF_MIN: Duration = Duration::from_millis(100);

/// What carries changes from the engine to the memory: the only one that publishes there.
pub(crate) struct Follower {
    engine: Arc<dyn Storage>,
    memory: Arc<Memory>,
    progress: Arc<flag::Sender<Progress>>,
    options: Options,
    report: Interval,
    backoff: Duration,
}

impl Follower {
    pub(crate) fn new(
        engine: Arc<dyn Storage>,
        memory: Arc<Memory>,
        progress: Arc<flag::Sender<Progress>>,
        options: Options,
    ) -> Self {
        let mut report = tokio::time::interval(options.progress_interval.max(Duration::from_millis(1)));
        report.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { engine, memory, progress, options, report, backoff: BACKOFF_MIN }
    }

    /// Follows until the memory ends.
    pub(crate) async fn run(mut self) {
        while self.memory.check().is_ok() {
            let after = self.memory.newest().revision;
            let ended = match self.engine.feed(&self.options.root, after).await {
                Ok(feed) => self.take_all(feed).await,
                Err(error) => Err(error),
            };
            let again = match ended {
                Err(Error::Compacted { .. }) => self.read_again().await,
                ended => ended,
            };
            if let Err(error) = again {
                tracing::warn!(%error, after, "the cache cannot follow the storage; it will try again");
            }
            tokio::time::sleep(self.backoff).await;
            self.backoff = (self.backoff * 2).min(self.options.backoff_max);
        }
    }

    async fn take_all(&mut self, mut feed: Feed) -> Result<()> {
        loop {
            tokio::select! {
                batch = feed.next() => {
                    let Some(batch) = batch else { return Ok(()) };
                    self.take(batch?);
                    self.backoff = BACKOFF_MIN;
                }
                _ = self.report.tick() => self.memory.report_progress(),
            }
        }
    }

    fn take(&self, batch: Batch) {
        let newest = self.memory.newest();
        let known = newest.revision;
        let mut next = Snapshot::clone(&newest);
        next.revision = batch.revision.max(known);
        let mut events = Vec::with_capacity(batch.changes.len());
        for step in batch.changes {
            match step {
                Step::Put(mut entry) if entry.mod_revision > known => {
                    let previous = next.map.get(&*entry.key).cloned();
                    // The map keeps its first copy of the key; so everyone shares that one.
                    if let (Some(previous), Some(entry)) = (&previous, Arc::get_mut(&mut entry)) {
                        entry.key = previous.key.clone();
                    }
                    next.map.insert(entry.key.clone(), entry.clone());
                    events.push(Event::Put { entry, previous });
                }
                Step::Delete(key, revision) if revision > known => {
                    if let Some(previous) = next.map.remove(&*key) {
                        events.push(Event::Delete { previous, revision });
                    }
                }
                Step::Put(_) | Step::Delete(..) => {}
            }
        }
        drop(newest);
        self.show(|memory| memory.publish(next, events));
    }

    async fn read_again(&self) -> Result<()> {
        let range = Range { prefix: &self.options.root, after: None, limit: 0, at: At::Latest };
        let page = self.engine.range(range).await?;
        let (next, events) = difference(&self.memory.newest(), page.entries, page.revision);
        tracing::warn!(
            revision = page.revision,
            changes = events.len(),
            "the storage forgot changes before the cache saw them; it was read again"
        );
        self.show(|memory| memory.leap(next, events));
        Ok(())
    }

    fn show(&self, publish: impl FnOnce(&Memory)) {
        publish(&self.memory);
        let revision = self.memory.newest().revision;
        self.progress.send_replace(Progress { revision, is_stalled: false });
    }
}
