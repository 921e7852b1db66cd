//! A watch that outlives its connection.
//!
//! It remembers the last revision that it took in whole, and after a failure asks any member for
//! what follows: so nothing is lost or repeated. Only compaction, refusal and the end of the engine
//! end it. Nothing is buffered beyond one message of etcd's; a slow receiver slows down etcd.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use apiwright_storage::{Error, Event, Result, Revision, Watch};
use etcd_client::{EventType, WatchOptions, WatchResponse, WatchStream};
use futures::{StreamExt, stream};
use tokio::sync::watch as flag;
use tokio::time::{Interval, MissedTickBehavior};

use crate::convert::Names;
use crate::failure::{self, Kind};
use crate::{Inner, convert};

const BACKOFF_MIN: Duration = Duration::from_millis(50);

/// The state of a watch.
pub(crate) struct Watcher {
    inner: Arc<Inner>,
    /// As etcd has it.
    prefix: Box<str>,
    /// The last revision that was taken in whole.
    seen: Revision,
    connection: Option<WatchStream>,
    queue: VecDeque<Event>,
    end: Option<Error>,
    backoff: Duration,
    progress: Interval,
    closed: flag::Receiver<bool>,
}

impl Watcher {
    /// The changes below a prefix after a revision.
    pub(crate) fn start(inner: Arc<Inner>, prefix: &str, after: Revision) -> Watch {
        let period = inner.options.progress_interval.max(Duration::from_millis(1));
        let mut progress = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
        progress.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let watcher = Self {
            prefix: inner.names.theirs(prefix).into(),
            seen: after,
            connection: None,
            queue: VecDeque::new(),
            end: None,
            backoff: BACKOFF_MIN,
            progress,
            closed: inner.closed.subscribe(),
            inner,
        };
        stream::unfold(Some(watcher), |watcher| async {
            let mut watcher = watcher?;
            match watcher.next().await {
                Ok(event) => Some((Ok(event), Some(watcher))),
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed()
    }

    async fn next(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Ok(event);
            }
            if let Some(error) = self.end.take() {
                return Err(error);
            }
            let mut closed = self.closed.clone();
            tokio::select! {
                biased;
                _ = closed.wait_for(|closed| *closed) => return Err(crate::closed()),
                () = self.advance() => {}
            }
        }
    }

    /// Does one step: connects, asks for progress, or takes a message in. Each may be abandoned.
    async fn advance(&mut self) {
        let Some(connection) = &mut self.connection else { return self.connect().await };
        let message = tokio::select! {
            message = connection.message() => message,
            _ = self.progress.tick(), if self.inner.can_request_progress => {
                if connection.request_progress().await.is_err() {
                    self.connection = None;
                }
                return;
            }
        };
        match message {
            Ok(Some(response)) => self.take_in(&response),
            Ok(None) => self.lose("etcd ended the stream"),
            Err(error) => self.fail(&error),
        }
    }

    async fn connect(&mut self) {
        if self.backoff > BACKOFF_MIN {
            tokio::time::sleep(self.backoff).await;
        }
        let options = WatchOptions::new()
            .with_range(convert::end(&self.prefix))
            .with_start_revision(self.seen as i64 + 1)
            .with_prev_key()
            .with_progress_notify();
        let mut client = self.inner.client().watch_client().max_decoding_message_size(usize::MAX);
        let request = client.watch(convert::start(&self.prefix, None), Some(options));
        match tokio::time::timeout(self.inner.options.request_timeout, request).await {
            Ok(Ok(connection)) => self.connection = Some(connection),
            Ok(Err(error)) => self.fail(&error),
            Err(_) => self.lose("etcd does not answer in time"),
        }
    }

    /// Queues what a message tells.
    fn take_in(&mut self, response: &WatchResponse) {
        let compacted = response.compact_revision();
        if compacted > 0 {
            let oldest = self.inner.note_compacted(compacted as Revision);
            self.end = Some(Error::Compacted { requested: self.seen, oldest });
            return;
        }
        if response.canceled() {
            return self.lose(response.cancel_reason());
        }
        if response.created() {
            self.backoff = BACKOFF_MIN;
            // etcd answers only once the watch has caught up.
            self.progress.reset_immediately();
            return;
        }
        let events = response.events();
        for event in events {
            match convert(event, &self.inner.names) {
                Ok(Some(event)) => {
                    self.seen = self.seen.max(event.revision());
                    self.queue.push_back(event);
                }
                Ok(None) => {
                    // What was there before is compacted.
                    let oldest = self.inner.note_compacted(self.seen + 1);
                    self.end = Some(Error::Compacted { requested: self.seen, oldest });
                    return;
                }
                Err(error) => {
                    self.end = Some(error);
                    return;
                }
            }
        }
        let revision = convert::revision(response.header());
        if events.is_empty() && revision >= self.seen {
            self.seen = revision;
            self.queue.push_back(Event::Progress(revision));
        }
    }

    /// Ends the watch where trying again is no use.
    fn fail(&mut self, error: &etcd_client::Error) {
        match failure::kind(error) {
            // Without a leader, or without a connection, a later request may do better.
            Kind::Refused if is_final(error) => self.end = Some(failure::of_read(error)),
            _ => self.lose(&failure::text(error)),
        }
    }

    /// Has the next step connect again, after a while.
    fn lose(&mut self, why: &str) {
        tracing::warn!(prefix = &*self.prefix, after = self.seen, why, "a watch lost etcd; it will resume");
        self.connection = None;
        self.backoff = (self.backoff * 2).min(self.inner.options.backoff_max);
    }
}

/// Whether etcd refuses the watch itself, not just now.
fn is_final(error: &etcd_client::Error) -> bool {
    const INVALID_ARGUMENT: i32 = 3;
    const PERMISSION_DENIED: i32 = 7;
    matches!(error, etcd_client::Error::GRpcStatus(status)
        if matches!(status.code() as i32, INVALID_ARGUMENT | PERMISSION_DENIED))
}

/// A change; `None` where etcd no longer knows what was there before.
fn convert(event: &etcd_client::Event, names: &Names) -> Result<Option<Event>> {
    let Some(pair) = event.kv() else {
        return Err(Error::Corrupt("etcd tells of a change without a key".into()));
    };
    let previous = event.prev_kv().cloned().map(|pair| names.entry(pair)).transpose()?;
    match (event.event_type(), previous) {
        (EventType::Put, None) if pair.version() > 1 => Ok(None),
        (EventType::Put, previous) => Ok(Some(Event::Put { entry: names.entry(pair.clone())?, previous })),
        (EventType::Delete, Some(previous)) => {
            Ok(Some(Event::Delete { previous, revision: pair.mod_revision() as Revision }))
        }
        (EventType::Delete, None) => Ok(None),
    }
}
