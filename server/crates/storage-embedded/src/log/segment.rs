//! One file of the log.
//!
//! ```text
//! magic "apiwlog1" | number u64 | base revision u64 | CRC-32 of all this
//! records: CRC-32 | payload length u32 | payload
//! payload: first revision u64 | count u32 | count times: kind u8 | key length u32 | length u32 | key | record
//! ```
//!
//! The checksum covers the segment's number and the record's offset as well. Zeros may follow.

use std::sync::Arc;

use apiwright_storage::{Entry, Revision};

use crate::batch::Step;
use crate::disk::Disk;
use crate::expiry::Deadline;
use crate::failure::Failure;
use crate::record;

const MAGIC: &[u8; 8] = b"apiwlog1";
/// Magic, number, base, checksum.
const HEADER: usize = 8 + 8 + 8 + 4;
/// Checksum, length.
const FRAME: usize = 4 + 4;
/// First revision, count.
const PAYLOAD_MIN: usize = 8 + 4;
/// Kind, two lengths.
const STEP: usize = 1 + 4 + 4;

const PUT: u8 = 1;
const DELETE: u8 = 2;

/// What a segment says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) number: u64,
    /// Its first change has the next revision; nothing that segments before it have after this
    /// revision has happened.
    pub(super) base: Revision,
}

/// A segment that was read.
pub(super) struct Segment {
    pub(super) header: Header,
    bytes: Vec<u8>,
}

/// A change as the log has it.
pub(crate) enum LoggedChange<'a> {
    Put(Arc<Entry>, Option<Deadline>),
    Delete(&'a str),
}

/// Where a segment ends.
pub(super) struct SegmentEnd {
    pub(super) newest: Revision,
    pub(super) offset: u64,
    /// Whether only zeros follow.
    pub(super) is_clean: bool,
}

/// A segment's file.
pub(super) fn name(number: u64) -> String {
    format!("log.{number:08}")
}

/// The number of the segment whose file has this name.
pub(super) fn number(name: &str) -> Option<u64> {
    let number = name.strip_prefix("log.")?.parse().ok()?;
    (self::name(number) == name).then_some(number)
}

/// Writes a record into `buffer`.
pub(super) fn encode(number: u64, offset: u64, first: Revision, steps: &[Step], buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.extend_from_slice(&[0; FRAME]);
    buffer.extend_from_slice(&first.to_le_bytes());
    buffer.extend_from_slice(&(steps.len() as u32).to_le_bytes());
    for step in steps {
        let key = step.entry.key.as_bytes();
        let kind = if step.deleted { DELETE } else { PUT };
        let length = if step.deleted { 0 } else { record::length(&step.entry) };
        buffer.push(kind);
        buffer.extend_from_slice(&(key.len() as u32).to_le_bytes());
        buffer.extend_from_slice(&(length as u32).to_le_bytes());
        buffer.extend_from_slice(key);
        if !step.deleted {
            record::append(&step.entry, step.deadline, buffer);
        }
    }
    let length = (buffer.len() - FRAME) as u32;
    buffer[4..FRAME].copy_from_slice(&length.to_le_bytes());
    let sum = checksum(number, offset, &buffer[4..]);
    buffer[..4].copy_from_slice(&sum.to_le_bytes());
}

impl Header {
    pub(super) fn encode(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.base.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..24]);
        bytes[24..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..HEADER)?;
        let sound = header.starts_with(MAGIC) && crc32fast::hash(&header[..24]) == u32_of(&header[24..]);
        sound.then(|| Self { number: u64_of(&header[8..]), base: u64_of(&header[16..]) })
    }
}

impl Segment {
    /// Reads a segment; `None` where it was never begun to its end.
    pub(super) fn read(disk: &dyn Disk, number: u64) -> Result<Option<Self>, Failure> {
        let file = disk.open(&name(number))?;
        let mut bytes = vec![0; file.len()? as usize];
        file.read(0, &mut bytes)?;
        let damaged = |what: &str| Err(Failure::Damage(format!("{} {what}", name(number))));
        match Header::decode(&bytes) {
            Some(header) if header.number == number => Ok(Some(Self { header, bytes })),
            Some(_) => damaged("is another segment's file"),
            None if follows(&bytes, number, HEADER.min(bytes.len())) => damaged("has a damaged header"),
            None => Ok(None),
        }
    }

    /// Visits the changes after revision `newest`, up to `until` where that is known.
    pub(super) fn replay(
        &self,
        mut newest: Revision,
        until: Option<Revision>,
        mut visit: impl FnMut(Revision, LoggedChange<'_>) -> Result<(), Failure>,
    ) -> Result<SegmentEnd, Failure> {
        let Header { number, base } = self.header;
        let damaged = |what: String| Failure::Damage(format!("{}: {what}", name(number)));
        if base != newest {
            return Err(damaged(format!("it begins after revision {base}, and should after {newest}")));
        }
        let mut offset = HEADER;
        while until.is_none_or(|until| newest < until) {
            let Some(payload) = record_at(&self.bytes, number, offset) else {
                if let Some(until) = until {
                    return Err(damaged(format!(
                        "the record at {offset} fails its checksum, and changes up to revision {until} are lost"
                    )));
                }
                if follows(&self.bytes, number, offset + 1) {
                    return Err(damaged(format!("the record at {offset} fails its checksum")));
                }
                break;
            };
            let first = u64_of(payload);
            if first != newest + 1 {
                return Err(damaged(format!("the record at {offset} has revision {first} after {newest}")));
            }
            let mut steps = Steps { rest: &payload[PAYLOAD_MIN..] };
            for _ in 0..u32_of(&payload[8..]) {
                let change =
                    steps.next().ok_or_else(|| damaged(format!("the record at {offset} is no record")))?;
                newest += 1;
                visit(newest, change)?;
            }
            offset += FRAME + payload.len();
        }
        if let Some(until) = until.filter(|until| *until != newest) {
            return Err(damaged(format!("it ends at revision {newest}, and should at {until}")));
        }
        let is_clean = self.bytes[offset.min(self.bytes.len())..].iter().all(|byte| *byte == 0);
        Ok(SegmentEnd { newest, offset: offset as u64, is_clean })
    }
}

/// The changes of a record.
struct Steps<'a> {
    rest: &'a [u8],
}

impl<'a> Steps<'a> {
    fn next(&mut self) -> Option<LoggedChange<'a>> {
        let (head, rest) = self.rest.split_at_checked(STEP)?;
        let (key, rest) = rest.split_at_checked(u32_of(&head[1..]) as usize)?;
        let (record, rest) = rest.split_at_checked(u32_of(&head[5..]) as usize)?;
        self.rest = rest;
        let key = std::str::from_utf8(key).ok()?;
        match head[0] {
            PUT => record::decode(key, record).map(|(entry, deadline)| LoggedChange::Put(entry, deadline)),
            DELETE => Some(LoggedChange::Delete(key)),
            _ => None,
        }
    }
}

/// The payload of the record at a place; `None` where there is none, or a damaged one.
fn record_at(bytes: &[u8], number: u64, offset: usize) -> Option<&[u8]> {
    let frame = bytes.get(offset..offset + FRAME)?;
    let length = u32_of(&frame[4..]) as usize;
    if length < PAYLOAD_MIN {
        return None;
    }
    let record = bytes.get(offset + 4..(offset + FRAME).checked_add(length)?)?;
    (checksum(number, offset as u64, record) == u32_of(frame)).then(|| &record[4..])
}

/// Whether there is a sound record somewhere from a place on.
fn follows(bytes: &[u8], number: u64, from: usize) -> bool {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    (from..end).any(|offset| record_at(bytes, number, offset).is_some())
}

fn checksum(number: u64, offset: u64, record: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&offset.to_le_bytes());
    hasher.update(record);
    hasher.finalize()
}

fn u32_of(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
