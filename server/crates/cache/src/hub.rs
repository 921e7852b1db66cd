//! Where changes meet the watches: the window and the index under one lock.

use std::sync::Arc;
use std::task::Waker;

use apiwright_storage::{Error, Event, Only, Result, Revision};

use crate::Limits;
use crate::history::History;
use crate::index::Index;
use crate::watch::Subscriber;

/// The revision of a store that nothing was written to.
pub const FIRST_REVISION: Revision = 1;

/// The window and the watches.
#[derive(Debug)]
pub(crate) struct Hub {
    history: History,
    index: Index,
    queue_max: usize,
    closed: Option<Error>,
    progress: Revision,
}

impl Hub {
    pub(crate) fn new(revision: Revision, limits: &Limits) -> Self {
        Self {
            history: History::new(revision, limits),
            index: Index::default(),
            queue_max: limits.watch_queue_events_max.max(1),
            closed: None,
            progress: revision,
        }
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    pub(crate) fn history_mut(&mut self) -> &mut History {
        &mut self.history
    }

    pub(crate) fn queue_max(&self) -> usize {
        self.queue_max
    }

    /// Registers a watch of the changes after a revision.
    pub(crate) fn subscribe(
        &mut self,
        prefix: &str,
        after: Revision,
        only: Option<&Only>,
    ) -> Result<Arc<Subscriber>> {
        if let Some(error) = &self.closed {
            return Err(error.clone());
        }
        // Nothing happened before a store's first revision.
        let after = after.max(FIRST_REVISION);
        let position = self.history.after(after)?;
        let subscriber = Arc::new(Subscriber::new(prefix, only.cloned(), after, position));
        self.index.insert(subscriber.clone());
        Ok(subscriber)
    }

    pub(crate) fn unsubscribe(&mut self, subscriber: &Arc<Subscriber>) {
        self.index.remove(subscriber);
    }

    /// Records the changes up to a revision and queues them; the wakers are to be woken without the lock.
    pub(crate) fn publish(&mut self, events: Vec<Event>, revision: Revision, wakers: &mut Vec<Waker>) {
        for event in events {
            let position = self.history.end();
            self.index.matching(&event, |subscriber| {
                wakers.extend(subscriber.push(position, &event, self.queue_max));
            });
            self.history.push(event);
        }
        self.history.advance(revision);
    }

    /// Tells all watches how far they have come, if that changed.
    pub(crate) fn report_progress(&mut self, wakers: &mut Vec<Waker>) {
        let newest = self.history.newest();
        if newest > self.progress {
            self.progress = newest;
            let (event, position) = (Event::Progress(newest), self.history.end());
            let told = self.index.all().filter_map(|one| one.push(position, &event, self.queue_max));
            wakers.extend(told);
        }
    }

    /// Ends all watches and accepts no more.
    pub(crate) fn close(&mut self, error: Error, wakers: &mut Vec<Waker>) {
        wakers.extend(self.index.all().filter_map(|subscriber| subscriber.end(error.clone())));
        self.closed = Some(error);
    }
}
