//! The newest changes on disk, in the order in which they happened.
//!
//! A batch is one record at the end, made durable by one sync of a file whose blocks are there
//! already; nothing is ever overwritten. The [table](crate::table) follows at a distance, and what
//! it has and the window of changes no longer needs is dropped, a whole segment at a time.
//!
//! Every record has a checksum that its place is part of. One that fails it is the end of the log
//! where nothing sound follows, as a crash leaves it, and damage otherwise: a batch is written only
//! once the one before is durable.
//!
//! When a write fails, what reached the disk is unknown. A new segment then says at which
//! revision it begins, and so that the failed batch never happened.

mod segment;

use std::collections::VecDeque;
use std::sync::Arc;

use apiwright_storage::Revision;
use redb::StorageBackend;

use crate::batch::Step;
use crate::disk::Disk;
use crate::failure::Failure;
use segment::{Header, Segment};

pub(crate) use segment::LoggedChange;

/// How much is filled with zeros ahead of the end, at least and at most.
const AHEAD_BYTES: (u64, u64) = (64 << 10, 1 << 20);

/// The log.
#[derive(Debug)]
pub(crate) struct Log {
    disk: Arc<dyn Disk>,
    /// The segments that are there, oldest first.
    segments: VecDeque<(u64, Revision)>,
    /// Where to go on; `None` for in a new segment.
    end: Option<End>,
    next_number: u64,
    /// How long a segment gets before the next one begins.
    segment_bytes: u64,
    buffer: Vec<u8>,
}

/// The end of a segment.
#[derive(Debug)]
struct End {
    file: Box<dyn StorageBackend>,
    number: u64,
    offset: u64,
    /// How long the file is, zeros included.
    allocated: u64,
}

/// Why a batch was not appended.
#[derive(Debug)]
pub(crate) struct AppendError {
    pub(crate) failure: Failure,
    /// Whether it may be on disk in spite of that; [`Log::begin_segment`] settles it.
    pub(crate) in_doubt: bool,
}

impl Log {
    /// Reads the changes after `from` out of the segments from number `first` on. Segment 0 stands for
    /// the first one ever, which need not be there yet. Gives the newest revision too.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        first: u64,
        from: Revision,
        segment_bytes: u64,
        mut visit: impl FnMut(Revision, LoggedChange<'_>) -> Result<(), Failure>,
    ) -> Result<(Self, Revision), Failure> {
        let mut segments = Vec::new();
        for number in numbers(&*disk)? {
            if number < first {
                // The crash came before it was dropped.
                disk.remove(&segment::name(number))?;
            } else {
                segments.push(number);
            }
        }
        if first > 0 && segments.first() != Some(&first) {
            return Err(Failure::Damage(format!("{} is missing", segment::name(first))));
        }
        let mut log = Self {
            disk,
            segments: VecDeque::new(),
            end: None,
            next_number: 1,
            segment_bytes,
            buffer: Vec::new(),
        };
        let mut read: VecDeque<Segment> = VecDeque::new();
        for (index, number) in segments.iter().enumerate() {
            let expected = segments[0] + index as u64;
            if *number != expected {
                return Err(Failure::Damage(format!("{} is missing", segment::name(expected))));
            }
            let is_last = index + 1 == segments.len();
            match Segment::read(&*log.disk, *number)? {
                Some(segment) => read.push_back(segment),
                // The crash came while it was begun.
                None if is_last => log.disk.remove(&segment::name(*number))?,
                None => {
                    return Err(Failure::Damage(format!("{} has no header", segment::name(*number))));
                }
            }
        }
        log.next_number = read.back().map_or(first.max(1), |segment| segment.header.number + 1);
        let Some(start) = read.front().map(|segment| segment.header.base) else {
            return if first > 1 {
                Err(Failure::Damage(format!("{} has no header", segment::name(first))))
            } else {
                Ok((log, from))
            };
        };
        if start > from {
            return Err(Failure::Damage(format!("the log begins at revision {start}, and not at {from}")));
        }
        let mut newest = start;
        while let Some(segment) = read.pop_front() {
            let until = read.front().map(|next| next.header.base);
            let Header { number, base } = segment.header;
            let end = segment.replay(newest, until, |revision, change| {
                if revision > from { visit(revision, change) } else { Ok(()) }
            })?;
            newest = end.newest;
            log.segments.push_back((number, base));
            if until.is_none() && end.is_clean {
                let file = log.disk.open(&segment::name(number))?;
                let allocated = file.len()?;
                log.end = Some(End { file, number, offset: end.offset, allocated });
            }
        }
        if newest < from {
            return Err(Failure::Damage(format!("the log ends at revision {newest}, and not after {from}")));
        }
        Ok((log, newest))
    }

    /// Makes changes durable, the first of which has the revision after `newest`; gives how much
    /// longer the log has become. No changes are a test whether the disk works.
    pub(crate) fn append(&mut self, newest: Revision, steps: &[Step]) -> Result<usize, AppendError> {
        let refused = |failure| AppendError { failure, in_doubt: false };
        if self.end.as_ref().is_none_or(|end| end.offset >= self.segment_bytes) {
            self.begin_segment(newest).map_err(refused)?;
        }
        let Some(mut end) = self.end.take() else {
            return Err(refused(Failure::Other("the log has no end".into())));
        };
        segment::encode(end.number, end.offset, newest + 1, steps, &mut self.buffer);
        let length = self.buffer.len() as u64;
        if let Err(error) = end.allocate(length) {
            // Only zeros were written.
            self.end = Some(end);
            return Err(refused(error.into()));
        }
        let written = end.file.write(end.offset, &self.buffer).and_then(|()| end.file.sync_data());
        self.buffer.shrink_to(AHEAD_BYTES.1 as usize);
        match written {
            Ok(()) => {
                end.offset += length;
                self.end = Some(end);
                Ok(length as usize)
            }
            Err(error) => Err(AppendError { failure: error.into(), in_doubt: true }),
        }
    }

    /// Begins a segment after `newest`: whatever else is in those before never happened.
    pub(crate) fn begin_segment(&mut self, newest: Revision) -> Result<(), Failure> {
        self.end = None;
        let number = self.next_number;
        let name = segment::name(number);
        // An earlier attempt may have got somewhere.
        self.disk.remove(&name)?;
        let file = self.disk.open(&name)?;
        let header = Header { number, base: newest }.encode();
        file.write(0, &header)?;
        file.sync_data()?;
        self.next_number += 1;
        self.segments.push_back((number, newest));
        self.end = Some(End { file, number, offset: header.len() as u64, allocated: header.len() as u64 });
        Ok(())
    }

    /// Whether the last batch is in doubt.
    pub(crate) fn is_broken(&self) -> bool {
        self.end.is_none()
    }

    /// The segment from which on everything after a revision is read; 0 where there is none yet.
    pub(crate) fn segment_at(&self, revision: Revision) -> u64 {
        let found = self.segments.iter().rev().find(|(_, base)| *base <= revision);
        found.or(self.segments.front()).map_or(0, |(number, _)| *number)
    }

    /// Drops the segments before one.
    pub(crate) fn drop_before(&mut self, number: u64) {
        while self.segments.front().is_some_and(|(first, _)| *first < number) {
            if let Some((first, _)) = self.segments.pop_front() {
                // What remains is found and removed at the next start.
                let _ = self.disk.remove(&segment::name(first));
            }
        }
    }
}

impl End {
    /// Makes room ahead of the end, so that the syncs that follow need not write down where the
    /// file's blocks are.
    fn allocate(&mut self, length: u64) -> std::io::Result<()> {
        let needed = self.offset + length;
        if needed <= self.allocated {
            return Ok(());
        }
        let ahead = self.offset.clamp(AHEAD_BYTES.0, AHEAD_BYTES.1);
        let zeros = vec![0; (needed + ahead - self.allocated) as usize];
        self.file.write(self.allocated, &zeros)?;
        self.allocated += zeros.len() as u64;
        Ok(())
    }
}

/// Removes all segments.
pub(crate) fn remove_all(disk: &dyn Disk) -> Result<(), Failure> {
    for number in numbers(disk)? {
        disk.remove(&segment::name(number))?;
    }
    Ok(())
}

/// Whether there are segments.
pub(crate) fn exists(disk: &dyn Disk) -> Result<bool, Failure> {
    Ok(!numbers(disk)?.is_empty())
}

/// The numbers of the segments that are there, in order.
fn numbers(disk: &dyn Disk) -> Result<Vec<u64>, Failure> {
    let mut numbers: Vec<u64> = disk.names()?.iter().filter_map(|name| segment::number(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
