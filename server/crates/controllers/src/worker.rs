//! The loop of one controller: keys out of its queue, each observed, decided, acted on.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use apiwright_meta::Status;
use apiwright_meta::status::Reason;
use futures::FutureExt;
use tokio::sync::watch;
use tracing::{debug, warn};

use crate::cache::Cache;
use crate::queue::{Key, Queue};
use crate::reconcile::{Next, Reconcile};
use crate::spec::WatchSpec;

/// One controller at work.
pub(crate) struct Worker {
    pub(crate) controller: Arc<dyn Reconcile>,
    pub(crate) queue: Arc<Queue>,
    /// What was there at the start and has not been looked at yet; `None` while that is not known.
    initial: Mutex<Option<HashSet<Key>>>,
    /// What it watches, and where that is cached.
    pub(crate) sources: Vec<(&'static WatchSpec, Option<Cache>)>,
    at_work: AtomicBool,
    synced: watch::Sender<bool>,
}

impl Worker {
    pub(crate) fn new(
        controller: Arc<dyn Reconcile>,
        queue: Arc<Queue>,
        sources: Vec<(&'static WatchSpec, Option<Cache>)>,
    ) -> Self {
        Self {
            controller,
            queue,
            initial: Mutex::default(),
            sources,
            at_work: AtomicBool::new(false),
            synced: watch::channel(false).0,
        }
    }

    /// Whether it works, or stands aside.
    pub(crate) fn is_at_work(&self) -> bool {
        self.at_work.load(Ordering::Relaxed)
    }

    /// Becomes true when everything that was there at the start has been looked at once.
    pub(crate) fn synced(&self) -> watch::Receiver<bool> {
        self.synced.subscribe()
    }

    /// What is in the queue now is what was there at the start.
    pub(crate) fn begin(&self) {
        let initial = self.queue.pending();
        self.synced.send_replace(initial.is_empty());
        *self.initial.lock().unwrap_or_else(PoisonError::into_inner) = Some(initial);
    }

    /// Works while `may_run` is true, until the queue is closed.
    pub(crate) async fn run(&self, mut may_run: watch::Receiver<bool>) {
        while wait_for(&mut may_run, true).await {
            self.at_work.store(true, Ordering::Relaxed);
            let key = tokio::select! {
                key = self.queue.get() => key,
                stopped = wait_for(&mut may_run, false) => match stopped {
                    true => {
                        self.at_work.store(false, Ordering::Relaxed);
                        continue;
                    }
                    false => return,
                },
            };
            let Some(key) = key else { return };
            self.work(&key).await;
        }
    }

    async fn work(&self, key: &Key) {
        let name = self.controller.spec().name;
        let reconciled = AssertUnwindSafe(self.controller.reconcile(key)).catch_unwind().await;
        match reconciled.unwrap_or_else(|_| Err(Status::internal("the controller panicked"))) {
            Ok(Next::Done) => self.queue.forget(key),
            Ok(Next::After(wait)) => {
                self.queue.forget(key);
                self.queue.add_after(key, wait);
            }
            Ok(Next::Again) => self.queue.add_rate_limited(key),
            Err(why) => {
                // Somebody else was faster: that is how it goes, not a fault.
                if why.reason == Some(Reason::Conflict) {
                    debug!(controller = name, key = &**key, why = why.message, "trying again");
                } else {
                    warn!(controller = name, key = &**key, why = why.message, "trying again later");
                }
                self.queue.add_rate_limited(key);
            }
        }
        self.queue.done(key);
        self.looked_at(key);
    }

    fn looked_at(&self, key: &Key) {
        let mut initial = self.initial.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = initial.as_mut()
            && left.remove(key)
            && left.is_empty()
        {
            self.synced.send_replace(true);
        }
    }
}

/// Waits until a value is so; `false` where nobody is left to say so.
async fn wait_for(value: &mut watch::Receiver<bool>, wanted: bool) -> bool {
    value.wait_for(|value| *value == wanted).await.is_ok()
}
