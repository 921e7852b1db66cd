//! Reads and watches of some entries only.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use apiwright_storage::{At, Entry, Event, Facet, Key, Only, Page, Range, Revision, Select, Storage, Watch};

use super::{create, delete, next_change, text, update};

const PREFIX: &str = "/some/";
const LETTERS: [&str; 3] = ["a", "b", "c"];

/// The first letter of a value.
#[derive(Debug)]
struct Letter;

impl Facet for Letter {
    fn id(&self) -> u64 {
        1
    }

    fn prefix(&self) -> &str {
        PREFIX
    }

    fn value<'a>(&self, entry: &'a Entry) -> Cow<'a, str> {
        Cow::Owned(text(entry)[..1].to_owned())
    }
}

/// Those with a letter and an even number behind it. With an index, only half of what it gives is wanted.
struct Even {
    letter: &'static str,
    only: Option<Only>,
}

impl Select for Even {
    fn wants(&self, entry: &Arc<Entry>) -> bool {
        let value = text(entry);
        value.starts_with(self.letter) && value.as_bytes()[value.len() - 1].is_multiple_of(2)
    }

    fn only(&self) -> Option<&Only> {
        self.only.as_ref()
    }
}

fn only(letter: &str) -> Only {
    Only { facet: Arc::new(Letter), value: letter.into() }
}

/// Makes and changes entries: keys move from letter to letter. Gives the revisions.
async fn write(storage: &dyn Storage, rounds: std::ops::Range<usize>) -> Vec<Revision> {
    let mut revisions = Vec::new();
    for round in rounds {
        let key = format!("{PREFIX}{}/{}", round % 2, round * 7 % 12);
        let value = format!("{}{}", LETTERS[round * 5 % 7 % 3], round % 10);
        let exists = storage.get(&key, At::Latest).await.unwrap().1.is_some();
        revisions.push(match exists && round % 5 == 0 {
            true => delete(storage, &key).await,
            false => update(storage, &key, &value).await,
        });
        create(storage, &format!("/somewhere/{round}"), "a").await;
    }
    revisions
}

async fn check(storage: &dyn Storage, at: At) {
    for prefix in [PREFIX, "/some/1/", "/some/none/"] {
        let all = storage.range(Range { prefix, after: None, limit: 0, at }).await.unwrap();
        for letter in LETTERS {
            for only in [None, Some(only(letter))] {
                let even = Even { letter, only };
                let want: Vec<Key> = all
                    .entries
                    .iter()
                    .filter(|entry| even.wants(entry))
                    .map(|entry| entry.key.clone())
                    .collect();
                for limit in [0, 1, 2, 100] {
                    let got = pages(storage, prefix, at, limit, &even).await;
                    assert_eq!(got, want, "{prefix} at {at:?} by {limit}, index: {}", even.only.is_some());
                }
            }
        }
    }
}

/// All that is wanted, page by page of one revision.
async fn pages(storage: &dyn Storage, prefix: &str, mut at: At, limit: usize, even: &Even) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    loop {
        let after = keys.last().cloned();
        let range = Range { prefix, after: after.as_deref(), limit, at };
        let Page { revision, entries, remaining } = storage.select(range, even).await.unwrap();
        assert!(limit == 0 || entries.len() <= limit);
        assert!(entries.len() == limit || remaining == 0, "a page that is not full is the last");
        keys.extend(entries.iter().map(|entry| entry.key.clone()));
        at = At::Revision(revision);
        if remaining == 0 {
            return keys;
        }
    }
}

/// A selection is what a range has of it, now and in the past, whole and in pages, whether or not it can be
/// looked up in an index.
pub async fn selections_are_parts_of_ranges(storage: Arc<dyn Storage>) {
    let storage = &*storage;
    check(storage, At::Latest).await;
    let mut revisions = Vec::new();
    for step in 0..4 {
        revisions.extend(write(storage, step * 20..step * 20 + 20).await);
        check(storage, At::Latest).await;
    }
    for revision in revisions.iter().step_by(9) {
        check(storage, At::Revision(*revision)).await;
    }
    check(storage, At::NotOlderThan(revisions[0])).await;
    let even = Even { letter: "a", only: Some(only("a")) };
    let far = Range { prefix: PREFIX, after: None, limit: 0, at: At::Revision(Revision::MAX / 2) };
    assert!(storage.select(far, &even).await.is_err());
}

/// A watch of some entries tells of each that comes to them, changes among them or leaves them, from wherever it
/// starts.
pub async fn a_watch_of_some_misses_none(storage: Arc<dyn Storage>) {
    let storage = &*storage;
    let start = storage.revision().await.unwrap();
    let live = storage.watch_only(PREFIX, start, Some(&only("b"))).await.unwrap();
    let revisions = write(storage, 0..60).await;
    let end = update(storage, "/some/end", "b").await;
    let all = storage.range(Range { prefix: PREFIX, after: None, limit: 0, at: At::Latest }).await.unwrap();
    let is_b = |entry: &Arc<Entry>| text(entry).starts_with('b');
    let shown = |entry: &Arc<Entry>| (entry.key.clone(), text(entry));
    let want: BTreeMap<Key, String> = all.entries.iter().filter(|entry| is_b(entry)).map(shown).collect();

    let follow = async |mut watch: Watch, mut seen: BTreeMap<Key, String>| {
        loop {
            let event = next_change(&mut watch).await;
            match &event {
                Event::Put { entry, previous } => {
                    let before =
                        previous.as_ref().filter(|previous| is_b(previous)).map(|previous| text(previous));
                    assert_eq!(seen.get(&entry.key), before.as_ref(), "{event:?}");
                    match is_b(entry) {
                        true => seen.insert(entry.key.clone(), text(entry)),
                        false => seen.remove(&entry.key),
                    };
                }
                Event::Delete { previous, .. } => {
                    seen.remove(&previous.key);
                }
                Event::Progress(_) => {}
            }
            if event.revision() == end {
                return seen;
            }
        }
    };
    assert_eq!(follow(live, BTreeMap::new()).await, want);
    for from in revisions.into_iter().step_by(11) {
        let range = Range { prefix: PREFIX, after: None, limit: 0, at: At::Revision(from) };
        let then = storage.range(range).await.unwrap();
        let seen = then.entries.iter().filter(|entry| is_b(entry)).map(shown).collect();
        let watch = storage.watch_only(PREFIX, from, Some(&only("b"))).await.unwrap();
        assert_eq!(follow(watch, seen).await, want, "from {from}");
    }
}
