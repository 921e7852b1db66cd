//! What is known of a stored object without decoding it: derived once per entry, kept in its annex.

use compact_str::CompactString;

/// Facts of one stored object.
#[derive(Debug, Default)]
pub struct ObjectFacts {
    /// `metadata.name`.
    pub name: CompactString,
    /// `metadata.namespace`; empty for cluster-scoped objects.
    pub namespace: CompactString,
    /// `metadata.uid`.
    pub uid: CompactString,
    /// `metadata.labels`, sorted by key.
    pub labels: Box<[(CompactString, CompactString)]>,
    /// The values of the resource's selectable fields, in the spec's order.
    pub fields: Box<[CompactString]>,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Whether `metadata.finalizers` has items.
    pub finalizers: bool,
}
