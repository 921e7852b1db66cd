//! Reads a backup, believing nothing of it.

use std::io::{self, Read};
use std::sync::Arc;

use apiwright_storage::{Entry, Revision};
use ring::digest::{Context, SHA256};

use super::{FORMAT, HASH, HEADER, Hash, LENGTHS, MAGIC, Summary};
use crate::expiry::Deadline;
use crate::record;

/// No key or record is longer; so a damaged length takes no memory.
const LENGTH_MAX: u32 = 1 << 30;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("it is no snapshot of apiwright")]
    Foreign,
    /// A later version wrote it.
    #[error("it has format {0}, and this apiwright knows formats up to {FORMAT}")]
    Newer(u32),
    /// It is not what was written.
    #[error("{0}")]
    Damaged(String),
}

/// Checks a whole file.
pub fn verify(file: impl Read) -> Result<Summary, ReadError> {
    read(file, |_, _| {})
}

/// Reads a file. What `visit` gets is sound by itself; whether it is complete shows at the end.
pub(crate) fn read(
    file: impl Read,
    mut visit: impl FnMut(Arc<Entry>, Option<Deadline>),
) -> Result<Summary, ReadError> {
    let mut file = Hashed { file, hash: Context::new(&SHA256), bytes: 0 };
    let (format, revision, count) = header(&mut file)?;
    let (mut key, mut record) = (Vec::new(), Vec::new());
    for number in 1..=count {
        let damaged = |what: &str| ReadError::Damaged(format!("record {number} of {count} {what}"));
        let mut lengths = [0; LENGTHS];
        file.take(&mut lengths)?;
        let (key_length, record_length) = (u32_of(&lengths), u32_of(&lengths[4..]));
        if key_length > LENGTH_MAX || record_length > LENGTH_MAX {
            return Err(damaged("has an impossible length"));
        }
        file.take_into(key_length, &mut key)?;
        file.take_into(record_length, &mut record)?;
        let text = std::str::from_utf8(&key).map_err(|_| damaged("has a key that is no text"))?;
        let (entry, deadline) = record::decode(text, &record).ok_or_else(|| damaged("fails its checksum"))?;
        if entry.mod_revision > revision {
            return Err(damaged("is newer than the snapshot"));
        }
        visit(entry, deadline);
    }
    let hash = file.hash.clone().finish();
    let mut claimed = [0; HASH];
    file.take(&mut claimed)?;
    if hash.as_ref() != claimed {
        return Err(ReadError::Damaged("its hash is not that of its contents".into()));
    }
    if file.file.read(&mut [0])? != 0 {
        return Err(ReadError::Damaged("it goes on behind its end".into()));
    }
    Ok(Summary { format, revision, count, bytes: file.bytes, hash: Hash(claimed) })
}

fn header<R: Read>(file: &mut Hashed<R>) -> Result<(u32, Revision, u64), ReadError> {
    let mut header = [0; HEADER];
    let complete = file.take(&mut header);
    if !header.starts_with(MAGIC) {
        return Err(ReadError::Foreign);
    }
    complete?;
    let (rest, sum) = header.split_at(HEADER - 4);
    if crc32fast::hash(rest) != u32_of(sum) {
        return Err(ReadError::Damaged("its header fails its checksum".into()));
    }
    let format = u32_of(&header[8..]);
    if format != FORMAT {
        return Err(ReadError::Newer(format));
    }
    Ok((format, u64_of(&header[12..]), u64_of(&header[20..])))
}

/// A file, and the hash of what was read of it.
struct Hashed<R> {
    file: R,
    hash: Context,
    bytes: u64,
}

impl<R: Read> Hashed<R> {
    fn take(&mut self, out: &mut [u8]) -> Result<(), ReadError> {
        self.file.read_exact(out).map_err(ended)?;
        self.count(out);
        Ok(())
    }

    /// Reads so many bytes, taking memory only for what is there.
    fn take_into(&mut self, length: u32, out: &mut Vec<u8>) -> Result<(), ReadError> {
        out.clear();
        if (&mut self.file).take(u64::from(length)).read_to_end(out)? < length as usize {
            return Err(ended(io::ErrorKind::UnexpectedEof.into()));
        }
        self.count(out);
        Ok(())
    }

    fn count(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

fn ended(error: io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ReadError::Damaged("it ends early".into()),
        _ => ReadError::Io(error),
    }
}

fn u32_of(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
