//! A watch that outlives its connection.
//!
//! It remembers the last revision that it took in whole, and after a failure asks any member for
//! what follows: so nothing is lost or repeated. Only compaction, refusal and the end of the engine
//! end it. Nothing is buffered beyond one message of etcd's; a slow receiver slows down etcd.
//!
//! A [`Feed`] must come as far as any read has seen the cluster, soon. Where the cluster can be asked
//! for progress, it is; where it cannot, the feed watches all keys, so that no revision escapes it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use apiwright_storage::{Batch, Error, Event, Feed, Result, Revision, Step, Watch};
use etcd_client::{EventType, WatchOptions, WatchResponse, WatchStream};
use futures::{StreamExt, stream};
use tokio::sync::watch as flag;
use tokio::time::{Interval, MissedTickBehavior};

use crate::convert::Names;
use crate::failure::{self, Kind};
use crate::{Inner, convert};

const BACKOFF_MIN: Duration = Duration::from_millis(50);
/// How long changes may take to arrive that a read has seen, before progress is asked for.
const PROGRESS_DELAY: Duration = Duration::from_millis(10);

/// The state of a watch.
pub(crate) struct Watcher {
    inner: Arc<Inner>,
    /// As etcd has it.
    prefix: Box<str>,
    /// Whether this is a feed: without what was there before, and quick.
    feeds: bool,
    /// The last revision that was taken in whole.
    seen: Revision,
    connection: Option<WatchStream>,
    message: Option<WatchResponse>,
    end: Option<Error>,
    backoff: Duration,
    progress: Interval,
    closed: flag::Receiver<bool>,
    newest: flag::Receiver<Revision>,
}

/// Whether all keys may be watched; no longer so once that was refused.
#[derive(Debug)]
pub(crate) struct WatchesAll(AtomicBool);

impl WatchesAll {
    pub(crate) fn new(wanted: bool) -> Self {
        Self(AtomicBool::new(wanted))
    }
}

/// The changes below a prefix after a revision.
pub(crate) fn watch(inner: Arc<Inner>, prefix: &str, after: Revision) -> Watch {
    let watcher = Watcher::new(inner, prefix, after, false);
    stream::unfold((Some(watcher), VecDeque::new()), |(watcher, mut queue)| async {
        let mut watcher = watcher?;
        loop {
            if let Some(event) = queue.pop_front() {
                return Some((Ok(event), (Some(watcher), queue)));
            }
            match watcher.next().await.and_then(|message| watcher.events(&message)) {
                Ok(events) => queue = events,
                Err(error) => return Some((Err(error), (None, queue))),
            }
        }
    })
    .boxed()
}

/// The same in whole revisions, without what was there before.
pub(crate) fn feed(inner: Arc<Inner>, prefix: &str, after: Revision) -> Feed {
    stream::unfold(Some(Watcher::new(inner, prefix, after, true)), |watcher| async {
        let mut watcher = watcher?;
        match watcher.next().await.and_then(|message| watcher.batch(message)) {
            Ok(batch) => Some((Ok(batch), Some(watcher))),
            Err(error) => Some((Err(error), None)),
        }
    })
    .boxed()
}

impl Watcher {
    fn new(inner: Arc<Inner>, prefix: &str, after: Revision, feeds: bool) -> Self {
        let period = inner.options.progress_interval.max(Duration::from_millis(1));
        let mut progress = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
        progress.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            prefix: inner.names.theirs(prefix).into(),
            feeds,
            seen: after,
            connection: None,
            message: None,
            end: None,
            backoff: BACKOFF_MIN,
            progress,
            closed: inner.closed.subscribe(),
            newest: inner.newest.subscribe(),
            inner,
        }
    }

    /// The next message that tells something.
    async fn next(&mut self) -> Result<WatchResponse> {
        loop {
            if let Some(message) = self.message.take() {
                return Ok(message);
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

    /// A message as changes with what was there before.
    fn events(&mut self, message: &WatchResponse) -> Result<VecDeque<Event>> {
        let mut events = VecDeque::with_capacity(message.events().len());
        for event in message.events() {
            match convert(event, &self.inner.names)? {
                Some(event) => events.push_back(event),
                None => {
                    // What was there before is compacted.
                    let oldest = self.inner.note_compacted(self.seen + 1);
                    return Err(Error::Compacted { requested: self.seen, oldest });
                }
            }
        }
        let revision = convert::revision(message.header());
        if events.is_empty() {
            events.push_back(Event::Progress(revision));
        }
        self.take_note(message);
        Ok(events)
    }

    /// A message as a batch.
    fn batch(&mut self, message: WatchResponse) -> Result<Batch> {
        self.take_note(&message);
        let mut batch = Batch { revision: self.seen, changes: Vec::with_capacity(message.events().len()) };
        for event in message.events() {
            let Some(pair) = event.kv() else { return Err(keyless()) };
            if !pair.key().starts_with(self.prefix.as_bytes()) {
                continue;
            }
            batch.changes.push(match event.event_type() {
                EventType::Put => Step::Put(self.inner.names.entry(pair.clone())?),
                EventType::Delete => {
                    Step::Delete(self.inner.names.ours(pair.key())?, pair.mod_revision() as Revision)
                }
            });
        }
        Ok(batch)
    }

    /// A message has been taken in. One with changes covers its last change only: more of the
    /// present that its header tells may be on its way.
    fn take_note(&mut self, message: &WatchResponse) {
        let last =
            message.events().last().and_then(|event| event.kv()).map(etcd_client::KeyValue::mod_revision);
        let revision = last.map_or_else(|| convert::revision(message.header()), |last| last as Revision);
        self.seen = self.seen.max(revision);
    }

    /// Does one step: connects, asks for progress, or takes a message in. Each may be abandoned.
    async fn advance(&mut self) {
        let asks = self.inner.can_request_progress;
        let is_behind = asks && self.feeds;
        let (seen, newest) = (self.seen, &mut self.newest);
        let Some(connection) = &mut self.connection else { return self.connect().await };
        let behind = async {
            let _ = newest.wait_for(|newest| *newest > seen).await;
            tokio::time::sleep(PROGRESS_DELAY).await;
        };
        let message = tokio::select! {
            biased;
            message = connection.message() => message,
            () = async { tokio::select! {
                _ = self.progress.tick() => {}
                () = behind, if is_behind => {}
            } }, if asks => {
                if connection.request_progress().await.is_err() {
                    self.connection = None;
                }
                return;
            }
        };
        match message {
            Ok(Some(response)) => self.take_in(response),
            Ok(None) => self.lose("etcd ended the stream"),
            Err(error) => self.fail(&error),
        }
    }

    /// Whether this watches more than it is asked for.
    fn watches_all(&self) -> bool {
        self.feeds && self.inner.watches_all.0.load(Ordering::Relaxed)
    }

    async fn connect(&mut self) {
        if self.backoff > BACKOFF_MIN {
            tokio::time::sleep(self.backoff).await;
        }
        let prefix = if self.watches_all() { "" } else { &*self.prefix };
        let mut options = WatchOptions::new()
            .with_range(convert::end(prefix))
            .with_start_revision(self.seen as i64 + 1)
            .with_progress_notify();
        if !self.feeds {
            options = options.with_prev_key();
        }
        let mut client = self.inner.client().watch_client().max_decoding_message_size(usize::MAX);
        let request = client.watch(convert::start(prefix, None), Some(options));
        match tokio::time::timeout(self.inner.options.request_timeout, request).await {
            Ok(Ok(connection)) => self.connection = Some(connection),
            Ok(Err(error)) => self.fail(&error),
            Err(_) => self.lose("etcd does not answer in time"),
        }
    }

    /// Keeps a message that tells of changes or progress.
    fn take_in(&mut self, message: WatchResponse) {
        let compacted = message.compact_revision();
        if compacted > 0 {
            let oldest = self.inner.note_compacted(compacted as Revision);
            self.end = Some(Error::Compacted { requested: self.seen, oldest });
            return;
        }
        if message.canceled() {
            if message.cancel_reason().contains("permission denied") {
                return self.refused(Error::Unavailable(message.cancel_reason().to_owned()));
            }
            return self.lose(message.cancel_reason());
        }
        if message.created() {
            self.backoff = BACKOFF_MIN;
            // etcd answers only once the watch has caught up.
            self.progress.reset_immediately();
            return;
        }
        if !message.events().is_empty() || convert::revision(message.header()) >= self.seen {
            self.message = Some(message);
        }
    }

    /// Who may not watch all keys still may watch some.
    fn refused(&mut self, error: Error) {
        self.connection = None;
        if self.watches_all() {
            tracing::warn!("etcd lets us watch our own keys only; reads may have to wait for others' writes");
            self.inner.watches_all.0.store(false, Ordering::Relaxed);
        } else {
            self.end = Some(error);
        }
    }

    /// Ends the watch where trying again is no use.
    fn fail(&mut self, error: &etcd_client::Error) {
        match failure::kind(error) {
            // Without a leader, or without a connection, a later request may do better.
            Kind::Refused if is_final(error) => self.refused(failure::of_read(error)),
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
    let Some(pair) = event.kv() else { return Err(keyless()) };
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

fn keyless() -> Error {
    Error::Corrupt("etcd tells of a change without a key".into())
}
