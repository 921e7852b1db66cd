//! Takes what the log has to the table, on a thread of its own, so that no writer waits for it.
//!
//! What is written often within the log gets to the table once. The table stays some way behind, so
//! that after a restart the log still has the newest changes for watches to resume from. Only where
//! the disk cannot follow do writers wait: the log's length is bounded. A table that has become mostly
//! empty space is written anew.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use apiwright_cache::Snapshot;
use apiwright_storage::Revision;

use crate::Options;
use crate::batch::Step;
use crate::expiry::Deadlines;
use crate::failure::Failure;
use crate::log::Log;
use crate::table::Table;

/// How many bytes of changes one transaction of the table takes; bounds its memory.
const TRANSACTION_BYTES: usize = 4 << 20;

/// The changes that the table does not have yet, and who takes them there.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    /// Oldest first.
    pending: VecDeque<Part>,
    pending_bytes: usize,
    /// From where on one is begun, and from where on writers wait.
    bytes: usize,
    bytes_max: usize,
    running: Option<Target>,
    /// When a failed one is tried again.
    retry_at: Option<Instant>,
    retry_interval: Duration,
    /// Whether the table is to be written anew.
    rewrite: bool,
    work: Option<Sender<Work>>,
    done: Receiver<Done>,
    thread: Option<JoinHandle<Result<(), Failure>>>,
}

/// The changes of one record of the log.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// That of the last one.
    pub(crate) revision: Revision,
    pub(crate) steps: Vec<Step>,
    pub(crate) bytes: usize,
}

/// How far the table gets.
#[derive(Clone, Copy, Debug)]
struct Target {
    revision: Revision,
    segment: u64,
}

enum Work {
    /// Add these changes.
    Advance(Vec<Part>, Target),
    /// Begin anew with these entries.
    Rewrite(Snapshot, Deadlines, Target),
}

struct Done {
    result: Result<(), Failure>,
    /// Whether the table is better written anew.
    rewrite: bool,
}

impl Checkpoints {
    pub(crate) fn start(table: Table, pending: VecDeque<Part>, options: &Options) -> std::io::Result<Self> {
        let rewrite = table.is_bloated();
        let (work, receiver) = channel();
        let (sender, done) = channel();
        let thread = std::thread::Builder::new()
            .name("storage-table".into())
            .spawn(move || serve(table, &receiver, &sender))?;
        Ok(Self {
            pending_bytes: pending.iter().map(|part| part.bytes).sum(),
            pending,
            bytes: options.checkpoint_bytes,
            bytes_max: options.log_bytes_max,
            running: None,
            retry_at: None,
            retry_interval: options.retry_interval,
            rewrite,
            work: Some(work),
            done,
            thread: Some(thread),
        })
    }

    /// Takes note of what was appended to the log.
    pub(crate) fn add(&mut self, part: Part) {
        self.pending_bytes += part.bytes;
        self.pending.push_back(part);
    }

    /// Begins what is due and takes note of what is done; waits for it where the log is too long.
    pub(crate) fn run(&mut self, log: &mut Log, newest: &Snapshot, deadlines: &Deadlines) {
        while let Ok(done) = self.done.try_recv() {
            self.finish(done, log);
        }
        let due = self.pending_bytes > self.bytes || self.rewrite;
        if due && self.running.is_none() && self.retry_at.is_none_or(|at| at <= Instant::now()) {
            self.begin(log, newest, deadlines);
        }
        if self.running.is_some()
            && self.pending_bytes > self.bytes_max
            && let Ok(done) = self.done.recv()
        {
            self.finish(done, log);
        }
    }

    /// Stops, when what was begun is done.
    pub(crate) fn close(mut self) -> Result<(), Failure> {
        self.work = None;
        let joined = self.thread.take().map(JoinHandle::join);
        joined.unwrap_or(Ok(Ok(()))).unwrap_or_else(|_| Err(Failure::Other("a thread panicked".into())))
    }

    fn begin(&mut self, log: &Log, newest: &Snapshot, deadlines: &Deadlines) {
        let (work, target) = if self.rewrite {
            let target = Target { revision: newest.revision, segment: log.segment_at(newest.revision) };
            (Work::Rewrite(newest.clone(), deadlines.clone(), target), target)
        } else {
            let mut left = self.pending_bytes;
            let taken: Vec<Part> = self
                .pending
                .iter()
                .take_while(|part| {
                    let wanted = left > self.bytes / 2;
                    left -= part.bytes;
                    wanted
                })
                .cloned()
                .collect();
            let Some(revision) = taken.last().map(|part| part.revision) else { return };
            let target = Target { revision, segment: log.segment_at(revision) };
            (Work::Advance(taken, target), target)
        };
        if self.work.as_ref().is_some_and(|queue| queue.send(work).is_ok()) {
            self.running = Some(target);
        }
    }

    fn finish(&mut self, done: Done, log: &mut Log) {
        let Some(target) = self.running.take() else { return };
        self.rewrite = done.rewrite;
        match done.result {
            Ok(()) => {
                self.retry_at = None;
                while self.pending.front().is_some_and(|part| part.revision <= target.revision) {
                    self.pending_bytes -= self.pending.pop_front().map_or(0, |part| part.bytes);
                }
                log.drop_before(target.segment);
            }
            Err(failure) => {
                tracing::error!(error = %failure.into_error(), "the log grows: the table cannot be written");
                self.retry_at = Some(Instant::now() + self.retry_interval);
            }
        }
    }
}

fn serve(mut table: Table, work: &Receiver<Work>, done: &Sender<Done>) -> Result<(), Failure> {
    for work in work {
        let result = match work {
            Work::Advance(parts, target) => advance(&mut table, &parts, target),
            Work::Rewrite(snapshot, deadlines, target) => {
                table.rewrite(&snapshot, &deadlines, target.segment)
            }
        };
        let rewrite = table.is_distrusted() || table.is_bloated();
        // Nobody waits for it any more when the engine ends.
        let _ = done.send(Done { result, rewrite });
    }
    table.close()
}

/// Takes the table to a revision in a few transactions, from wherever it is.
fn advance(table: &mut Table, parts: &[Part], target: Target) -> Result<(), Failure> {
    let (revision, segment) = table.place()?;
    let mut rest = &parts[parts.partition_point(|part| part.revision <= revision)..];
    loop {
        let mut bytes = 0;
        let count = rest.iter().take_while(|part| {
            bytes += part.bytes;
            bytes <= TRANSACTION_BYTES
        });
        let (now, later) = rest.split_at(count.count().max(1).min(rest.len()));
        let steps = last_of_each_key(now);
        match now.last() {
            // The log begins where it began until all of it is done.
            Some(last) if !later.is_empty() => table.commit(&steps, last.revision, segment)?,
            _ => return table.commit(&steps, target.revision, target.segment),
        }
        rest = later;
    }
}

/// Of several changes to one key only the last one counts.
fn last_of_each_key(parts: &[Part]) -> Vec<Step> {
    let mut last: HashMap<Arc<str>, &Step> = HashMap::new();
    for step in parts.iter().flat_map(|part| &part.steps) {
        last.insert(step.entry.key.clone(), step);
    }
    let mut steps: Vec<Step> = last.into_values().cloned().collect();
    // In order, neighbours share pages.
    steps.sort_unstable_by(|a, b| a.entry.key.cmp(&b.entry.key));
    steps
}
