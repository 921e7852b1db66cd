//! What is remembered for a while.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Answers by what was asked, each for its time; the oldest go first where there are too many.
pub(crate) struct Expiring<K, V> {
    known: Mutex<Known<K, V>>,
    max: usize,
}

struct Known<K, V> {
    answers: HashMap<K, (Instant, V)>,
    /// In the order in which they came.
    order: VecDeque<K>,
}

impl<K: Clone + Eq + Hash, V: Clone> Expiring<K, V> {
    /// At most so many.
    pub(crate) fn new(max: usize) -> Self {
        let known = Known { answers: HashMap::new(), order: VecDeque::new() };
        Self { known: Mutex::new(known), max }
    }

    /// What is still remembered.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let known = self.lock();
        known.answers.get(key).filter(|(until, _)| *until > Instant::now()).map(|(_, value)| value.clone())
    }

    /// Remembers an answer for a time; no time is not at all.
    pub(crate) fn insert(&self, key: K, value: V, time: Duration) {
        if time.is_zero() {
            return;
        }
        let mut known = self.lock();
        if known.answers.insert(key.clone(), (Instant::now() + time, value)).is_none() {
            known.order.push_back(key);
        }
        while known.answers.len() > self.max {
            let Some(oldest) = known.order.pop_front() else { break };
            known.answers.remove(&oldest);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known<K, V>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_go() {
        let expiring = Expiring::new(2);
        expiring.insert("never", 0, Duration::ZERO);
        expiring.insert("short", 1, Duration::from_nanos(1));
        for (key, value) in [("a", 1), ("b", 2), ("a", 3)] {
            expiring.insert(key, value, Duration::from_mins(1));
        }
        std::thread::sleep(Duration::from_millis(1));
        let found = ["never", "short", "a", "b"].map(|key| expiring.get(&key));
        assert_eq!(found, [None, None, Some(3), Some(2)]);
        expiring.insert("c", 4, Duration::from_mins(1));
        assert_eq!(["a", "b", "c"].map(|key| expiring.get(&key)), [None, Some(2), Some(4)]);
    }
}
