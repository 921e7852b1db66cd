//! Finds the watches that a key concerns, at a cost that does not grow with the other watches.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use apiwright_storage::{Entry, Event, Facet};

use crate::watch::Subscriber;

/// The watches by their prefix.
#[derive(Debug, Default)]
pub(crate) struct Index(BTreeMap<Box<[u8]>, Bucket>);

/// The watches of one prefix.
#[derive(Debug, Default)]
struct Bucket {
    /// Those of all entries.
    all: Vec<Arc<Subscriber>>,
    /// Those of some.
    facets: Vec<Faceted>,
}

/// Watches of entries with one value of a facet each.
#[derive(Debug)]
struct Faceted {
    facet: Arc<dyn Facet>,
    by_value: HashMap<Arc<str>, Vec<Arc<Subscriber>>>,
}

impl Index {
    pub(crate) fn insert(&mut self, subscriber: Arc<Subscriber>) {
        if !self.0.contains_key(subscriber.prefix.as_bytes()) {
            self.0.insert(subscriber.prefix.as_bytes().into(), Bucket::default());
        }
        if let Some(bucket) = self.0.get_mut(subscriber.prefix.as_bytes()) {
            let list = bucket.list(&subscriber);
            subscriber.slot.store(list.len(), Ordering::Relaxed);
            list.push(subscriber);
        }
    }

    pub(crate) fn remove(&mut self, subscriber: &Arc<Subscriber>) {
        let Some(bucket) = self.0.get_mut(subscriber.prefix.as_bytes()) else { return };
        let list = bucket.list(subscriber);
        let slot = subscriber.slot.load(Ordering::Relaxed);
        if list.get(slot).is_some_and(|found| Arc::ptr_eq(found, subscriber)) {
            list.swap_remove(slot);
            if let Some(moved) = list.get(slot) {
                moved.slot.store(slot, Ordering::Relaxed);
            }
        }
        if list.is_empty() && bucket.is_empty_without(subscriber) {
            self.0.remove(subscriber.prefix.as_bytes());
        }
    }

    /// All watches.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Subscriber>> {
        self.0.values().flat_map(|bucket| {
            let some = bucket.facets.iter().flat_map(|faceted| faceted.by_value.values().flatten());
            bucket.all.iter().chain(some)
        })
    }

    /// Visits the watches that a change concerns: their prefix is one of its key, and it is about their entries.
    ///
    /// The greatest prefix that is not above the key either matches, or shares a shorter start
    /// with the key that every match must lie within; so a few steps visit all matches.
    pub(crate) fn matching(&self, event: &Event, mut visit: impl FnMut(&Arc<Subscriber>)) {
        let Some(key) = event.key() else { return };
        let mut start = key.as_bytes();
        while let Some((prefix, bucket)) =
            self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(start))).next_back()
        {
            let common = prefix.iter().zip(start).take_while(|(a, b)| a == b).count();
            start = if common == prefix.len() {
                bucket.visit(event, &mut visit);
                let Some(shorter) = common.checked_sub(1) else { break };
                &start[..shorter]
            } else {
                &start[..common]
            };
        }
    }
}

impl Bucket {
    /// Where a watch belongs.
    fn list(&mut self, subscriber: &Subscriber) -> &mut Vec<Arc<Subscriber>> {
        let Some(only) = &subscriber.only else { return &mut self.all };
        let found = self.facets.iter().position(|one| one.facet.id() == only.facet.id());
        let at = found.unwrap_or_else(|| {
            self.facets.push(Faceted { facet: only.facet.clone(), by_value: HashMap::new() });
            self.facets.len() - 1
        });
        self.facets[at].by_value.entry(only.value.clone()).or_default()
    }

    /// Drops the list that a watch was the last in; says whether no watch is left.
    fn is_empty_without(&mut self, last: &Subscriber) -> bool {
        if let Some(only) = &last.only {
            self.facets.retain_mut(|one| {
                if one.facet.id() == only.facet.id() {
                    one.by_value.remove(&only.value);
                }
                !one.by_value.is_empty()
            });
        }
        self.all.is_empty() && self.facets.is_empty()
    }

    fn visit(&self, event: &Event, visit: &mut impl FnMut(&Arc<Subscriber>)) {
        self.all.iter().for_each(&mut *visit);
        let (now, before) = match event {
            Event::Put { entry, previous } => (Some(entry), previous.as_ref()),
            Event::Delete { previous, .. } => (None, Some(previous)),
            Event::Progress(_) => (None, None),
        };
        for faceted in &self.facets {
            let value = |entry: &Entry| {
                let value = faceted.facet.value(entry);
                faceted.by_value.get_key_value(&*value)
            };
            let now = now.and_then(|entry| value(entry));
            let before = before.and_then(|entry| value(entry));
            let moved = before.filter(|(before, _)| now.is_none_or(|(now, _)| now != *before));
            for (_, subscribers) in now.into_iter().chain(moved) {
                subscribers.iter().for_each(&mut *visit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use apiwright_storage::{Annex, Only};

    use super::*;

    /// The first letter of a value.
    #[derive(Debug)]
    struct Letter;

    impl Facet for Letter {
        fn id(&self) -> u64 {
            1
        }

        fn prefix(&self) -> &'static str {
            "/registry/pods/"
        }

        fn value<'a>(&self, entry: &'a Entry) -> Cow<'a, str> {
            String::from_utf8_lossy(&entry.value[..1])
        }
    }

    fn subscriber(prefix: &str, letter: Option<&str>) -> Arc<Subscriber> {
        let only = letter.map(|letter| Only { facet: Arc::new(Letter), value: letter.into() });
        Arc::new(Subscriber::new(prefix, only, 1, 0))
    }

    fn entry(value: &'static str) -> Arc<Entry> {
        Arc::new(Entry {
            key: "/registry/pods/a/x".into(),
            value: value.into(),
            create_revision: 2,
            mod_revision: 2,
            version: 1,
            annex: Annex::default(),
        })
    }

    /// The prefixes and values of the watches that a change concerns, sorted.
    fn found(index: &Index, event: &Event) -> Vec<String> {
        let mut found = Vec::new();
        index.matching(event, |one| {
            let value = one.only.as_ref().map(|only| format!(" {}", only.value)).unwrap_or_default();
            found.push(format!("{}{value}", one.prefix));
        });
        found.sort();
        found
    }

    #[test]
    fn finds_exactly_the_prefixes_of_a_key() {
        let prefixes = ["", "/", "/registry/", "/registry/pods/", "/registry/pods/a/", "/registry/pods/a/x"];
        let others =
            ["/registry/pod/", "/registry/pods/a/xy", "/registry/pods/a/w", "/registry/pods/b/", "/s", "."];
        let mut index = Index::default();
        let all: Vec<_> =
            prefixes.iter().chain(&others).chain(&prefixes).map(|prefix| subscriber(prefix, None)).collect();
        for subscriber in &all {
            index.insert(subscriber.clone());
        }
        let event = Event::Put { entry: entry("a"), previous: None };
        let mut want: Vec<_> =
            prefixes.iter().flat_map(|prefix| [prefix.to_string(), prefix.to_string()]).collect();
        want.sort();
        assert_eq!(found(&index, &event), want);
        for subscriber in &all[..prefixes.len() + others.len()] {
            index.remove(subscriber);
            index.remove(subscriber);
        }
        assert_eq!(found(&index, &event), prefixes);
        for subscriber in &all {
            index.remove(subscriber);
        }
        assert_eq!(index.all().count(), 0);
    }

    #[test]
    fn finds_who_cares_about_an_entry() {
        let mut index = Index::default();
        let pods = "/registry/pods/";
        let all: Vec<_> = [None, Some("a"), Some("a"), Some("b"), Some("c")]
            .map(|letter| subscriber(pods, letter))
            .into_iter()
            .chain([subscriber("/registry/pods/a/", Some("b")), subscriber("/registry/pods/b/", Some("b"))])
            .collect();
        for subscriber in &all {
            index.insert(subscriber.clone());
        }
        let put =
            |now, before: Option<&'static str>| Event::Put { entry: entry(now), previous: before.map(entry) };
        let gone = Event::Delete { previous: entry("c"), revision: 9 };
        let (any, a, b, c) = (pods, "/registry/pods/ a", "/registry/pods/ b", "/registry/pods/ c");
        let cases: [(Event, &[&str]); 5] = [
            (put("a", None), &[any, a, a]),
            (put("a1", Some("a2")), &[any, a, a]),
            (put("b", Some("a")), &[any, a, a, b, "/registry/pods/a/ b"]),
            (put("x", None), &[any]),
            (gone, &[any, c]),
        ];
        for (event, want) in &cases {
            assert_eq!(found(&index, event), *want, "{event:?}");
        }
        for subscriber in &all[1..] {
            index.remove(subscriber);
        }
        assert_eq!(found(&index, &cases[0].0), [any]);
        assert_eq!(index.all().count(), 1);
    }
}
