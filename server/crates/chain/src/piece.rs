//! Pieces of bodies: own text and slices of stored bytes, one after the other.
//!
//! Position: between who writes objects ([`Sink`]) and the connection, which writes the parts with one call.
//! Invariant: what is stored is read once, when the connection encrypts it, and copied by nobody before; parts are
//! never empty.

use std::io::IoSlice;
use std::ops::Range;

use apiwright_registry::Sink;
use bytes::{Buf, Bytes};

/// Slices shorter than this are copied: to share one costs more than that.
const SHARED_BYTES_MIN: usize = 1024;

/// A piece of a body.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    /// What comes next; empty at the end only.
    part: Bytes,
    rest: std::vec::IntoIter<Bytes>,
    length: usize,
}

/// A piece in the making.
#[derive(Debug, Default)]
pub struct Rope {
    text: Vec<u8>,
    /// Where the text that is no part yet begins.
    begun: usize,
    parts: Vec<Part>,
    shared_bytes: usize,
}

/// A place in a rope, to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    text: usize,
    begun: usize,
    parts: usize,
    shared_bytes: usize,
}

#[derive(Debug)]
enum Part {
    Own(Range<usize>),
    Shared(Bytes),
}

impl Rope {
    /// An empty one, with room for so much text of its own.
    pub fn with_capacity(text_bytes: usize) -> Self {
        Self { text: Vec::with_capacity(text_bytes), ..Self::default() }
    }

    /// How long it is.
    pub fn len(&self) -> usize {
        self.text.len() + self.shared_bytes
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much of it is text of its own.
    pub fn own_bytes(&self) -> usize {
        self.text.len()
    }

    /// Where it ends now.
    pub fn mark(&self) -> Mark {
        Mark {
            text: self.text.len(),
            begun: self.begun,
            parts: self.parts.len(),
            shared_bytes: self.shared_bytes,
        }
    }

    /// Takes back what was written since.
    pub fn back_to(&mut self, mark: Mark) {
        self.text.truncate(mark.text);
        self.parts.truncate(mark.parts);
        self.begun = mark.begun;
        self.shared_bytes = mark.shared_bytes;
    }

    fn end_text(&mut self) {
        if self.begun < self.text.len() {
            self.parts.push(Part::Own(self.begun..self.text.len()));
            self.begun = self.text.len();
        }
    }
}

impl Sink for Rope {
    fn text(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    fn share(&mut self, bytes: &Bytes, range: Range<usize>) {
        if range.len() < SHARED_BYTES_MIN {
            self.text.extend_from_slice(&bytes[range]);
            return;
        }
        self.end_text();
        self.shared_bytes += range.len();
        self.parts.push(Part::Shared(bytes.slice(range)));
    }
}

impl From<Rope> for Piece {
    fn from(mut rope: Rope) -> Self {
        if rope.parts.is_empty() {
            return rope.text.into();
        }
        rope.end_text();
        let length = rope.len();
        let text = Bytes::from(rope.text);
        let parts = rope.parts.into_iter().map(|part| match part {
            Part::Own(range) => text.slice(range),
            Part::Shared(bytes) => bytes,
        });
        let mut rest = parts.collect::<Vec<_>>().into_iter();
        Self { part: rest.next().unwrap_or_default(), rest, length }
    }
}

impl From<Bytes> for Piece {
    fn from(part: Bytes) -> Self {
        Self { length: part.len(), part, rest: Vec::new().into_iter() }
    }
}

impl From<Vec<u8>> for Piece {
    fn from(text: Vec<u8>) -> Self {
        Bytes::from(text).into()
    }
}

/// In one; copied where it was more.
impl From<Piece> for Bytes {
    fn from(mut piece: Piece) -> Self {
        piece.copy_to_bytes(piece.length)
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.length
    }

    fn chunk(&self) -> &[u8] {
        &self.part
    }

    fn chunks_vectored<'a>(&'a self, into: &mut [IoSlice<'a>]) -> usize {
        let parts = std::iter::once(&self.part).filter(|part| !part.is_empty()).chain(self.rest.as_slice());
        into.iter_mut().zip(parts).map(|(slot, part)| *slot = IoSlice::new(part)).count()
    }

    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.length, "advanced by {count} of {}", self.length);
        self.length -= count;
        while count >= self.part.len() {
            count -= self.part.len();
            self.part = self.rest.next().unwrap_or_default();
            if self.part.is_empty() {
                return;
            }
        }
        self.part.advance(count);
    }

    fn copy_to_bytes(&mut self, length: usize) -> Bytes {
        assert!(length <= self.length, "copied {length} of {}", self.length);
        if length <= self.part.len() {
            let bytes = self.part.slice(..length);
            self.advance(length);
            return bytes;
        }
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let part = &self.part[..self.part.len().min(length - bytes.len())];
            bytes.extend_from_slice(part);
            self.advance(part.len());
        }
        bytes.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text of its own, or stored bytes of a length.
    enum Write {
        Own(&'static str),
        Stored(usize),
    }
    use Write::{Own, Stored};

    fn rope(writes: &[Write]) -> (Rope, Vec<u8>) {
        let (mut rope, mut flat) = (Rope::default(), Vec::new());
        for (at, write) in writes.iter().enumerate() {
            match write {
                Own(text) => {
                    rope.text().extend_from_slice(text.as_bytes());
                    flat.extend_from_slice(text.as_bytes());
                }
                Stored(length) => {
                    let stored = Bytes::from(vec![b'a' + at as u8; length + 2]);
                    rope.share(&stored, 1..length + 1);
                    flat.extend_from_slice(&stored[1..=*length]);
                }
            }
        }
        (rope, flat)
    }

    #[test]
    fn reads_back_however_it_is_read() {
        let cases: [&[Write]; 8] = [
            &[],
            &[Own("")],
            &[Own("a")],
            &[Stored(1)],
            &[Stored(2000)],
            &[Own("x"), Stored(5000), Own("y"), Stored(3), Own("z"), Stored(1024), Own("end")],
            &[Stored(1024), Stored(1025), Own("")],
            &[Own(""), Stored(0), Stored(4096), Own("a"), Own("b")],
        ];
        for (case, writes) in cases.iter().enumerate() {
            let (made, flat) = rope(writes);
            assert_eq!((made.len(), made.is_empty()), (flat.len(), flat.is_empty()), "{case}");
            let piece = Piece::from(made);
            assert!(Bytes::from(piece.clone()) == flat, "{case}");
            for step in [1, 7, 1000, 1024, usize::MAX] {
                let (mut piece, mut read) = (piece.clone(), Vec::new());
                while piece.has_remaining() {
                    let mut slices = [IoSlice::new(&[]); 2];
                    let filled = piece.chunks_vectored(&mut slices);
                    let seen: Vec<u8> = slices[..filled].iter().flat_map(|part| part.to_vec()).collect();
                    assert!(seen.starts_with(piece.chunk()) && !seen.is_empty(), "{case}");
                    let step = step.min(seen.len());
                    read.extend_from_slice(&seen[..step]);
                    piece.advance(step);
                }
                assert!(read == flat && piece.chunk().is_empty(), "{case} by {step}");
            }
            let mut piece = piece;
            let mut read = piece.copy_to_bytes(flat.len().min(1500)).to_vec();
            read.extend_from_slice(&Bytes::from(piece));
            assert!(read == flat, "{case}");
        }
    }

    #[test]
    fn what_is_stored_is_shared() {
        let stored = Bytes::from(vec![b'x'; 4096]);
        let mut rope = Rope::default();
        rope.text().push(b'{');
        rope.share(&stored, 100..4000);
        let piece = Piece::from(rope);
        assert_eq!(piece.rest.as_slice()[0].as_ptr(), stored[100..].as_ptr());
    }

    #[test]
    fn goes_back() {
        let (mut made, flat) = rope(&[Own("a"), Stored(2000), Own("b")]);
        let mark = made.mark();
        made.text().extend_from_slice(b"more");
        made.share(&Bytes::from(vec![0; 2000]), 0..2000);
        made.text().extend_from_slice(b"more");
        made.back_to(mark);
        assert!(Bytes::from(Piece::from(made)) == flat);
    }
}
