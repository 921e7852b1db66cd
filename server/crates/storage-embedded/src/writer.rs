//! The one thread that writes.
//!
//! It takes all writes that wait, makes them durable with one commit, publishes them, and only
//! then answers. Writes that come meanwhile form the next batch, so the load sets the batch size.
//!
//! When a commit fails, the file tells whether it happened after all; until it can be asked, the
//! batch is in doubt, its writers are told so, and other writes are refused. Reads go on.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use apiwright_storage::{Error, Outcome, Result};
use tokio::sync::oneshot;

use crate::backup::Backup;
use crate::batch::{Batch, Reply, Write};
use crate::durable::Durable;
use crate::expiry::{self, Deadlines};
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

/// What stands between a failed commit and the next one.
#[derive(Debug)]
struct Trouble {
    error: Error,
    retry_at: Instant,
    /// What may be on disk or not.
    in_doubt: Option<Batch>,
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
        let result = self.durable.take().map_or(Ok(()), Durable::close);
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
            Some(Duration::from_millis(due.saturating_sub(expiry::now())))
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
        let now = expiry::now();
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
            (Some(durable), None) => match durable.commit(&batch) {
                Ok(()) => self.publish(batch),
                Err(error) => self.settle(batch, error),
            },
        }
    }

    /// Finds out what became of a batch whose commit failed.
    fn settle(&mut self, mut batch: Batch, error: Error) {
        tracing::error!(%error, "a commit to disk failed");
        let outcome = self.recover(Some(&batch));
        let in_doubt = match outcome {
            Ok(true) => return self.publish(batch),
            Ok(false) => {
                refuse(batch.outcomes, &error);
                None
            }
            Err(_) => {
                refuse(std::mem::take(&mut batch.outcomes), &Error::Unknown(error.to_string()));
                Some(batch)
            }
        };
        *self.shared.failure.lock() = Some(error.clone());
        self.trouble =
            Some(Trouble { error, retry_at: Instant::now() + self.options.retry_interval, in_doubt });
    }

    /// Tries to get out of trouble.
    fn retry(&mut self) {
        let Some(mut trouble) = self.trouble.take() else { return };
        let in_doubt = trouble.in_doubt.take();
        let result = match self.recover(in_doubt.as_ref()) {
            Ok(true) => {
                if let Some(batch) = in_doubt {
                    self.publish(batch);
                }
                Ok(())
            }
            Ok(false) => Ok(()),
            Err(error) => {
                trouble.in_doubt = in_doubt;
                Err(error)
            }
        };
        // Whether writing works again, only writing shows.
        let probe = Batch::new(self.shared.memory.newest().as_ref().clone());
        match result.and_then(|()| self.durable.as_mut().map_or(Ok(()), |durable| durable.commit(&probe))) {
            Ok(()) => {
                tracing::info!("the disk works again");
                *self.shared.failure.lock() = None;
            }
            Err(error) => {
                *self.shared.failure.lock() = Some(error.clone());
                trouble.error = error;
                trouble.retry_at = Instant::now() + self.options.retry_interval;
                self.trouble = Some(trouble);
            }
        }
    }

    /// Opens the file again where that is necessary; gives whether it has the batch in it.
    fn recover(&mut self, in_doubt: Option<&Batch>) -> Result<bool> {
        let Some(durable) = self.durable.as_mut().filter(|durable| durable.is_broken()) else {
            return Ok(false);
        };
        let newest = self.shared.memory.newest();
        let revision = durable.recover(&newest, &self.deadlines)?;
        if revision == newest.revision {
            return Ok(false);
        }
        if in_doubt.is_some_and(|batch| batch.head.revision == revision) {
            return Ok(true);
        }
        // Somebody else wrote the file. What memory has was acknowledged; the file is replaced.
        durable.distrust();
        durable.recover(&newest, &self.deadlines).map(|_| false)
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
