//! What clients of a store did and saw, checked against one order of all changes.
//!
//! A store that is linearizable and whose watches are gapless has one sequence of changes, a
//! revision each, such that every acknowledged write is in it at its revision, every refused one is
//! not, one of unknown outcome is at most once; whatever began after an acknowledgement comes after
//! it; every read shows the state at its revision; and every watch shows the sequence itself.
//!
//! Values must be unique: they tell writes apart. Panics where the store breaks a promise.

use std::collections::{BTreeMap, HashMap, HashSet};

use apiwright_storage::{Entry, Error, Event, Expect, Key, Outcome, Result, Revision};
use bytes::Bytes;

/// The record of a store's life.
#[derive(Debug, Default)]
pub struct History {
    changes: BTreeMap<Revision, Change>,
    /// Revisions that nobody watched: first and last.
    gaps: Vec<(Revision, Revision)>,
    writes: HashMap<Write, Fate>,
    reads: Vec<Read>,
    /// Whatever begins now sees at least this.
    floor: Revision,
}

/// A watch of everything.
#[derive(Debug)]
pub struct Watcher {
    at: Revision,
}

/// When an operation began: it comes after everything that was acknowledged before.
#[derive(Clone, Copy, Debug)]
pub struct Begun(Revision);

/// What tells a write from all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Write {
    Put(Bytes),
    /// Of what was last modified at this revision.
    Delete(Key, Revision),
}

/// The best that is known of writes that look the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Refused,
    Unknown,
    Done(Revision),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    key: Key,
    /// `None` for a deletion.
    value: Option<Bytes>,
    /// What was deleted was last modified then.
    previous: Revision,
}

#[derive(Debug)]
struct Read {
    revision: Revision,
    key: Key,
    found: Option<(Revision, Bytes)>,
}

impl History {
    /// An operation begins.
    pub fn begin(&self) -> Begun {
        Begun(self.floor)
    }

    /// A write is answered. A put has a value, a deletion none.
    pub fn wrote(
        &mut self,
        begun: Begun,
        key: &Key,
        expect: Expect,
        value: Option<&Bytes>,
        answer: &Result<Outcome>,
    ) {
        let expected = match expect {
            Expect::Absent => 0,
            Expect::Revision(revision) => revision,
        };
        let write = match value {
            Some(value) => Write::Put(value.clone()),
            None => Write::Delete(key.clone(), expected),
        };
        let fate = match answer {
            Ok(Outcome::Done { revision, .. }) => {
                assert!(*revision > begun.0, "{write:?} is at {revision}, and began after {}", begun.0);
                let change = Change { key: key.clone(), value: value.cloned(), previous: expected };
                self.change(*revision, change);
                self.floor = self.floor.max(*revision);
                Fate::Done(*revision)
            }
            Ok(Outcome::Mismatch { revision, current }) => {
                let found = current.as_ref().map_or(0, |entry| entry.mod_revision);
                assert!(found != expected, "{write:?} expected {expected}, and it was so");
                self.read(begun, key, *revision, current.as_deref());
                Fate::Refused
            }
            Err(Error::Unknown(_)) => Fate::Unknown,
            Err(_) => Fate::Refused,
        };
        let known = self.writes.entry(write).or_insert(fate);
        *known = (*known).max(fate);
    }

    /// A read of the newest entry under a key is answered.
    pub fn read(&mut self, begun: Begun, key: &Key, revision: Revision, found: Option<&Entry>) {
        assert!(revision >= begun.0, "{key} was read at {revision}, after {} was known", begun.0);
        self.floor = self.floor.max(revision);
        self.read_past(key, revision, found);
    }

    /// A read at a revision is answered.
    pub fn read_past(&mut self, key: &Key, revision: Revision, found: Option<&Entry>) {
        let found = found.map(|entry| (entry.mod_revision, entry.value.clone()));
        self.reads.push(Read { revision, key: key.clone(), found });
    }

    /// A watch begins after a revision.
    pub fn watch(&self, after: Revision) -> Watcher {
        Watcher { at: after }
    }

    /// A watch delivers.
    pub fn delivered(&mut self, watcher: &mut Watcher, event: &Event) {
        let revision = event.revision();
        let (key, value, previous) = match event {
            Event::Put { entry, previous } => (
                &entry.key,
                Some(entry.value.clone()),
                previous.as_ref().map_or(0, |entry| entry.mod_revision),
            ),
            Event::Delete { previous, .. } => (&previous.key, None, previous.mod_revision),
            Event::Progress(_) => {
                assert_eq!(revision, watcher.at, "progress before what it is about");
                return;
            }
        };
        assert_eq!(revision, watcher.at + 1, "a watch has a gap or repeats itself");
        watcher.at = revision;
        self.floor = self.floor.max(revision);
        self.change(revision, Change { key: key.clone(), value, previous });
    }

    /// A watch that is at `from` cannot go on, and a new one begins at `to`.
    pub fn gap(&mut self, from: Revision, to: Revision) {
        self.gaps.push((from + 1, to));
    }

    /// Checks everything that was seen so far against the changes that became known.
    pub fn check(&self) {
        let mut keys: HashMap<&Key, BTreeMap<Revision, Option<&Bytes>>> = HashMap::new();
        let mut values: HashSet<&Bytes> = HashSet::new();
        for (revision, change) in &self.changes {
            let of_key = keys.entry(&change.key).or_default();
            let before = of_key.last_key_value().map_or(0, |(at, value)| value.map_or(0, |_| *at));
            assert!(
                before == change.previous || self.may_have_missed(before, *revision),
                "{change:?} at {revision} follows {before}"
            );
            of_key.insert(*revision, change.value.as_ref());
            assert!(change.value.as_ref().is_none_or(|value| values.insert(value)), "{change:?} came twice");
            let write = match &change.value {
                Some(value) => Write::Put(value.clone()),
                None => Write::Delete(change.key.clone(), change.previous),
            };
            match self.writes.get(&write) {
                None => panic!("nobody asked for {change:?}"),
                Some(Fate::Refused) => panic!("{change:?} was refused, and is there at {revision}"),
                Some(Fate::Done(at)) => {
                    assert_eq!(at, revision, "{change:?} is not where it was acknowledged");
                }
                Some(Fate::Unknown) => {}
            }
        }
        let none = BTreeMap::new();
        for Read { revision, key, found } in &self.reads {
            let of_key = keys.get(key).unwrap_or(&none);
            let last = of_key.range(..=revision).next_back();
            let expected = last.and_then(|(at, value)| value.map(|value| (*at, value.clone())));
            let missed = || self.may_have_missed(last.map_or(0, |(at, _)| *at), *revision);
            assert!(*found == expected || missed(), "{key} at {revision} was {found:?}, not {expected:?}");
        }
    }

    /// How many changes are known.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether no change is known.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    fn may_have_missed(&self, after: Revision, until: Revision) -> bool {
        self.gaps.iter().any(|(first, last)| *first <= until && *last > after)
    }

    fn change(&mut self, revision: Revision, change: Change) {
        let known = self.changes.entry(revision).or_insert_with(|| change.clone());
        // The value of an update says which one it was; what was before it only watches tell.
        assert_eq!(*known, change, "revision {revision} is told in two ways");
    }
}

impl Watcher {
    /// The last revision that it has seen.
    pub fn at(&self) -> Revision {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use apiwright_storage::Annex;

    use super::*;

    fn entry(key: &str, value: &'static str, revision: Revision) -> Arc<Entry> {
        Arc::new(Entry {
            key: key.into(),
            value: Bytes::from_static(value.as_bytes()),
            create_revision: revision,
            mod_revision: revision,
            version: 1,
            annex: Annex::default(),
        })
    }

    fn done(key: &str, value: &'static str, revision: Revision) -> Outcome {
        Outcome::Done { revision, entry: entry(key, value, revision) }
    }

    fn put(history: &mut History, begun: Begun, value: &'static str, answer: &Result<Outcome>) {
        history.wrote(
            begun,
            &"a".into(),
            Expect::Absent,
            Some(&Bytes::from_static(value.as_bytes())),
            answer,
        );
    }

    #[test]
    fn broken_promises_are_found() {
        type Life = fn(&mut History);
        let cases: [(&str, Life); 9] = [
            ("", |history| {
                let begun = history.begin();
                put(history, begun, "x", &Ok(done("a", "x", 2)));
                let begun = history.begin();
                history.read(begun, &"a".into(), 2, Some(&entry("a", "x", 2)));
                let mut watcher = history.watch(1);
                history.delivered(&mut watcher, &Event::Put { entry: entry("a", "x", 2), previous: None });
                history.delivered(&mut watcher, &Event::Progress(2));
            }),
            ("began after", |history| {
                let begun = history.begin();
                put(history, begun, "x", &Ok(done("a", "x", 5)));
                let begun = history.begin();
                put(history, begun, "y", &Ok(done("a", "y", 4)));
            }),
            ("after 5 was known", |history| {
                let begun = history.begin();
                put(history, begun, "x", &Ok(done("a", "x", 5)));
                let begun = history.begin();
                history.read(begun, &"a".into(), 4, None);
            }),
            ("was None, not Some", |history| {
                let begun = history.begin();
                put(history, begun, "x", &Ok(done("a", "x", 5)));
                let begun = history.begin();
                history.read(begun, &"a".into(), 5, None);
            }),
            ("was refused", |history| {
                let begun = history.begin();
                put(history, begun, "x", &Err(Error::Full(String::new())));
                let mut watcher = history.watch(1);
                history.delivered(&mut watcher, &Event::Put { entry: entry("a", "x", 2), previous: None });
            }),
            ("nobody asked", |history| {
                let mut watcher = history.watch(1);
                history.delivered(&mut watcher, &Event::Put { entry: entry("a", "x", 2), previous: None });
            }),
            ("a gap", |history| {
                let mut watcher = history.watch(1);
                history.delivered(&mut watcher, &Event::Put { entry: entry("a", "x", 3), previous: None });
            }),
            ("two ways", |history| {
                let begun = history.begin();
                put(history, begun, "x", &Ok(done("a", "x", 2)));
                let mut watcher = history.watch(1);
                history.delivered(&mut watcher, &Event::Put { entry: entry("a", "y", 2), previous: None });
            }),
            ("came twice", |history| {
                for revision in [2, 3] {
                    let begun = history.begin();
                    put(history, begun, "x", &Err(Error::Unknown(String::new())));
                    let mut watcher = history.watch(revision - 1);
                    let previous = (revision == 3).then(|| entry("a", "x", 2));
                    let event = Event::Put { entry: entry("a", "x", revision), previous };
                    history.delivered(&mut watcher, &event);
                }
            }),
        ];
        for (want, life) in cases {
            let found = catch_unwind(AssertUnwindSafe(|| {
                let mut history = History::default();
                life(&mut history);
                history.check();
            }));
            let text = found.err().map_or(String::new(), |panic| {
                let text = panic.downcast_ref::<String>().cloned();
                text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                    .unwrap_or_default()
            });
            assert!(text.contains(want) && text.is_empty() == want.is_empty(), "{want:?}: {text}");
        }
    }
}
