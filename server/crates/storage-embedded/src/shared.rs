//! What the writer publishes and everyone else reads.
//!
//! Invariant: only durable writes get here. The snapshot and the window change together under the
//! hub's lock; reading the newest snapshot alone takes no lock.

use std::sync::Arc;

use apiwright_storage::{At, Error, Event, Result, Revision};
use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::Options;
use crate::hub::Hub;
use crate::snapshot::Snapshot;

/// The published state.
#[derive(Debug)]
pub(crate) struct Shared {
    snapshot: ArcSwap<Snapshot>,
    hub: Arc<Mutex<Hub>>,
    /// Why writes fail at present.
    pub(crate) failure: Mutex<Option<Error>>,
    /// Why nothing works any more.
    ended: arc_swap::ArcSwapOption<Error>,
}

impl Shared {
    pub(crate) fn new(snapshot: Snapshot, options: &Options) -> Self {
        Self {
            hub: Arc::new(Mutex::new(Hub::new(snapshot.revision, options))),
            snapshot: ArcSwap::from_pointee(snapshot),
            failure: Mutex::new(None),
            ended: arc_swap::ArcSwapOption::empty(),
        }
    }

    pub(crate) fn hub(&self) -> &Arc<Mutex<Hub>> {
        &self.hub
    }

    /// The newest entries.
    pub(crate) fn newest(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Fails once the engine has ended.
    pub(crate) fn check(&self) -> Result<()> {
        match &*self.ended.load() {
            Some(error) => Err(Error::clone(error)),
            None => Ok(()),
        }
    }

    /// Runs `read` on the entries at a moment.
    pub(crate) fn read<T>(&self, at: At, read: impl FnOnce(&Snapshot) -> T) -> Result<T> {
        self.check()?;
        let At::Revision(revision) = at else { return Ok(read(&self.snapshot.load())) };
        let newest = self.snapshot.load();
        if revision == newest.revision {
            return Ok(read(&newest));
        }
        Ok(read(&self.past(revision)?))
    }

    /// Publishes a committed batch: the snapshot after it, and its changes.
    pub(crate) fn publish(&self, snapshot: Snapshot, events: Vec<Event>) {
        let mut wakers = Vec::new();
        let replaced = {
            let mut hub = self.hub.lock();
            let replaced = self.snapshot.swap(Arc::new(snapshot));
            hub.publish(events, &mut wakers);
            replaced
        };
        drop(replaced);
        wakers.into_iter().for_each(std::task::Waker::wake);
    }

    /// Tells watches how far they have come.
    pub(crate) fn report_progress(&self) {
        let mut wakers = Vec::new();
        self.hub.lock().report_progress(&mut wakers);
        wakers.into_iter().for_each(std::task::Waker::wake);
    }

    /// Ends everything.
    pub(crate) fn end(&self, error: Error) {
        if self.ended.load().is_some() {
            return;
        }
        self.ended.store(Some(Arc::new(error.clone())));
        let mut wakers = Vec::new();
        self.hub.lock().close(error, &mut wakers);
        wakers.into_iter().for_each(std::task::Waker::wake);
    }

    fn past(&self, revision: Revision) -> Result<Snapshot> {
        let rewind = {
            let hub = self.hub.lock();
            hub.history().rewind(&self.snapshot.load(), revision)?
        };
        let (snapshot, keep) = rewind.run();
        if keep {
            self.hub.lock().history_mut().keep(snapshot.clone());
        }
        Ok(snapshot)
    }
}
