//! How long a key waits after failures: twice as long each time, up to a limit.

use std::collections::HashMap;
use std::time::Duration;

use crate::queue::Key;

/// The failures of keys, and the waits that they earn.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    last: Duration,
    failures: HashMap<Key, u32>,
}

impl Backoff {
    pub(crate) fn new((first, last): (u64, u64)) -> Self {
        let (first, last) = (Duration::from_millis(first), Duration::from_millis(last));
        Self { first, last, failures: HashMap::new() }
    }

    /// The wait after one more failure.
    pub(crate) fn next(&mut self, key: &Key) -> Duration {
        let failures = self.failures.entry(Key::clone(key)).or_default();
        let factor = 2_u32.checked_pow(*failures);
        *failures = failures.saturating_add(1);
        factor.and_then(|factor| self.first.checked_mul(factor)).map_or(self.last, |wait| wait.min(self.last))
    }

    /// How often a key failed since it last did not.
    pub(crate) fn failures(&self, key: &str) -> u32 {
        self.failures.get(key).copied().unwrap_or_default()
    }

    /// It did not fail.
    pub(crate) fn forget(&mut self, key: &str) {
        self.failures.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_limit() {
        let mut backoff = Backoff::new((5, 1_000_000));
        let (key, other): (Key, Key) = ("a".into(), "b".into());
        let waits: Vec<u128> = (0..20).map(|_| backoff.next(&key).as_millis()).collect();
        assert_eq!(&waits[..5], &[5, 10, 20, 40, 80]);
        assert_eq!(&waits[17..], &[655_360, 1_000_000, 1_000_000]);
        assert_eq!(backoff.next(&other).as_millis(), 5, "keys do not wait for each other");
        for _ in 0..100 {
            backoff.next(&key);
        }
        assert_eq!(backoff.next(&key).as_millis(), 1_000_000);
        backoff.forget(&key);
        assert_eq!((backoff.failures(&key), backoff.next(&key).as_millis()), (0, 5));
    }
}
