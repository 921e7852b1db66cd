//! The one thread that writes.
//!
//! It takes all writes that wait, makes them durable with one commit, publishes them, and only
//! then answers. Writes that come meanwhile form the next batch, so the load sets the batch size.
//!
//! When a write fails, it is seen to that it never happened; where even that cannot be made durable, its
//! writers are told that its outcome is unknown. Other writes are refused until the disk works again.
//! Reads go on.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use apiwright_storage::{Error, Outcome, Result};
use tokio::sync::oneshot;

use crate::backup::Backup;
use crate::batch::{Batch, Reply, Write};
use crate::durable::{Durable, WriteError};
use crate::expiry::Deadlines;
use crate::shared::Shared;
use crate::{Options, closed};

/// The longest sleep: the wall clock may be set meanwhile.
const SLEEP_MAX: Duration = Duration::from_secs(30);

/// What the writer is asked for.
#[derive(Debug)]
pub(crate) enum Request {
    /// Compare and write.
    Write(Write),
    /// Tell what there is.
    Backup(oneshot::Sender<Backup>),
    /// Flush and stop.
    Close(oneshot::Sender<Result<()>>),
}

/// The writer's own state.
#[derive(Debug)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
    requests: Receiver<Request>,
    deadlines: Deadlines,
    durable: Option<Durable>,
    options: Options,
    /// When watches are next told of their progress; `None` while nothing was written.
    progress_due: Option<Instant>,
    trouble: Option<Trouble>,
}

/// What stands between a failed write and the next one.
#[derive(Debug)]
struct Trouble {
    error: Error,
    retry_at: Instant,
}

/// Where the answer to a close goes.
type CloseReply = oneshot::Sender<Result<()>>;

impl Writer {
    pub(crate) fn new(
        shared: Arc<Shared>,
        requests: Receiver<Request>,
        deadlines: Deadlines,
        durable: Option<Durable>,
        options: Options,
    ) -> Self {
        Self { shared, requests, deadlines, durable, options, progress_due: None, trouble: None }
    }

    /// Serves until closed or until the engine is dropped.
    pub(crate) fn run(mut self) {
        let end = EndOnDrop(self.shared.clone());
        let close = self.serve();
        drop(end);
        for request in self.requests.try_iter() {
            match request {
                Request::Write(write) => drop(write.reply.send(Err(closed()))),
                Request::Backup(reply) => drop(reply),
                Request::Close(reply) => drop(reply.send(Err(closed()))),
            }
        }
        let newest = self.shared.memory.newest().revision;
        let result = self.durable.take().map_or(Ok(()), |durable| durable.close(newest));
        if let Some(reply) = close {
            let _ = reply.send(result);
        }
    }

    fn serve(&mut self) -> Option<CloseReply> {
        loop {
            let first = match self.requests.recv_timeout(self.patience()) {
                Ok(request) => Some(request),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return None,
            };
            if self.trouble.as_ref().is_some_and(|trouble| trouble.retry_at <= Instant::now()) {
                self.retry();
            }
            if let Some(durable) = &mut self.durable {
                durable.tidy(&self.shared.memory.newest(), &self.deadlines);
            }
            let mut batch = Batch::new(self.shared.memory.newest().as_ref().clone());
            let close = self.fill(&mut batch, first);
            self.commit(batch);
            if close.is_some() {
                return close;
            }
            if self.progress_due.is_some_and(|due| due <= Instant::now()) {
                self.progress_due = None;
                self.shared.memory.report_progress();
            }
        }
    }

    /// How long to wait for a write when there is none.
    fn patience(&self) -> Duration {
        let until = |due: Instant| due.saturating_duration_since(Instant::now());
        let expiry = || {
            let due = self.deadlines.next()?;
            Some(Duration::from_millis(due.saturating_sub(self.options.clock.now())))
        };
        let work = match &self.trouble {
            Some(_) if self.options.retry_interval.is_zero() => None,
            Some(trouble) => Some(until(trouble.retry_at)),
            None => expiry(),
        };
        [work, self.progress_due.map(until)].into_iter().flatten().fold(SLEEP_MAX, Duration::min)
    }

    /// Collects what is due and what waits.
    fn fill(&self, batch: &mut Batch, first: Option<Request>) -> Option<CloseReply> {
        let now = self.options.clock.now();
        if self.trouble.is_none() {
            for key in self.deadlines.due(now).take(self.options.batch_writes_max) {
                batch.expire(key);
            }
        }
        let mut next = first;
        while let Some(request) = next {
            match request {
                Request::Write(write) => batch.write(write, now),
                Request::Backup(reply) => {
                    let published = self.shared.memory.newest().as_ref().clone();
                    let _ = reply.send(Backup::new(published, self.deadlines.by_key().clone()));
                    // What was collected so far does not wait for more.
                    break;
                }
                Request::Close(reply) => return Some(reply),
            }
            if batch.outcomes.len() >= self.options.batch_writes_max
                || batch.bytes >= self.options.batch_bytes_max
            {
                break;
            }
            next = self.requests.try_recv().ok();
        }
        None
    }

    /// Makes a batch durable and publishes it, or says to its writers why not.
    fn commit(&mut self, batch: Batch) {
        match (&mut self.durable, &self.trouble) {
            _ if batch.steps.is_empty() => self.publish(batch),
            (_, Some(trouble)) => refuse(batch.outcomes, &trouble.error),
            (None, None) => self.publish(batch),
            (Some(durable), None) => {
                let newest = self.shared.memory.newest().revision;
                match durable.append(newest, &batch) {
                    Ok(()) => self.publish(batch),
                    Err(WriteError { error, in_doubt }) => {
                        tracing::error!(%error, "a write to disk failed");
                        let settled = if in_doubt { durable.settle(newest) } else { Ok(()) };
                        match settled {
                            Ok(()) => refuse(batch.outcomes, &error),
                            Err(_) => refuse(batch.outcomes, &Error::Unknown(error.to_string())),
                        }
                        self.stay_in_trouble(error);
                    }
                }
            }
        }
    }

    /// Tries to get out of trouble: whether writing works again, only writing shows.
    fn retry(&mut self) {
        let Some(durable) = &mut self.durable else { return };
        let newest = self.shared.memory.newest();
        match durable.append(newest.revision, &Batch::new(newest.as_ref().clone())) {
            Ok(()) => {
                tracing::info!("the disk works again");
                self.trouble = None;
                *self.shared.failure.lock() = None;
            }
            Err(WriteError { error, .. }) => self.stay_in_trouble(error),
        }
    }

    fn stay_in_trouble(&mut self, error: Error) {
        *self.shared.failure.lock() = Some(error.clone());
        self.trouble = Some(Trouble { error, retry_at: Instant::now() + self.options.retry_interval });
    }

    /// Shows a durable batch to everyone, then answers its writers.
    fn publish(&mut self, batch: Batch) {
        if !batch.steps.is_empty() {
            for step in &batch.steps {
                self.deadlines.set(&step.entry.key, step.deadline);
            }
            self.progress_due.get_or_insert_with(|| Instant::now() + self.options.progress_interval);
            self.shared.memory.publish(batch.head, batch.events);
        }
        for (reply, outcome) in batch.outcomes {
            let _ = reply.send(Ok(outcome));
        }
    }
}

/// Answers all writers of a batch with an error.
fn refuse(outcomes: Vec<(Reply, Outcome)>, error: &Error) {
    for (reply, _) in outcomes {
        let _ = reply.send(Err(error.clone()));
    }
}

/// However the writer ends, even by a panic, nobody is left waiting.
struct EndOnDrop(Arc<Shared>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.memory.end(closed());
    }
}
