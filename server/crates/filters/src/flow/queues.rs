//! The queues of a level: who waits, and whose turn it is.
//!
//! Start-time fair queuing over seat-seconds: each queue has the virtual time at which its next
//! request may start; what it uses moves that on, and the queue that is furthest behind goes
//! first. A request is charged an estimate when it starts and the truth when it ends.
//! Knows nothing of seats being free. Invariant: a queue that was idle starts at the present, it
//! saves nothing up.

use std::collections::VecDeque;
use std::time::Duration;

use super::hand;

/// What a request is thought to take before it is known.
const SERVICE_SECONDS_ESTIMATE: f64 = 0.003;
/// The most that one request's length counts against its flow.
const SERVICE_SECONDS_MAX: f64 = 60.0;

/// The queues. `T` is what waits.
pub(super) struct Queues<T> {
    all: Vec<Queue<T>>,
    hand: usize,
    length_max: usize,
    /// The present, in virtual seat-seconds.
    now: f64,
    waiting: usize,
}

struct Queue<T> {
    waiting: VecDeque<Waiter<T>>,
    /// When its next request may start.
    start: f64,
}

/// Somebody in a queue.
pub(super) struct Waiter<T> {
    pub(super) what: T,
    pub(super) hash: u64,
    pub(super) width: u32,
}

impl<T> Queues<T> {
    pub(super) fn new(queues: usize, hand: usize, length_max: usize) -> Self {
        let queue = || Queue { waiting: VecDeque::new(), start: 0.0 };
        Self {
            all: std::iter::repeat_with(queue).take(queues.max(1)).collect(),
            hand,
            length_max,
            now: 0.0,
            waiting: 0,
        }
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The queue for a flow: of its hand the one with the least to do.
    pub(super) fn pick(&self, hash: u64) -> usize {
        let load = |at: &usize| {
            let queue = &self.all[*at];
            let waiting: u32 = queue.waiting.iter().map(|waiter| waiter.width).sum();
            (waiting, queue.start.max(self.now))
        };
        hand::deal(hash, self.all.len(), self.hand)
            .min_by(|a, b| load(a).partial_cmp(&load(b)).unwrap_or(std::cmp::Ordering::Equal))
            .unwrap_or_default()
    }

    /// Lets somebody wait.
    ///
    /// # Errors
    /// When the queue is full.
    pub(super) fn push(&mut self, at: usize, waiter: Waiter<T>) -> Result<(), Waiter<T>> {
        let queue = &mut self.all[at];
        if queue.waiting.len() >= self.length_max {
            return Err(waiter);
        }
        queue.waiting.push_back(waiter);
        self.waiting += 1;
        Ok(())
    }

    /// The width of whom [`Queues::pop`] would give.
    pub(super) fn next_width(&self) -> Option<u32> {
        self.next().and_then(|at| self.all[at].waiting.front()).map(|waiter| waiter.width)
    }

    /// Who is next, and of which queue.
    pub(super) fn pop(&mut self) -> Option<(usize, Waiter<T>)> {
        let at = self.next()?;
        let waiter = self.all[at].waiting.pop_front()?;
        self.waiting -= 1;
        Some((at, waiter))
    }

    /// A request of this queue starts.
    pub(super) fn begin(&mut self, at: usize, width: u32) {
        let queue = &mut self.all[at];
        let start = queue.start.max(self.now);
        self.now = start;
        queue.start = start + f64::from(width) * SERVICE_SECONDS_ESTIMATE;
    }

    /// A request of this queue has ended, and took that long.
    pub(super) fn end(&mut self, at: usize, width: u32, took: Duration) {
        if let Some(queue) = self.all.get_mut(at) {
            let took = took.as_secs_f64().min(SERVICE_SECONDS_MAX);
            queue.start += f64::from(width) * (took - SERVICE_SECONDS_ESTIMATE);
        }
    }

    /// Takes somebody out who does not want to wait any longer.
    pub(super) fn remove(&mut self, is: impl Fn(&T) -> bool) -> Option<T> {
        for queue in &mut self.all {
            if let Some(at) = queue.waiting.iter().position(|waiter| is(&waiter.what)) {
                self.waiting -= 1;
                return queue.waiting.remove(at).map(|waiter| waiter.what);
            }
        }
        None
    }

    /// Takes everybody out, in no particular order.
    pub(super) fn drain(&mut self) -> Vec<Waiter<T>> {
        self.waiting = 0;
        self.all.iter_mut().flat_map(|queue| queue.waiting.drain(..)).collect()
    }

    fn next(&self) -> Option<usize> {
        let waiting = self.all.iter().enumerate().filter(|(_, queue)| !queue.waiting.is_empty());
        waiting.min_by(|(_, a), (_, b)| a.start.total_cmp(&b.start)).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(what: &'static str, hash: u64) -> Waiter<&'static str> {
        Waiter { what, hash, width: 1 }
    }

    #[test]
    fn flows_take_turns() {
        let mut queues = Queues::new(2, 1, 10);
        for what in ["a1", "a2", "a3"] {
            queues.push(0, waiter(what, 0)).ok().unwrap();
        }
        queues.push(1, waiter("b1", 1)).ok().unwrap();
        let mut order = Vec::new();
        while let Some((at, waiter)) = queues.pop() {
            queues.begin(at, waiter.width);
            order.push(waiter.what);
        }
        assert_eq!(order, ["a1", "b1", "a2", "a3"]);
    }

    #[test]
    fn long_requests_are_paid_for() {
        let mut queues = Queues::new(2, 1, 10);
        queues.begin(0, 1);
        queues.end(0, 1, Duration::from_secs(1));
        for what in ["a1", "a2"] {
            queues.push(0, waiter(what, 0)).ok().unwrap();
        }
        for what in ["b1", "b2"] {
            queues.push(1, waiter(what, 1)).ok().unwrap();
        }
        let mut order = Vec::new();
        while let Some((at, waiter)) = queues.pop() {
            queues.begin(at, waiter.width);
            order.push(waiter.what);
        }
        assert_eq!(order, ["b1", "b2", "a1", "a2"]);
    }

    #[test]
    fn queues_are_bounded_and_can_be_left() {
        let mut queues = Queues::new(1, 1, 2);
        for what in ["a", "b"] {
            queues.push(0, waiter(what, 0)).ok().unwrap();
        }
        assert!(queues.push(0, waiter("c", 0)).is_err());
        assert_eq!(queues.remove(|what| *what == "a"), Some("a"));
        assert_eq!(queues.remove(|what| *what == "a"), None);
        assert_eq!(queues.waiting(), 1);
        assert_eq!(queues.drain().len(), 1);
        assert_eq!((queues.waiting(), queues.next_width()), (0, None));
    }
}
