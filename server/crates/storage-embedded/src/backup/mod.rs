//! A store in one file, to be kept elsewhere: everything at one revision, with checksums.
//!
//! ```text
//! magic "apiwsnap" | format u32 | revision u64 | count u64 | CRC-32 of all this
//! count times: key length u32 | record length u32 | key | record, with a checksum as on disk
//! SHA-256 of everything before
//! ```
//!
//! Numbers are little-endian, records in the order of their keys. The same entries always give the
//! same file. Invariant: a file that is cut, changed in any bit or followed by anything is refused
//! as a whole.

mod read;
mod write;

use std::fmt;

use apiwright_storage::Revision;

pub use read::{ReadError, verify};
pub use write::{Backup, Pieces};

pub(crate) use read::read;

/// What every file starts with.
const MAGIC: &[u8; 8] = b"apiwsnap";
/// The format that this version writes, and the only one there is.
const FORMAT: u32 = 1;
/// Magic, format, revision, count, checksum.
const HEADER: usize = 8 + 4 + 8 + 8 + 4;
/// The two lengths.
const LENGTHS: usize = 4 + 4;
/// SHA-256.
const HASH: usize = 32;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The format of the file.
    pub format: u32,
    /// The revision of the store.
    pub revision: Revision,
    /// How many entries there are.
    pub count: u64,
    /// How long the file is.
    pub bytes: u64,
    /// The hash that the file ends with.
    pub hash: Hash,
}

/// A SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(pub [u8; HASH]);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use apiwright_storage::{Annex, Entry};

    use super::*;
    use crate::expiry::Deadline;
    use apiwright_cache::Snapshot;

    const DEADLINE: Deadline = Deadline { at: 77, ttl_seconds: 7 };

    fn backup(count: u64) -> Backup {
        let mut snapshot = Snapshot { revision: 1 + count, ..Snapshot::default() };
        for number in 0..count {
            let entry = Entry {
                key: format!("/registry/pods/{number:04}").into(),
                value: vec![b'x'; (number % 7 * 100) as usize].into(),
                create_revision: 2,
                mod_revision: 2 + number,
                version: 1,
                annex: Annex::default(),
            };
            snapshot.map.insert(entry.key.clone(), Arc::new(entry));
        }
        let deadlines = HashMap::from([("/registry/pods/0001".into(), DEADLINE)]);
        Backup::new(snapshot, deadlines)
    }

    fn file(count: u64) -> Vec<u8> {
        backup(count).pieces().flatten().collect()
    }

    #[test]
    fn everything_comes_back() {
        for count in [0, 1, 5, 3000] {
            let file = file(count);
            let mut found: Vec<(String, u64, usize, Option<Deadline>)> = Vec::new();
            let summary = read(&file[..], |entry, deadline| {
                found.push((entry.key.to_string(), entry.mod_revision, entry.value.len(), deadline));
            })
            .unwrap();
            assert_eq!((summary.revision, summary.count), (1 + count, count));
            assert_eq!((summary.format, summary.bytes), (FORMAT, file.len() as u64));
            assert_eq!(summary.hash.to_string().len(), 64);
            let want: Vec<_> = (0..count)
                .map(|number| {
                    let deadline = (number == 1).then_some(DEADLINE);
                    (format!("/registry/pods/{number:04}"), 2 + number, (number % 7 * 100) as usize, deadline)
                })
                .collect();
            assert_eq!(found, want);
        }
    }

    #[test]
    fn a_changed_file_is_refused() {
        let sound = file(4);
        for length in 0..sound.len() {
            assert!(verify(&sound[..length]).is_err(), "cut to {length}");
        }
        for bit in 0..sound.len() * 8 {
            let mut file = sound.clone();
            file[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&file[..]).is_err(), "bit {bit}");
        }
        let mut longer = sound.clone();
        longer.push(0);
        let why = verify(&longer[..]).unwrap_err().to_string();
        assert_eq!(why, "it goes on behind its end");
    }

    #[test]
    fn other_files_and_later_formats_are_told_apart() {
        let why = |file: &[u8]| verify(file).unwrap_err().to_string();
        assert_eq!(why(b"SQLite format 3\0 and so on"), "it is no snapshot of apiwright");
        assert_eq!(why(b""), "it is no snapshot of apiwright");
        let mut later = file(1);
        later[8] = 2;
        let sum = crc32fast::hash(&later[..HEADER - 4]);
        later[HEADER - 4..HEADER].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(why(&later), "it has format 2, and this apiwright knows formats up to 1");
    }
}
