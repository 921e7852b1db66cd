//! Objects on their way out: the stored bytes with the resourceVersion spliced in.
//!
//! Invariant: no object leaves without a resourceVersion, unless it was never stored (dry runs).
//! Writing takes slices; nothing is parsed or encoded, and long slices are shared with whoever can.

use std::ops::Range;

use bytes::Bytes;

use crate::facts::{Comma, Cuts};

/// Where objects are written to.
pub trait Sink {
    /// Text of its own, to append to.
    fn text(&mut self) -> &mut Vec<u8>;

    /// Appends a part of stored bytes, which may be shared instead of copied.
    fn share(&mut self, bytes: &Bytes, range: Range<usize>);
}

impl Sink for Vec<u8> {
    fn text(&mut self) -> &mut Vec<u8> {
        self
    }

    fn share(&mut self, bytes: &Bytes, range: Range<usize>) {
        self.extend_from_slice(&bytes[range]);
    }
}

/// An object ready to be written.
#[derive(Clone, Debug)]
pub struct Presented {
    bytes: Bytes,
    cuts: Cuts,
    version: Version,
}

impl Presented {
    /// `revision` 0 leaves the resourceVersion out.
    pub(crate) fn new(bytes: Bytes, cuts: Cuts, revision: u64) -> Self {
        Self { bytes, cuts, version: Version::new(revision, cuts.comma) }
    }

    /// How many bytes [`Presented::write`] appends.
    pub fn len(&self, type_meta: Option<(&str, &str)>) -> usize {
        let head = match type_meta {
            Some((kind, api_version)) => {
                HEAD_BYTES + kind.len() + api_version.len() + usize::from(!self.is_bare())
            }
            None => 1,
        };
        head + self.bytes.len() - self.cuts.body + self.version.text().len()
    }

    /// Appends the object: with this kind and apiVersion, or without any (items of lists).
    pub fn write(&self, out: &mut impl Sink, type_meta: Option<(&str, &str)>) {
        self.write_until(self.bytes.len(), out, type_meta);
    }

    /// Appends the value of `metadata`, an object: what partial representations are made of.
    pub fn write_metadata(&self, out: &mut impl Sink) {
        self.write_spliced(self.cuts.metadata, self.cuts.metadata_end, out);
    }

    /// Appends the object as [`Presented::write`] does, but who manages its fields: most of many an object, and
    /// nothing that a table shows.
    pub fn write_unmanaged(&self, out: &mut impl Sink, type_meta: Option<(&str, &str)>) {
        let (managed, end) = (self.cuts.managed, self.cuts.metadata_end - 1);
        if managed < self.cuts.splice || managed >= end {
            return self.write(out, type_meta);
        }
        self.write_until(managed, out, type_meta);
        out.share(&self.bytes, end..self.bytes.len());
    }

    /// The object as it is without a resourceVersion.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends the object up to a place behind the resourceVersion.
    fn write_until(&self, end: usize, out: &mut impl Sink, type_meta: Option<(&str, &str)>) {
        let text = out.text();
        match type_meta {
            Some((kind, api_version)) => {
                text.extend_from_slice(b"{\"kind\":\"");
                text.extend_from_slice(kind.as_bytes());
                text.extend_from_slice(b"\",\"apiVersion\":\"");
                text.extend_from_slice(api_version.as_bytes());
                text.push(b'"');
                if !self.is_bare() {
                    text.push(b',');
                }
            }
            None => text.push(b'{'),
        }
        self.write_spliced(self.cuts.body, end, out);
    }

    /// Appends the bytes between two places around that of the resourceVersion, and it.
    fn write_spliced(&self, start: usize, end: usize, out: &mut impl Sink) {
        out.share(&self.bytes, start..self.cuts.splice);
        out.text().extend_from_slice(self.version.text());
        out.share(&self.bytes, self.cuts.splice..end);
    }

    fn is_bare(&self) -> bool {
        self.bytes.get(self.cuts.body) == Some(&b'}')
    }
}

/// `{"kind":"","apiVersion":""` without the comma that follows.
const HEAD_BYTES: usize = 26;

/// `,"resourceVersion":"18446744073709551615",`
const VERSION_BYTES_MAX: usize = 42;

/// The spliced text, made once.
#[derive(Clone, Copy, Debug)]
struct Version {
    bytes: [u8; VERSION_BYTES_MAX],
    len: u8,
}

impl Version {
    fn new(revision: u64, comma: Comma) -> Self {
        let mut version = Self { bytes: [0; VERSION_BYTES_MAX], len: 0 };
        if revision == 0 {
            return version;
        }
        if comma == Comma::Before {
            version.push(b",");
        }
        version.push(b"\"resourceVersion\":\"");
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        let mut left = revision;
        while left > 0 {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
        }
        version.push(&digits[at..]);
        version.push(b"\"");
        if comma == Comma::After {
            version.push(b",");
        }
        version
    }

    fn push(&mut self, text: &[u8]) {
        let start = usize::from(self.len);
        self.bytes[start..start + text.len()].copy_from_slice(text);
        self.len += text.len() as u8;
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{FieldPaths, ObjectFacts};

    #[test]
    fn written_forms() {
        let kind = Some(("ConfigMap", "v1"));
        for (stored, revision, type_meta, want) in [
            (
                r#"{"kind":"K","apiVersion":"g/v","metadata":{"name":"a","uid":"u","labels":{"x":"y"}},"data":{}}"#,
                17,
                kind,
                r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"17","labels":{"x":"y"}},"data":{}}"#,
            ),
            (
                r#"{"kind":"K","apiVersion":"g/v","metadata":{"name":"a"}}"#,
                u64::MAX,
                None,
                r#"{"metadata":{"name":"a","resourceVersion":"18446744073709551615"}}"#,
            ),
            (
                r#"{"kind":"K","apiVersion":"g/v","metadata":{"name":"a"}}"#,
                0,
                None,
                r#"{"metadata":{"name":"a"}}"#,
            ),
            (
                r#"{"metadata":{}}"#,
                1,
                kind,
                r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1"}}"#,
            ),
            (r#"{"metadata":{"x":1}}"#, 1, None, r#"{"metadata":{"resourceVersion":"1","x":1}}"#),
        ] {
            let facts = ObjectFacts::derive(stored.as_bytes(), &FieldPaths::default());
            let presented = Presented::new(Bytes::from_static(stored.as_bytes()), facts.cuts, revision);
            let mut out = Vec::new();
            presented.write(&mut out, type_meta);
            assert_eq!(String::from_utf8(out.clone()).unwrap(), want);
            assert_eq!(out.len(), presented.len(type_meta), "{want}");
            let mut unmanaged = Vec::new();
            presented.write_unmanaged(&mut unmanaged, type_meta);
            assert_eq!(String::from_utf8(unmanaged).unwrap(), want);
        }
    }

    #[test]
    fn managers_can_be_left_out() {
        for (metadata, want) in [
            (
                r#"{"name":"a","labels":{},"managedFields":[{"x":"}"}]}"#,
                r#"{"name":"a","resourceVersion":"7","labels":{}}"#,
            ),
            (r#"{"name":"a","managedFields":[{}]}"#, r#"{"name":"a","resourceVersion":"7"}"#),
            (r#"{"labels":{},"managedFields":[]}"#, r#"{"resourceVersion":"7","labels":{}}"#),
            (r#"{"managedFields":[]}"#, r#"{"resourceVersion":"7","managedFields":[]}"#),
            (
                r#"{"managedFields":[],"name":"a"}"#,
                r#"{"managedFields":[],"name":"a","resourceVersion":"7"}"#,
            ),
        ] {
            let stored = format!(r#"{{"metadata":{metadata},"spec":{{}}}}"#);
            let facts = ObjectFacts::derive(stored.as_bytes(), &FieldPaths::default());
            let mut out = Vec::new();
            Presented::new(stored.into(), facts.cuts, 7).write_unmanaged(&mut out, None);
            assert_eq!(String::from_utf8(out).unwrap(), format!(r#"{{"metadata":{want},"spec":{{}}}}"#));
        }
    }
}
