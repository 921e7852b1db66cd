//! When entries with a time to live are due.

use std::collections::{BTreeSet, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use apiwright_storage::Key;

/// Milliseconds since 1970; wall time, as deadlines outlive the process.
pub(crate) type Millis = u64;

/// The deadlines of entries. An entry has at most one.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    by_key: HashMap<Key, Millis>,
    by_time: BTreeSet<(Millis, Key)>,
}

impl Deadlines {
    /// Replaces an entry's deadline.
    pub(crate) fn set(&mut self, key: &Key, deadline: Option<Millis>) {
        if let Some((key, old)) = self.by_key.remove_entry(key) {
            self.by_time.remove(&(old, key));
        }
        if let Some(deadline) = deadline {
            self.by_key.insert(key.clone(), deadline);
            self.by_time.insert((deadline, key.clone()));
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<Millis> {
        self.by_key.get(key).copied()
    }

    /// All of them.
    pub(crate) fn by_key(&self) -> &HashMap<Key, Millis> {
        &self.by_key
    }

    /// All of them, and nothing else.
    pub(crate) fn into_by_key(self) -> HashMap<Key, Millis> {
        self.by_key
    }

    /// The next deadline.
    pub(crate) fn next(&self) -> Option<Millis> {
        self.by_time.first().map(|(deadline, _)| *deadline)
    }

    /// The entries that are due, the longest overdue first.
    pub(crate) fn due(&self, now: Millis) -> impl Iterator<Item = &Key> {
        self.by_time.iter().take_while(move |(deadline, _)| *deadline <= now).map(|(_, key)| key)
    }
}

/// The present.
pub(crate) fn now() -> Millis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as Millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_deadline_per_key() {
        let mut deadlines = Deadlines::default();
        let (a, b): (Key, Key) = ("a".into(), "b".into());
        deadlines.set(&a, Some(30));
        deadlines.set(&b, Some(20));
        deadlines.set(&a, Some(10));
        assert_eq!(deadlines.due(20).map(|key| &**key).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((deadlines.next(), deadlines.get("a")), (Some(10), Some(10)));
        deadlines.set(&a, None);
        assert_eq!((deadlines.next(), deadlines.get("a")), (Some(20), None));
    }
}
