//! What is known of a stored object without decoding it: derived once per entry, kept in its annex.
//!
//! Invariant: one scan over the stored bytes, no tree. Selectors, presentation and the
//! collection of garbage read these facts; nothing else reads stored bytes.

use apiwright_meta::Status;
use apiwright_meta::status::Result;
use compact_str::CompactString;

use crate::kept::Slot;
use crate::label_set::LabelSet;
use crate::resource::{Conversion, Resource};
use crate::scan::{Cursor, unescaped};

/// Facts of one stored object.
#[derive(Debug, Default)]
pub struct ObjectFacts {
    /// `metadata.name`.
    pub name: CompactString,
    /// `metadata.namespace`; empty for cluster-scoped objects.
    pub namespace: CompactString,
    /// `metadata.uid`.
    pub uid: CompactString,
    /// `metadata.labels`.
    labels: LabelSet,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Whether `metadata.finalizers` has items.
    pub finalizers: bool,
    /// Whether `metadata.ownerReferences` has items.
    pub owned: bool,
    /// The values of the selectable fields, and of which resource's.
    pub(crate) fields: FieldValues,
    /// Where the bytes are cut when the object is written out.
    pub(crate) cuts: Cuts,
    /// Its message in protobuf.
    pub(crate) protobuf: Slot,
    /// Its row in tables.
    pub(crate) row: Slot,
}

/// The values of a resource's selectable fields, in the order of its spec.
#[derive(Debug, Default)]
pub(crate) struct FieldValues {
    pub(crate) of: u64,
    pub(crate) values: Box<[CompactString]>,
}

/// Where stored bytes are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cuts {
    /// Where the first member besides kind and apiVersion begins, or the closing brace.
    pub(crate) body: usize,
    /// The metadata's opening brace.
    pub(crate) metadata: usize,
    /// Behind the metadata's closing brace.
    pub(crate) metadata_end: usize,
    /// Where the resourceVersion goes; 0 for nowhere.
    pub(crate) splice: usize,
    /// What separates it from its neighbours.
    pub(crate) comma: Comma,
    /// Where the metadata's managedFields begin, with the comma before them, where they come last; else
    /// the metadata's closing brace.
    pub(crate) managed: usize,
}

/// What separates the resourceVersion from its neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Comma {
    #[default]
    Before,
    After,
    None,
}

/// The selectable fields of a resource, ready to be looked up in stored bytes.
#[derive(Debug, Default)]
pub(crate) struct FieldPaths {
    /// Tells these paths from those of other resources with the same entries.
    pub(crate) id: u64,
    paths: Vec<FieldPath>,
}

#[derive(Debug)]
struct FieldPath {
    /// The first of these that is not empty counts.
    alternatives: Vec<Vec<Box<[u8]>>>,
    default: CompactString,
}

impl ObjectFacts {
    /// The facts of stored bytes. What cannot be read is left empty.
    pub(crate) fn derive(bytes: &[u8], paths: &FieldPaths) -> Self {
        let mut facts = Self::default();
        let mut search = Search::new(paths);
        facts.scan(bytes, &mut search);
        facts.fields = FieldValues { of: paths.id, values: search.values() };
        facts
    }

    /// A label's value.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key)
    }

    fn scan(&mut self, bytes: &[u8], search: &mut Search<'_>) -> Option<()> {
        let mut cursor = Cursor::new(bytes, 0);
        let mut cuts = Cuts::default();
        let walked = cursor.members(|cursor, start, key| {
            if !matches!(key, b"kind" | b"apiVersion") && cuts.body == 0 {
                cuts.body = start;
            }
            if key == b"metadata" {
                search.member(&mut cursor.clone(), key);
                cuts.metadata = cursor.position();
                self.scan_metadata(cursor, &mut cuts)?;
                cuts.metadata_end = cursor.position();
                return Some(());
            }
            search.member(cursor, key)
        });
        if cuts.body == 0 {
            cuts.body = cursor.position().saturating_sub(1);
        }
        self.cuts = cuts;
        walked
    }

    fn scan_metadata(&mut self, cursor: &mut Cursor<'_>, cuts: &mut Cuts) -> Option<()> {
        let open = cursor.position();
        let mut members = 0usize;
        let mut labels = Vec::new();
        let mut managed = 0;
        cursor.members(|cursor, start, key| {
            members += 1;
            // The first member has no comma before it: what is only managed is not worth a cut.
            managed = if key == b"managedFields" && members > 1 { start - 1 } else { 0 };
            match key {
                b"name" => self.name = cursor.text().unwrap_or_default(),
                b"namespace" => self.namespace = cursor.text().unwrap_or_default(),
                b"uid" => self.uid = cursor.text().unwrap_or_default(),
                b"generateName" => {
                    cursor.skip()?;
                }
                b"labels" if cursor.peek() == Some(b'{') => cursor.members(|cursor, _, key| {
                    labels.push((unescaped(key), cursor.text().unwrap_or_default()));
                    Some(())
                })?,
                b"deletionTimestamp" => self.deleting = cursor.peek() == Some(b'"'),
                b"finalizers" => self.finalizers = cursor.has_items(),
                b"ownerReferences" => self.owned = cursor.has_items(),
                _ => {}
            }
            if matches!(key, b"name" | b"generateName" | b"namespace" | b"uid") {
                cuts.splice = cursor.position();
                cuts.comma = Comma::Before;
            }
            Some(())
        })?;
        cuts.managed = if managed == 0 { cursor.position() - 1 } else { managed };
        if cuts.splice == 0 {
            cuts.splice = open + 1;
            cuts.comma = if members == 0 { Comma::None } else { Comma::After };
        }
        self.labels = LabelSet::of(&labels);
        Some(())
    }
}

impl FieldPaths {
    /// Of a resource's spec, as they are called in the stored version.
    pub(crate) fn of(resource: &Resource) -> Self {
        let renames: &[_] = match &resource.storage.conversion {
            Conversion::Rename(table) => table,
            Conversion::Same | Conversion::Hook | Conversion::Pruned => &[],
        };
        let mut id = Fnv::default();
        let paths = resource
            .selectable
            .iter()
            .map(|field| {
                id.add(&field.path);
                id.add(&field.default);
                let alternatives = field.path.split('|').map(|path| segments(path, renames)).collect();
                FieldPath { alternatives, default: (*field.default).into() }
            })
            .collect();
        for (here, stored) in renames {
            id.add(here);
            id.add(stored);
        }
        Self { id: id.0, paths }
    }

    /// The values in stored bytes.
    pub(crate) fn values(&self, bytes: &[u8]) -> Box<[CompactString]> {
        let mut facts = ObjectFacts::default();
        let mut search = Search::new(self);
        if !self.paths.is_empty() {
            facts.scan(bytes, &mut search);
        }
        search.values()
    }
}

/// One path's alternative: which path, and the segments.
type Wanted<'p> = (usize, &'p [Box<[u8]>]);

/// The search for the values of some paths in one object.
struct Search<'p> {
    paths: &'p FieldPaths,
    /// The alternatives, path by path, and what was found of each.
    wanted: Vec<Wanted<'p>>,
    found: Vec<CompactString>,
}

impl<'p> Search<'p> {
    fn new(paths: &'p FieldPaths) -> Self {
        let of_path = |(at, path): (usize, &'p FieldPath)| {
            path.alternatives.iter().map(move |segments| (at, segments.as_slice()))
        };
        let wanted: Vec<Wanted<'p>> = paths.paths.iter().enumerate().flat_map(of_path).collect();
        let found = vec![CompactString::default(); wanted.len()];
        Self { paths, wanted, found }
    }

    /// Takes what a top-level member has, before whose value the cursor is.
    fn member(&mut self, cursor: &mut Cursor<'_>, key: &[u8]) -> Option<()> {
        let leads = |segments: &[Box<[u8]>]| segments.first().is_some_and(|first| **first == *key);
        let all: Vec<usize> = (0..self.wanted.len()).filter(|&at| leads(self.wanted[at].1)).collect();
        if all.is_empty() { Some(()) } else { self.value(cursor, 1, &all) }
    }

    /// Takes the value at hand, which lies `depth` segments deep on the way to `all`.
    fn value(&mut self, cursor: &mut Cursor<'_>, depth: usize, all: &[usize]) -> Option<()> {
        if cursor.peek() != Some(b'{') {
            if let Some(text) = cursor.clone().scalar() {
                for &at in all.iter().filter(|&&at| self.wanted[at].1.len() == depth) {
                    self.found[at].clone_from(&text);
                }
            }
            return Some(());
        }
        cursor.members(|cursor, _, key| {
            let leads = |at: &usize| self.wanted[*at].1.get(depth).is_some_and(|next| **next == *key);
            let on_way: Vec<usize> = all.iter().copied().filter(leads).collect();
            if on_way.is_empty() { Some(()) } else { self.value(cursor, depth + 1, &on_way) }
        })
    }

    /// Of each path the first alternative that is not empty.
    fn values(self) -> Box<[CompactString]> {
        let mut values: Vec<CompactString> = vec![CompactString::default(); self.paths.paths.len()];
        for ((path, _), found) in self.wanted.into_iter().zip(self.found) {
            if values[path].is_empty() {
                values[path] = found;
            }
        }
        let defaults = self.paths.paths.iter().map(|path| &path.default);
        for (value, default) in values.iter_mut().zip(defaults).filter(|(value, _)| value.is_empty()) {
            value.clone_from(default);
        }
        values.into()
    }
}

/// Stored bytes that have no metadata were not written by this layer.
pub(crate) fn unreadable(key: &str) -> Box<Status> {
    tracing::error!(key, "a stored object cannot be read");
    Status::internal(format!("the object stored under {key} cannot be read"))
}

/// Fails where the bytes have no place for a resourceVersion.
pub(crate) fn readable<'a>(key: &str, facts: &'a ObjectFacts) -> Result<&'a ObjectFacts> {
    if facts.cuts.splice == 0 || facts.cuts.metadata_end == 0 { Err(unreadable(key)) } else { Ok(facts) }
}

fn segments(path: &str, renames: &[(apiwright_schema::Text, apiwright_schema::Text)]) -> Vec<Box<[u8]>> {
    let mut parts: Vec<&str> = path.trim_start_matches('.').split('.').collect();
    if let Some(first) = parts.first_mut()
        && let Some((_, stored)) = renames.iter().find(|(here, _)| **here == **first)
    {
        *first = stored;
    }
    parts.into_iter().map(|part| part.as_bytes().into()).collect()
}

/// A hash that stays the same between runs and needs no key.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub(crate) fn value(&self) -> u64 {
        self.0
    }

    pub(crate) fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(list: &[(&str, &str)]) -> FieldPaths {
        let paths = list
            .iter()
            .map(|(path, default)| FieldPath {
                alternatives: path.split('|').map(|one| segments(one, &[])).collect(),
                default: (*default).into(),
            })
            .collect();
        FieldPaths { id: 7, paths }
    }

    #[test]
    fn facts_of_a_pod() {
        let text = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","creationTimestamp":"2024-01-01T00:00:00Z","deletionTimestamp":"2024-01-01T00:00:00Z","labels":{"b":"2","a":"1"},"finalizers":["x/y"],"ownerReferences":[]},"spec":{"containers":[{"name":"c"}],"nodeName":"node","hostNetwork":true},"status":{"phase":"Running"}}"#;
        let list = [
            ("spec.nodeName", ""),
            ("status.phase", ""),
            ("spec.hostNetwork", "false"),
            ("spec.none", "no"),
            ("status.none|spec.nodeName", ""),
        ];
        let facts = ObjectFacts::derive(text, &paths(&list));
        assert_eq!((&*facts.name, &*facts.namespace, &*facts.uid), ("a", "n", "u"));
        assert_eq!((facts.label("a"), facts.label("b"), facts.label("c")), (Some("1"), Some("2"), None));
        assert!(facts.deleting && facts.finalizers && !facts.owned);
        let values: Vec<&str> = facts.fields.values.iter().map(CompactString::as_str).collect();
        assert_eq!(values, ["node", "Running", "true", "no", "node"]);
        assert!(text[facts.cuts.body..].starts_with(b"\"metadata\""));
        assert!(text[facts.cuts.splice..].starts_with(b",\"creationTimestamp\""));
    }

    #[test]
    fn places_for_the_resource_version() {
        for (text, rest, comma) in [
            (r#"{"metadata":{}}"#, "}}", Comma::None),
            (r#"{"metadata":{"labels":{}}}"#, "\"labels\":{}}}", Comma::After),
            (r#"{"metadata":{"name":"a"}}"#, "}}", Comma::Before),
            (r#"{"metadata":{"labels":{},"uid":"u","x":1}}"#, ",\"x\":1}}", Comma::Before),
        ] {
            let facts = ObjectFacts::derive(text.as_bytes(), &FieldPaths::default());
            assert_eq!((&text[facts.cuts.splice..], facts.cuts.comma), (rest, comma), "{text}");
        }
    }

    #[test]
    fn garbage_is_unreadable_and_nothing_worse() {
        for text in ["", "x", "{", "{\"metadata\":3}", "{\"metadata\":{\"name\":", "[]"] {
            let facts = ObjectFacts::derive(text.as_bytes(), &paths(&[("spec.a", "")]));
            assert!(readable("k", &facts).is_err(), "{text}");
        }
    }
}
