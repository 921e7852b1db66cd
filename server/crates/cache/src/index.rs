//! Finds the watches that a key concerns, at a cost that does not grow with the other watches.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::watch::Subscriber;

/// The watches by their prefix.
#[derive(Debug, Default)]
pub(crate) struct Index(BTreeMap<Box<[u8]>, Vec<Arc<Subscriber>>>);

impl Index {
    pub(crate) fn insert(&mut self, subscriber: Arc<Subscriber>) {
        if !self.0.contains_key(subscriber.prefix.as_bytes()) {
            self.0.insert(subscriber.prefix.as_bytes().into(), Vec::new());
        }
        if let Some(bucket) = self.0.get_mut(subscriber.prefix.as_bytes()) {
            subscriber.slot.store(bucket.len(), Ordering::Relaxed);
            bucket.push(subscriber);
        }
    }

    pub(crate) fn remove(&mut self, subscriber: &Arc<Subscriber>) {
        let Some(bucket) = self.0.get_mut(subscriber.prefix.as_bytes()) else { return };
        let slot = subscriber.slot.load(Ordering::Relaxed);
        if bucket.get(slot).is_some_and(|found| Arc::ptr_eq(found, subscriber)) {
            bucket.swap_remove(slot);
            if let Some(moved) = bucket.get(slot) {
                moved.slot.store(slot, Ordering::Relaxed);
            }
        }
        if bucket.is_empty() {
            self.0.remove(subscriber.prefix.as_bytes());
        }
    }

    /// All watches.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Subscriber>> {
        self.0.values().flatten()
    }

    /// Visits the watches whose prefix `key` starts with.
    ///
    /// The greatest prefix that is not above the key either matches, or shares a shorter start
    /// with the key that every match must lie within; so a few steps visit all matches.
    pub(crate) fn matching(&self, key: &str, mut visit: impl FnMut(&Arc<Subscriber>)) {
        let mut start = key.as_bytes();
        while let Some((prefix, bucket)) =
            self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(start))).next_back()
        {
            let common = prefix.iter().zip(start).take_while(|(a, b)| a == b).count();
            start = if common == prefix.len() {
                bucket.iter().for_each(&mut visit);
                let Some(shorter) = common.checked_sub(1) else { break };
                &start[..shorter]
            } else {
                &start[..common]
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_exactly_the_prefixes_of_a_key() {
        let prefixes = ["", "/", "/registry/", "/registry/pods/", "/registry/pods/a/", "/registry/pods/a/x"];
        let others =
            ["/registry/pod/", "/registry/pods/a/xy", "/registry/pods/a/w", "/registry/pods/b/", "/s", "."];
        let mut index = Index::default();
        let all: Vec<_> = prefixes
            .iter()
            .chain(&others)
            .chain(&prefixes)
            .map(|prefix| Arc::new(Subscriber::new(prefix, 1, 0)))
            .collect();
        for subscriber in &all {
            index.insert(subscriber.clone());
        }
        let found = |index: &Index| {
            let mut found = Vec::new();
            index.matching("/registry/pods/a/x", |subscriber| found.push(subscriber.prefix.to_string()));
            found.sort();
            found
        };
        let mut want: Vec<_> =
            prefixes.iter().flat_map(|prefix| [prefix.to_string(), prefix.to_string()]).collect();
        want.sort();
        assert_eq!(found(&index), want);
        for subscriber in &all[..prefixes.len() + others.len()] {
            index.remove(subscriber);
            index.remove(subscriber);
        }
        assert_eq!(found(&index), prefixes);
        for subscriber in &all {
            index.remove(subscriber);
        }
        assert_eq!(index.all().count(), 0);
    }
}
