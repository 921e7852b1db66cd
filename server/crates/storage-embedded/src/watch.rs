//! One watch: a short queue that the writer fills, and the window to catch up from.
//!
//! A watch is *live* while its queue holds everything that was not yet delivered. A new watch, and
//! one whose queue ran full, is *lagging*: it reads from the window when its receiver asks, and
//! ends with [`Error::Compacted`] only where the window has moved on. So a watch's memory is
//! bounded, and a burst of writes ends no watch.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll, Waker};

use apiwright_storage::{Error, Event, Result, Revision};
use parking_lot::Mutex;

use crate::hub::Hub;

/// The stream of a watch.
pub(crate) struct WatchStream {
    hub: Arc<Mutex<Hub>>,
    subscriber: Arc<Subscriber>,
}

/// What the writer sees of a watch.
#[derive(Debug)]
pub(crate) struct Subscriber {
    pub(crate) prefix: Box<str>,
    /// Where the index has it; guarded by the hub's lock.
    pub(crate) slot: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Everything up to this revision has been taken by the receiver.
    delivered: Revision,
    queue: VecDeque<Event>,
    /// Whether the queue lacks changes that only the window has.
    lagging: bool,
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
            state.catch_up(&hub, &this.subscriber.prefix);
        }
        if let Some(event) = state.queue.pop_front() {
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
    /// A watch that has seen everything up to `after` and looks the rest up.
    pub(crate) fn new(prefix: &str, after: Revision) -> Self {
        let state = State {
            delivered: after,
            queue: VecDeque::new(),
            lagging: true,
            synced: false,
            end: None,
            ended: false,
            waker: None,
        };
        Self { prefix: prefix.into(), slot: AtomicUsize::new(0), state: Mutex::new(state) }
    }

    /// Hands over a change, or progress; gives who is to be woken for it.
    pub(crate) fn push(&self, event: &Event, queue_max: usize) -> Option<Waker> {
        let mut state = self.state.lock();
        if state.lagging || state.ended || event.revision() <= state.delivered {
            return None;
        }
        if matches!((state.queue.back(), event), (Some(Event::Progress(_)), Event::Progress(_))) {
            state.queue.pop_back();
        }
        if state.queue.len() < queue_max {
            state.queue.push_back(event.clone());
        } else {
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
    /// Gives up the queue, to be read again from the window.
    fn lag(&mut self) {
        // Before the first queued change, everything that concerns this watch was delivered.
        if let Some(first) = self.queue.front() {
            self.delivered = self.delivered.max(first.revision() - 1);
        }
        self.queue = VecDeque::new();
        self.lagging = true;
    }

    /// Takes the next changes from the window.
    fn catch_up(&mut self, hub: &Hub, prefix: &str) {
        let events = match hub.history().after(self.delivered) {
            Ok(events) => events,
            Err(error) => {
                self.end = Some(error);
                return;
            }
        };
        let mut matching = events.filter(|event| event.key().is_some_and(|key| key.starts_with(prefix)));
        self.queue.extend(matching.by_ref().take(hub.queue_max()).cloned());
        if self.queue.len() == hub.queue_max() && matching.next().is_some() {
            return;
        }
        self.lagging = false;
        let newest = hub.history().newest();
        if newest > self.delivered || (newest == self.delivered && !self.synced) {
            self.synced = true;
            self.queue.push_back(Event::Progress(newest));
        }
    }
}
