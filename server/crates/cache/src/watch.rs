//! One watch: a short queue that is filled as changes come, and the window to catch up from.
//!
//! A watch is *live* while its queue holds everything that was not yet delivered. A new watch, and
//! one whose queue ran full, is *lagging*: it reads from the window when its receiver asks, and
//! ends with [`Error::Compacted`] only where the window has moved on. So a watch's memory is
//! bounded, and a burst of writes ends no watch.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll, Waker};

use apiwright_storage::{Entry, Error, Event, Only, Result, Revision};
use parking_lot::Mutex;

use crate::history::Position;
use crate::hub::Hub;
use crate::queue::Queue;

/// The stream of a watch.
pub(crate) struct WatchStream {
    hub: Arc<Mutex<Hub>>,
    subscriber: Arc<Subscriber>,
}

/// What the writer sees of a watch.
#[derive(Debug)]
pub(crate) struct Subscriber {
    pub(crate) prefix: Box<str>,
    /// Which entries it is about, where not about all.
    pub(crate) only: Option<Only>,
    /// Where the index has it; guarded by the hub's lock.
    pub(crate) slot: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Changes up to here are not wanted.
    after: Revision,
    /// The newest revision of which the receiver has taken something.
    delivered: Revision,
    /// What comes next, each with its position in the window.
    queue: Queue,
    /// Whether the queue lacks changes that only the window has.
    lagging: bool,
    /// Where in the window these begin.
    position: Position,
    /// Whether the receiver was ever told that it has caught up.
    synced: bool,
    end: Option<Error>,
    ended: bool,
    waker: Option<Waker>,
}

impl WatchStream {
    pub(crate) fn new(hub: Arc<Mutex<Hub>>, subscriber: Arc<Subscriber>) -> Self {
        Self { hub, subscriber }
    }
}

impl futures::Stream for WatchStream {
    type Item = Result<Event>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let mut state = this.subscriber.state.lock();
        if state.queue.is_empty() && state.lagging && state.end.is_none() {
            // The hub's lock comes before a watch's.
            drop(state);
            let hub = this.hub.lock();
            state = this.subscriber.state.lock();
            state.catch_up(&hub, &this.subscriber);
        }
        if let Some(event) = state.queue.pop() {
            state.delivered = state.delivered.max(event.revision());
            return Poll::Ready(Some(Ok(event)));
        }
        if let Some(error) = state.end.take() {
            state.ended = true;
            return Poll::Ready(Some(Err(error)));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            None => state.waker = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for WatchStream {
    fn drop(&mut self) {
        self.hub.lock().unsubscribe(&self.subscriber);
    }
}

impl Subscriber {
    /// A watch of what comes after a revision, from a position of the window on.
    pub(crate) fn new(prefix: &str, only: Option<Only>, after: Revision, position: Position) -> Self {
        let state = State {
            after,
            delivered: after,
            queue: Queue::default(),
            lagging: true,
            position,
            synced: false,
            end: None,
            ended: false,
            waker: None,
        };
        Self { prefix: prefix.into(), only, slot: AtomicUsize::new(0), state: Mutex::new(state) }
    }

    /// Whether a change is one to deliver.
    fn concerns(&self, event: &Event) -> bool {
        let includes = |entry: &Entry| self.only.as_ref().is_none_or(|only| only.includes(entry));
        event.key().is_some_and(|key| key.starts_with(&*self.prefix))
            && match event {
                Event::Put { entry, previous } => {
                    includes(entry) || previous.as_ref().is_some_and(|previous| includes(previous))
                }
                Event::Delete { previous, .. } => includes(previous),
                Event::Progress(_) => false,
            }
    }

    /// Hands over a change, or progress; gives who is to be woken for it.
    pub(crate) fn push(&self, position: Position, event: &Event, queue_max: usize) -> Option<Waker> {
        let mut state = self.state.lock();
        let is_progress = matches!(event, Event::Progress(_));
        let known = if is_progress { state.delivered } else { state.after };
        if state.lagging || state.ended || event.revision() <= known {
            return None;
        }
        if is_progress {
            state.queue.drop_progress();
        }
        if !state.queue.push(position, event, queue_max) {
            state.lag();
        }
        state.waker.take()
    }

    /// Ends the watch after what is queued.
    pub(crate) fn end(&self, error: Error) -> Option<Waker> {
        let mut state = self.state.lock();
        if !state.ended {
            state.end = Some(error);
        }
        state.waker.take()
    }
}

impl State {
    /// Gives up the full queue, to be read again from the window.
    fn lag(&mut self) {
        if let Some(position) = self.queue.front() {
            self.position = position;
        }
        self.queue = Queue::default();
        self.lagging = true;
    }

    /// Takes the next changes from the window.
    fn catch_up(&mut self, hub: &Hub, subscriber: &Subscriber) {
        let Some(events) = hub.history().from(self.position) else {
            self.end = Some(Error::Compacted { requested: self.delivered, oldest: hub.history().floor() });
            return;
        };
        for event in events {
            let is_wanted = event.revision() > self.after && subscriber.concerns(event);
            if is_wanted && !self.queue.push(self.position, event, hub.queue_max()) {
                return;
            }
            self.position += 1;
        }
        self.lagging = false;
        let newest = hub.history().newest();
        if newest > self.delivered || (newest == self.delivered && !self.synced) {
            self.synced = true;
            self.queue.push_always(self.position, Event::Progress(newest));
        }
    }
}
