//! The one thread that writes.
//!
//! It takes all writes that wait, makes them durable with one commit, publishes them, and only
//! then answers. Writes that come meanwhile form the next batch, so the load sets the batch size.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use apiwright_storage::{Error, Result};
use tokio::sync::oneshot;

use crate::Options;
use crate::batch::{Batch, Write};
use crate::expiry::{self, Deadlines};
use crate::shared::Shared;

/// The longest sleep: the wall clock may be set meanwhile.
const SLEEP_MAX: Duration = Duration::from_secs(30);

/// What the writer is asked for.
#[derive(Debug)]
pub(crate) enum Request {
    /// Compare and write.
    Write(Write),
    /// Flush and stop.
    Close(oneshot::Sender<Result<()>>),
}

/// The writer's own state.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) requests: Receiver<Request>,
    pub(crate) deadlines: Deadlines,
    pub(crate) options: Options,
    /// When watches are next told of their progress; `None` while nothing was written.
    pub(crate) progress_due: Option<Instant>,
}

impl Writer {
    /// Serves until closed or until the engine is dropped.
    pub(crate) fn run(mut self) {
        let end = EndOnDrop(self.shared.clone());
        let close = self.serve();
        drop(end);
        if let Some(reply) = close {
            let _ = reply.send(Ok(()));
        }
    }

    fn serve(&mut self) -> Option<oneshot::Sender<Result<()>>> {
        loop {
            let first = match self.requests.recv_timeout(self.patience()) {
                Ok(request) => Some(request),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return None,
            };
            let mut batch = Batch::new(self.shared.newest().as_ref().clone());
            let close = self.fill(&mut batch, first);
            self.commit(batch);
            if close.is_some() {
                return close;
            }
            if self.progress_due.is_some_and(|due| due <= Instant::now()) {
                self.progress_due = None;
                self.shared.report_progress();
            }
        }
    }

    /// How long to wait for a write when there is none.
    fn patience(&self) -> Duration {
        let expiry = self.deadlines.next().map(|due| Duration::from_millis(due.saturating_sub(expiry::now())));
        let progress = self.progress_due.map(|due| due.saturating_duration_since(Instant::now()));
        [expiry, progress].into_iter().flatten().fold(SLEEP_MAX, Duration::min)
    }

    /// Collects what is due and what waits.
    fn fill(
        &self,
        batch: &mut Batch,
        first: Option<Request>,
    ) -> Option<oneshot::Sender<Result<()>>> {
        let now = expiry::now();
        for key in self.deadlines.due(now).take(self.options.batch_writes_max) {
            batch.expire(key);
        }
        let mut next = first;
        while let Some(request) = next {
            match request {
                Request::Write(write) => batch.write(write, now),
                Request::Close(reply) => return Some(reply),
            }
            if batch.outcomes.len() >= self.options.batch_writes_max || batch.bytes >= self.options.batch_bytes_max {
                break;
            }
            next = self.requests.try_recv().ok();
        }
        None
    }

    fn commit(&mut self, batch: Batch) {
        self.publish(batch);
    }

    /// Shows a durable batch to everyone, then answers its writers.
    fn publish(&mut self, batch: Batch) {
        if !batch.steps.is_empty() {
            for step in &batch.steps {
                self.deadlines.set(&step.entry.key, step.deadline);
            }
            self.progress_due.get_or_insert_with(|| Instant::now() + self.options.progress_interval);
            self.shared.publish(batch.head, batch.events);
        }
        for (reply, outcome) in batch.outcomes {
            let _ = reply.send(Ok(outcome));
        }
    }
}

/// However the writer ends, even by a panic, nobody is left waiting.
struct EndOnDrop(Arc<Shared>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(Error::Unavailable("the storage is closed".into()));
    }
}
