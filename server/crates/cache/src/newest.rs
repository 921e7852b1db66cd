//! How far the engine behind a cache has come.
//!
//! A read that has to see every acknowledged write asks that first. Many reads share one question:
//! those that come while one is under way wait for the next, as its answer may be older than they.

use std::sync::Arc;

use apiwright_storage::{Error, Result, Revision, Storage};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Asks an engine for its newest revision.
pub(crate) struct Newest {
    engine: Arc<dyn Storage>,
    queue: Arc<Mutex<Queue>>,
}

#[derive(Default)]
struct Queue {
    is_asking: bool,
    waiting: Vec<oneshot::Sender<Result<Revision>>>,
}

impl Newest {
    pub(crate) fn new(engine: Arc<dyn Storage>) -> Self {
        Self { engine, queue: Arc::default() }
    }

    /// A revision that no write is newer than that was acknowledged before this call.
    pub(crate) async fn ask(&self) -> Result<Revision> {
        let (reply, answer) = oneshot::channel();
        let starts = {
            let mut queue = self.queue.lock();
            queue.waiting.push(reply);
            !std::mem::replace(&mut queue.is_asking, true)
        };
        if starts {
            // A task of its own: whoever asked first may give up.
            tokio::spawn(serve(self.engine.clone(), self.queue.clone()));
        }
        answer.await.unwrap_or_else(|_| Err(Error::Unavailable("the storage stopped".into())))
    }
}

/// Asks until nobody waits.
async fn serve(engine: Arc<dyn Storage>, queue: Arc<Mutex<Queue>>) {
    loop {
        let waiting = {
            let mut queue = queue.lock();
            if queue.waiting.is_empty() {
                queue.is_asking = false;
                return;
            }
            std::mem::take(&mut queue.waiting)
        };
        let answer = engine.revision().await;
        for reply in waiting {
            let _ = reply.send(answer.clone());
        }
    }
}
