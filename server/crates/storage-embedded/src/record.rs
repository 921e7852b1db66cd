//! The bytes of an entry and of the store's state on disk.
//!
//! Everything carries a checksum of its own, key included, and the state has the count and the sum
//! of all checksums: neither a damaged, nor a misplaced, nor a lost or outdated record goes unseen.
//!
//! Large values are compressed in the table, which has them all: JSON shrinks to a half or a third, and a start
//! reads so much less. The log, which writers wait for, has them as they are.

use std::sync::Arc;

use apiwright_storage::{Annex, Entry, Revision};
use bytes::Bytes;

use crate::expiry::Deadline;
use crate::upgrade::FORMAT;

/// Checksum, three revisions' worth of history, deadline.
const HEADER: usize = 4 + 4 * 8;
/// Checksum, format, revision, count, sum, segment.
const STATE: usize = 4 + 4 + 4 * 8;

/// Marks a compressed value, in the number that counts an entry's versions. The value then is the length
/// of the original, and a block of LZ4.
const COMPRESSED: u64 = 1 << 63;
/// The smallest value that is compressed.
const COMPRESS_MIN: usize = 1024;
/// LZ4 gets no better than this.
const RATIO_MAX: usize = 255;

/// What the store knows about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) revision: Revision,
    /// How many records there are.
    pub(crate) count: u64,
    /// The wrapping sum of their checksums.
    pub(crate) sum: u64,
    /// The segment of the log that has what comes after this; 0 for the first one, if there is any.
    pub(crate) segment: u64,
}

/// Why the state cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StateError {
    Corrupt,
    Format(u32),
}

/// Writes an entry's record into `buffer`, compressed where that pays; gives its checksum.
pub(crate) fn encode(entry: &Entry, deadline: Option<Deadline>, buffer: &mut Vec<u8>) -> u32 {
    buffer.clear();
    let length = entry.value.len();
    if length < COMPRESS_MIN {
        return append(entry, deadline, buffer);
    }
    let start = HEADER + 4;
    buffer.resize(start + lz4_flex::block::get_maximum_output_size(length), 0);
    match lz4_flex::block::compress_into(&entry.value, &mut buffer[start..]) {
        Ok(compressed) if compressed < length / 8 * 7 => {
            buffer.truncate(start + compressed);
            buffer[HEADER..start].copy_from_slice(&(length as u32).to_le_bytes());
            write_header(entry, entry.version | COMPRESSED, deadline, buffer)
        }
        _ => {
            buffer.clear();
            append(entry, deadline, buffer)
        }
    }
}

/// How long an entry's record is.
pub(crate) fn length(entry: &Entry) -> usize {
    HEADER + entry.value.len()
}

/// Adds an entry's record to `buffer` as it is; gives its checksum.
pub(crate) fn append(entry: &Entry, deadline: Option<Deadline>, buffer: &mut Vec<u8>) -> u32 {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; HEADER]);
    buffer.extend_from_slice(&entry.value);
    write_header(entry, entry.version, deadline, &mut buffer[start..])
}

/// Writes what comes before a record's value, which is there; gives the checksum.
fn write_header(entry: &Entry, version: u64, deadline: Option<Deadline>, record: &mut [u8]) -> u32 {
    let numbers = [entry.create_revision, entry.mod_revision, version, Deadline::pack(deadline)];
    for (slot, number) in record[4..HEADER].chunks_exact_mut(8).zip(numbers) {
        slot.copy_from_slice(&number.to_le_bytes());
    }
    let sum = checksum(&entry.key, &record[4..]);
    record[..4].copy_from_slice(&sum.to_le_bytes());
    sum
}

/// The checksum that a record claims; 0 where it is too short to claim one.
pub(crate) fn claimed_checksum(record: &[u8]) -> u32 {
    record.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Reads a record; `None` where it is damaged. The value is copied once, to its exact size.
pub(crate) fn decode(key: &str, record: &[u8]) -> Option<(Arc<Entry>, Option<Deadline>)> {
    if record.len() < HEADER || checksum(key, &record[4..]) != claimed_checksum(record) {
        return None;
    }
    let (header, value) = record.split_at(HEADER);
    let mut numbers = header[4..].chunks_exact(8).map(u64_of);
    let mut next = || numbers.next().unwrap_or(0);
    let (create_revision, mod_revision, version, deadline) = (next(), next(), next(), next());
    let value = match version & COMPRESSED {
        0 => Bytes::copy_from_slice(value),
        _ => decompress(value)?.into(),
    };
    let entry = Entry {
        key: key.into(),
        value,
        create_revision,
        mod_revision,
        version: version & !COMPRESSED,
        annex: Annex::default(),
    };
    Some((Arc::new(entry), Deadline::unpack(deadline)))
}

/// Undoes the compression of a value.
fn decompress(value: &[u8]) -> Option<Vec<u8>> {
    let (length, block) = value.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > block.len().saturating_mul(RATIO_MAX) {
        return None;
    }
    let mut original = vec![0; length];
    let found = lz4_flex::block::decompress_into(block, &mut original).ok()?;
    (found == length).then_some(original)
}

impl State {
    pub(crate) fn encode(&self) -> [u8; STATE] {
        let mut bytes = [0; STATE];
        bytes[4..8].copy_from_slice(&FORMAT.to_le_bytes());
        let numbers = [self.revision, self.count, self.sum, self.segment];
        for (slot, number) in bytes[8..].chunks_exact_mut(8).zip(numbers) {
            slot.copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum("", &bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StateError> {
        // Every format, known or not, starts with the checksum of the rest, then its number.
        if bytes.len() < 8 || checksum("", &bytes[4..]) != claimed_checksum(bytes) {
            return Err(StateError::Corrupt);
        }
        let format = claimed_checksum(&bytes[4..]);
        if format != FORMAT {
            return Err(StateError::Format(format));
        }
        if bytes.len() != STATE {
            return Err(StateError::Corrupt);
        }
        let mut numbers = bytes[8..].chunks_exact(8).map(u64_of);
        let mut next = || numbers.next().unwrap_or(0);
        Ok(Self { revision: next(), count: next(), sum: next(), segment: next() })
    }

    /// What a record of format 1 says, which is checked already: all but the segment, as there was no log.
    pub(crate) fn of_format_1(bytes: &[u8]) -> Option<Self> {
        let mut numbers = bytes.get(8..)?.chunks_exact(8).map(u64_of);
        Some(Self { revision: numbers.next()?, count: numbers.next()?, sum: numbers.next()?, segment: 0 })
    }

    /// Counts a record in.
    pub(crate) fn add(&mut self, checksum: u32) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(u64::from(checksum));
    }

    /// Counts a record out.
    pub(crate) fn subtract(&mut self, checksum: u32) {
        self.count = self.count.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(u64::from(checksum));
    }
}

fn checksum(key: &str, rest: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key.as_bytes());
    hasher.update(rest);
    hasher.finalize()
}

fn u64_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use apiwright_storage_testing::random::Random;

    use super::*;

    fn entry() -> Entry {
        Entry {
            key: "/a".into(),
            value: Bytes::from_static(b"value"),
            create_revision: 2,
            mod_revision: 9,
            version: 3,
            annex: Annex::default(),
        }
    }

    #[test]
    fn records_come_back_or_are_refused() {
        for deadline in [None, Some(Deadline { at: 1_700_000_000_000, ttl_seconds: 3600 })] {
            let mut record = Vec::new();
            let sum = encode(&entry(), deadline, &mut record);
            assert_eq!(claimed_checksum(&record), sum);
            let (decoded, decoded_deadline) = decode("/a", &record).expect("it was just written");
            assert_eq!(format!("{decoded:?}"), format!("{:?}", entry()));
            assert_eq!(decoded_deadline, deadline);
            assert!(decode("/b", &record).is_none(), "a misplaced record");
            for length in 0..record.len() {
                assert!(decode("/a", &record[..length]).is_none(), "cut to {length}");
            }
            for bit in 0..record.len() * 8 {
                record[bit / 8] ^= 1 << (bit % 8);
                assert!(decode("/a", &record).is_none(), "bit {bit}");
                record[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn large_values_are_compressed_where_that_pays() {
        let mut random = Random::new(1);
        let noise: Vec<u8> = (0..4000).map(|_| random.draw() as u8).collect();
        for (value, pays) in [
            (b"{}".repeat(2000), true),
            (b"{}".repeat(100), false),
            (vec![b'x'; 1 << 20], true),
            (noise, false),
            (Vec::new(), false),
        ] {
            let entry = Entry { value: value.clone().into(), ..entry() };
            let mut record = Vec::new();
            let sum = encode(&entry, None, &mut record);
            assert_eq!(claimed_checksum(&record), sum);
            assert_eq!(record.len() < length(&entry), pays, "{} bytes", value.len());
            let (decoded, _) = decode("/a", &record).expect("it was just written");
            assert_eq!((decoded.value.as_ref(), decoded.version), (&value[..], 3));
        }
        for value in [&b""[..], b"abc", b"\xff\xff\xff\xff\x00", b"\x05\x00\x00\x00\x1f"] {
            assert_eq!(decompress(value), None);
        }
    }

    #[test]
    fn states_come_back_or_are_refused() {
        let state = State { revision: 7, count: 3, sum: 99, segment: 4 };
        let mut bytes = state.encode();
        assert_eq!(State::decode(&bytes), Ok(state));
        assert_eq!(State::decode(&bytes[..STATE - 1]), Err(StateError::Corrupt));
        for bit in 0..STATE * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(State::decode(&bytes), Err(StateError::Corrupt), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let mut newer = bytes.to_vec();
        newer[4] = 9;
        newer.push(0);
        let sum = checksum("", &newer[4..]);
        newer[..4].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(State::decode(&newer), Err(StateError::Format(9)));
    }
}
