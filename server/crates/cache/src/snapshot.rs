//! All entries at one revision.
//!
//! A snapshot never changes: holding one costs the nodes that later writes replace, and cloning
//! one is a pointer. Knows nothing of the past; see [`crate::history`].

use std::ops::Bound;
use std::sync::Arc;

use apiwright_storage::{Entry, Key, Page, Revision, Select};

/// The ordered entries.
pub type Map = imbl::OrdMap<Key, Arc<Entry>>;

/// The entries at one revision.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The newest revision that is in it.
    pub revision: Revision,
    /// The entries.
    pub map: Map,
}

impl Snapshot {
    /// The part of a range that starts after a key and has at most `limit` entries, 0 for all.
    pub fn page(&self, prefix: &str, after: Option<&str>, limit: usize) -> Page {
        let mut rest = self.range(prefix, after);
        let limit = if limit == 0 { usize::MAX } else { limit };
        let entries = rest.by_ref().take(limit).cloned().collect();
        Page { revision: self.revision, entries, remaining: rest.count() as u64 }
    }

    /// The entries below a prefix and behind a key.
    pub fn range(&self, prefix: &str, after: Option<&str>) -> impl Iterator<Item = &Arc<Entry>> {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let end = successor(prefix);
        let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let entries = (!is_empty(start, end)).then(|| self.map.range::<_, str>((start, end)));
        entries.into_iter().flatten().map(|(_, entry)| entry)
    }
}

/// Those of some entries that are wanted, and how many of all come behind the last one.
pub(crate) fn select<'a>(
    mut entries: impl Iterator<Item = &'a Arc<Entry>>,
    revision: Revision,
    limit: usize,
    wanted: &dyn Select,
) -> Page {
    let mut found = Vec::new();
    while limit == 0 || found.len() < limit {
        let Some(entry) = entries.next() else { break };
        if wanted.wants(entry) {
            found.push(entry.clone());
        }
    }
    Page { revision, entries: found, remaining: entries.count() as u64 }
}

/// Whether nothing lies between the bounds; the map would panic on them.
fn is_empty(start: Bound<&str>, end: Bound<&str>) -> bool {
    match (start, end) {
        (Bound::Excluded(start) | Bound::Included(start), Bound::Excluded(end)) => start >= end,
        _ => false,
    }
}

/// The least string above every string that starts with `prefix`; `None` if there is none.
fn successor(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        // Strings are ordered by code points, which have one gap: the surrogates.
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            last => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            end.push(next);
            return Some(end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successors() {
        for (prefix, want) in [
            ("", None),
            ("/registry/pods/", Some("/registry/pods0")),
            ("a\u{d7ff}", Some("a\u{e000}")),
            ("a\u{10ffff}", Some("b")),
            ("\u{10ffff}\u{10ffff}", None),
        ] {
            assert_eq!(successor(prefix).as_deref(), want, "{prefix:?}");
        }
    }

    /// A prefix, after, a limit; the keys wanted, and how many remain.
    type Case<'a> = (&'a str, Option<&'a str>, usize, &'a [&'a str], u64);

    #[test]
    fn pages_have_edges() {
        let keys = ["/a", "/p", "/p/", "/p/a", "/p/b", "/p/c", "/p0", "/q"];
        let map: Map = keys
            .iter()
            .map(|key| {
                let entry = Entry {
                    key: (*key).into(),
                    value: bytes::Bytes::new(),
                    create_revision: 2,
                    mod_revision: 2,
                    version: 1,
                    annex: apiwright_storage::Annex::default(),
                };
                (entry.key.clone(), Arc::new(entry))
            })
            .collect();
        let snapshot = Snapshot { revision: 2, map };
        let cases: [Case<'_>; 10] = [
            ("/p/", None, 0, &["/p/", "/p/a", "/p/b", "/p/c"], 0),
            ("/p/", None, 2, &["/p/", "/p/a"], 2),
            ("/p/", Some("/p/a"), 1, &["/p/b"], 1),
            ("/p/", Some("/p/aa"), 0, &["/p/b", "/p/c"], 0),
            ("/p/", Some("/p/c"), 0, &[], 0),
            ("/p/", Some("/z"), 0, &[], 0),
            ("/p/", Some("/a"), 1, &["/p/"], 3),
            ("/x", None, 0, &[], 0),
            ("", None, 3, &["/a", "/p", "/p/"], 5),
            ("", Some("/q"), 0, &[], 0),
        ];
        for (prefix, after, limit, want, remaining) in cases {
            let page = snapshot.page(prefix, after, limit);
            let got: Vec<&str> = page.entries.iter().map(|entry| &*entry.key).collect();
            assert_eq!((got.as_slice(), page.remaining), (want, remaining), "{prefix} {after:?} {limit}");
        }
    }
}
