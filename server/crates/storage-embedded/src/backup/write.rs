//! Writes a backup in pieces, as somebody takes them.

use std::collections::HashMap;
use std::ops::Bound;

use apiwright_storage::{Key, Revision};
use bytes::Bytes;
use ring::digest::{Context, SHA256};

use super::{FORMAT, HEADER, MAGIC};
use crate::expiry::Deadline;
use crate::record;
use apiwright_cache::Snapshot;

/// How large a piece may grow before it is given away.
const PIECE_BYTES: usize = 256 << 10;

/// Everything that a store holds at one revision. Holding it costs only what is written to the
/// store meanwhile.
#[derive(Debug)]
pub struct Backup {
    snapshot: Snapshot,
    deadlines: HashMap<Key, Deadline>,
}

/// The file, piece by piece.
pub struct Pieces {
    backup: Backup,
    hash: Context,
    place: Place,
    record: Vec<u8>,
}

/// How far the file has come.
enum Place {
    Start,
    /// The last key that was written.
    Behind(Option<Key>),
    Done,
}

impl Backup {
    pub(crate) fn new(snapshot: Snapshot, deadlines: HashMap<Key, Deadline>) -> Self {
        Self { snapshot, deadlines }
    }

    /// The revision of the store.
    pub fn revision(&self) -> Revision {
        self.snapshot.revision
    }

    /// How many entries there are.
    pub fn count(&self) -> u64 {
        self.snapshot.map.len() as u64
    }

    /// The file.
    pub fn pieces(self) -> Pieces {
        Pieces { backup: self, hash: Context::new(&SHA256), place: Place::Start, record: Vec::new() }
    }
}

impl Iterator for Pieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut piece = Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 4);
        match std::mem::replace(&mut self.place, Place::Done) {
            Place::Start => {
                self.header(&mut piece);
                self.place = Place::Behind(None);
            }
            Place::Behind(last) => match self.records(last, &mut piece) {
                Some(last) => self.place = Place::Behind(Some(last)),
                None => {
                    self.hash.update(&piece);
                    piece.extend_from_slice(self.hash.clone().finish().as_ref());
                    return Some(piece.into());
                }
            },
            Place::Done => return None,
        }
        self.hash.update(&piece);
        Some(piece.into())
    }
}

impl Pieces {
    fn header(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&self.backup.revision().to_le_bytes());
        out.extend_from_slice(&self.backup.count().to_le_bytes());
        out.extend_from_slice(&crc32fast::hash(out).to_le_bytes());
        debug_assert_eq!(out.len(), HEADER);
    }

    /// Adds the next records; gives the last one's key where the piece is full.
    fn records(&mut self, last: Option<Key>, out: &mut Vec<u8>) -> Option<Key> {
        let start = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        for (key, entry) in self.backup.snapshot.map.range::<_, str>((start, Bound::Unbounded)) {
            record::encode(entry, self.backup.deadlines.get(key).copied(), &mut self.record);
            out.extend_from_slice(&(key.len() as u32).to_le_bytes());
            out.extend_from_slice(&(self.record.len() as u32).to_le_bytes());
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(&self.record);
            if out.len() >= PIECE_BYTES {
                return Some(key.clone());
            }
        }
        None
    }
}
