//! When entries with a time to live are due.
//!
//! Deadlines outlive the process, so they are wall time on disk; while a process runs its clock only
//! goes forward, whatever the wall clock is set to. After a restart no entry lives longer than its
//! time to live from then on, even if the wall clock was far ahead when it was written.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use apiwright_storage::Key;

/// Milliseconds since 1970.
pub type Millis = u64;

/// Tells the present.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Millis + Send + Sync>);

impl Clock {
    /// A clock that never goes back.
    pub fn new(now: impl Fn() -> Millis + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The present.
    pub(crate) fn now(&self) -> Millis {
        self.0()
    }
}

impl Default for Clock {
    /// The wall clock as it is now, and what has passed since.
    fn default() -> Self {
        let wall =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as Millis);
        let started = Instant::now();
        Self::new(move || wall + started.elapsed().as_millis() as Millis)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

/// When an entry is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline {
    pub(crate) at: Millis,
    /// How long it was to live at first; 0 where that is not known.
    pub(crate) ttl_seconds: u32,
}

/// The low bits of a deadline on disk, up to the year 2527; the rest is for the time to live.
const AT_BITS: u32 = 44;

impl Deadline {
    /// Of an entry that is written now.
    pub(crate) fn after(now: Millis, ttl_seconds: u32) -> Self {
        Self { at: now + Millis::from(ttl_seconds) * 1000, ttl_seconds }
    }

    /// As it is on disk; 0 stands for none. A time to live of weeks is not remembered.
    pub(crate) fn pack(deadline: Option<Self>) -> u64 {
        deadline.map_or(0, |Self { at, ttl_seconds }| {
            let ttl = u64::from(ttl_seconds);
            let ttl = if ttl >> (64 - AT_BITS) == 0 { ttl } else { 0 };
            at.clamp(1, (1 << AT_BITS) - 1) | ttl << AT_BITS
        })
    }

    pub(crate) fn unpack(packed: u64) -> Option<Self> {
        let at = packed & ((1 << AT_BITS) - 1);
        (at != 0).then_some(Self { at, ttl_seconds: (packed >> AT_BITS) as u32 })
    }
}

/// The deadlines of entries. An entry has at most one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deadlines {
    by_key: HashMap<Key, Deadline>,
    by_time: BTreeSet<(Millis, Key)>,
}

impl Deadlines {
    /// Replaces an entry's deadline.
    pub(crate) fn set(&mut self, key: &Key, deadline: Option<Deadline>) {
        if let Some((key, old)) = self.by_key.remove_entry(key) {
            self.by_time.remove(&(old.at, key));
        }
        if let Some(deadline) = deadline {
            self.by_key.insert(key.clone(), deadline);
            self.by_time.insert((deadline.at, key.clone()));
        }
    }

    /// Brings forward what is later than a whole time to live from now.
    pub(crate) fn bound(&mut self, now: Millis) {
        let late = |deadline: &Deadline| {
            let latest = Deadline::after(now, deadline.ttl_seconds);
            (deadline.ttl_seconds > 0 && deadline.at > latest.at).then_some(latest)
        };
        let late: Vec<(Key, Deadline)> = self
            .by_key
            .iter()
            .filter_map(|(key, deadline)| late(deadline).map(|latest| (key.clone(), latest)))
            .collect();
        for (key, latest) in late {
            self.set(&key, Some(latest));
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<Deadline> {
        self.by_key.get(key).copied()
    }

    /// All of them.
    pub(crate) fn by_key(&self) -> &HashMap<Key, Deadline> {
        &self.by_key
    }

    /// All of them, and nothing else.
    pub(crate) fn into_by_key(self) -> HashMap<Key, Deadline> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_deadline_per_key() {
        let mut deadlines = Deadlines::default();
        let (a, b): (Key, Key) = ("a".into(), "b".into());
        let deadline = |at| Some(Deadline { at, ttl_seconds: 0 });
        deadlines.set(&a, deadline(30));
        deadlines.set(&b, deadline(20));
        deadlines.set(&a, deadline(10));
        assert_eq!(deadlines.due(20).map(|key| &**key).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((deadlines.next(), deadlines.get("a")), (Some(10), deadline(10)));
        deadlines.set(&a, None);
        assert_eq!((deadlines.next(), deadlines.get("a")), (Some(20), None));
    }

    #[test]
    fn deadlines_have_a_bound() {
        for (ttl_seconds, at, want) in [(1, 500, 500), (1, 90_000, 11_000), (0, 90_000, 90_000)] {
            let mut deadlines = Deadlines::default();
            let key: Key = "a".into();
            deadlines.set(&key, Some(Deadline { at, ttl_seconds }));
            deadlines.bound(10_000);
            assert_eq!((deadlines.next(), deadlines.by_time.len()), (Some(want), 1), "{ttl_seconds} {at}");
        }
    }

    #[test]
    fn deadlines_fit_into_a_number() {
        let long = 1 << 20;
        for (at, ttl_seconds, want) in
            [(1_700_000_000_000, 3600, 3600), (1, long - 1, long - 1), (5, long, 0)]
        {
            let packed = Deadline::pack(Some(Deadline { at, ttl_seconds }));
            assert_eq!(Deadline::unpack(packed), Some(Deadline { at, ttl_seconds: want }));
        }
        assert_eq!((Deadline::pack(None), Deadline::unpack(0)), (0, None));
        // As format 1 had it.
        assert_eq!(
            Deadline::unpack(1_700_000_000_000),
            Some(Deadline { at: 1_700_000_000_000, ttl_seconds: 0 })
        );
    }
}
