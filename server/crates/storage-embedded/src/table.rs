//! The entries on disk as of one revision, in one redb file, which the [log](crate::log) goes on from.
//!
//! The file is read once, at start. Afterwards memory has everything, so a file that can no longer
//! be trusted is written anew from memory instead of being repaired.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use apiwright_cache::{FIRST_REVISION, Map, Snapshot};
use apiwright_storage::{Entry, Key, Revision};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::batch::Step;
use crate::disk::{Disk, Seen, Watched};
use crate::expiry::Deadlines;
use crate::failure::{Failure, guarded};
use crate::open_error::OpenError;
use crate::record::{self, State, StateError};
use crate::upgrade;

pub(crate) const DATA: TableDefinition<&str, &[u8]> = TableDefinition::new("data");
pub(crate) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
/// The one record of the meta table.
pub(crate) const STATE_KEY: &str = "state";

/// The file, and where its successor is written.
pub(crate) const FILE: &str = "store.redb";
const NEXT_FILE: &str = "store.redb.next";

/// redb's page cache. Entries are never read again after the start, so it need only hold the
/// pages that writes touch.
const CACHE_BYTES: usize = 16 << 20;
/// How many entries one transaction of a rewrite has at most; bounds its memory.
const REWRITE_ENTRIES: usize = 4096;
/// A file is written anew when it is so many times the size of its entries, and not small.
const BLOAT_FACTOR: u64 = 4;
const BLOAT_MIN_BYTES: u64 = 16 << 20;

/// The entries on disk.
#[derive(Debug)]
pub(crate) struct Table {
    disk: Arc<dyn Disk>,
    /// `None` after a failure, until the next use.
    file: Option<File>,
    /// Whether the file can still be believed after a failure.
    distrusted: bool,
    buffer: Vec<u8>,
}

/// An open file.
#[derive(Debug)]
struct File {
    database: Database,
    state: State,
    seen: Arc<Seen>,
    /// The bytes of the keys and records, where they are known.
    live_bytes: Option<u64>,
}

/// Entries, when they expire, and the revision of it all.
pub(crate) struct Entries {
    pub(crate) snapshot: Snapshot,
    pub(crate) deadlines: Deadlines,
}

impl Entries {
    /// What a new store has in it.
    pub(crate) fn none() -> Self {
        let snapshot = Snapshot { revision: FIRST_REVISION, map: Map::new() };
        Self { snapshot, deadlines: Deadlines::default() }
    }
}

impl Table {
    /// Whether there is one.
    pub(crate) fn exists(disk: &dyn Disk, dir: &Path) -> Result<bool, OpenError> {
        disk.exists(FILE).map_err(|source| OpenError::Io { path: dir.join(FILE), source })
    }

    /// Makes one where there is none.
    pub(crate) fn create(disk: Arc<dyn Disk>, entries: &Entries) -> Result<Self, Failure> {
        let mut table = Self { disk, file: None, distrusted: false, buffer: Vec::new() };
        table.rewrite(&entries.snapshot, &entries.deadlines, 0)?;
        Ok(table)
    }

    /// Opens the one that there is and reads all of it. Gives the segment that the log goes on in, too.
    pub(crate) fn open(disk: Arc<dyn Disk>) -> Result<(Self, Entries, u64), Failure> {
        // A rewrite that did not get to its end.
        disk.remove(NEXT_FILE)?;
        let mut table = Self { disk, file: None, distrusted: false, buffer: Vec::new() };
        let (file, entries) = guarded(|| {
            let mut file = table.open_file(FILE)?;
            let entries = file.load()?;
            Ok((file, entries))
        })?;
        let segment = file.state.segment;
        table.file = Some(file);
        Ok((table, entries, segment))
    }

    /// The revision that the table is at, and the segment that the log is read from; after a failure the
    /// file tells.
    pub(crate) fn place(&mut self) -> Result<(Revision, u64), Failure> {
        if self.distrusted {
            return Err(Failure::Damage("the file is not to be believed".into()));
        }
        if let Some(file) = &self.file {
            return Ok((file.state.revision, file.state.segment));
        }
        let file = guarded(|| {
            let mut file = self.open_file(FILE)?;
            file.state = file.read_state()?;
            Ok(file)
        })
        .inspect_err(|failure| self.distrusted |= failure.is_damage())?;
        let place = (file.state.revision, file.state.segment);
        self.file = Some(file);
        Ok(place)
    }

    /// Takes the table to a revision, durably, from which on the log is read from a segment. After an
    /// error it is unknown whether that happened.
    pub(crate) fn commit(&mut self, steps: &[Step], revision: Revision, segment: u64) -> Result<(), Failure> {
        let Some(mut file) = self.file.take() else {
            return Err(Failure::Other("the file is not open".into()));
        };
        let buffer = &mut self.buffer;
        let result = guarded(|| file.commit(steps, revision, segment, buffer));
        if result.is_ok() {
            self.file = Some(file);
            return result;
        }
        // What redb stumbles over in the file is damage, and reading it again no cure.
        self.distrusted |=
            file.seen.sync_failed.load(Ordering::SeqCst) || result.as_ref().is_err_and(Failure::is_damage);
        // What redb has to say about its end adds nothing.
        let _ = guarded(|| {
            drop(file);
            Ok(())
        });
        result
    }

    /// Whether [`Self::rewrite`] would give much space back.
    pub(crate) fn is_bloated(&self) -> bool {
        self.file.as_ref().is_some_and(|file| {
            let bytes = file.seen.bytes.load(Ordering::SeqCst);
            bytes > BLOAT_MIN_BYTES && file.live_bytes.is_some_and(|live| bytes / BLOAT_FACTOR > live)
        })
    }

    /// Whether only [`Self::rewrite`] helps.
    pub(crate) fn is_distrusted(&self) -> bool {
        self.distrusted
    }

    /// Writes a file with these entries and puts it in place of the old one. The old file stays
    /// until the new one is complete: a crash leaves either the old file or the new one, never a
    /// part.
    pub(crate) fn rewrite(
        &mut self,
        snapshot: &Snapshot,
        deadlines: &Deadlines,
        segment: u64,
    ) -> Result<(), Failure> {
        self.file = None;
        self.disk.remove(NEXT_FILE)?;
        let written = self.write_next(snapshot, deadlines, segment).and_then(|file| {
            self.disk.rename(NEXT_FILE, FILE)?;
            Ok(file)
        });
        match written {
            Ok(file) => {
                self.file = Some(file);
                self.distrusted = false;
                Ok(())
            }
            Err(failure) => {
                // A part is worth nothing, and the disk may be full.
                let _ = self.disk.remove(NEXT_FILE);
                Err(failure)
            }
        }
    }

    fn write_next(
        &mut self,
        snapshot: &Snapshot,
        deadlines: &Deadlines,
        segment: u64,
    ) -> Result<File, Failure> {
        let mut file = guarded(|| self.open_file(NEXT_FILE))?;
        file.live_bytes = Some(0);
        let buffer = &mut self.buffer;
        guarded(|| {
            let mut entries = snapshot.map.values();
            loop {
                let steps: Vec<Step> = entries
                    .by_ref()
                    .take(REWRITE_ENTRIES)
                    .map(|entry| Step {
                        entry: entry.clone(),
                        deleted: false,
                        deadline: deadlines.get(&entry.key),
                    })
                    .collect();
                file.commit(&steps, snapshot.revision, segment, buffer)?;
                if steps.len() < REWRITE_ENTRIES {
                    return Ok(());
                }
            }
        })?;
        Ok(file)
    }

    /// Closes the file.
    pub(crate) fn close(mut self) -> Result<(), Failure> {
        match self.file.take() {
            Some(file) => guarded(|| Ok(file.database.close()?)),
            None => Ok(()),
        }
    }

    fn open_file(&self, name: &str) -> Result<File, Failure> {
        let inner = self.disk.open(name)?;
        let seen = Arc::new(Seen { bytes: inner.len()?.into(), ..Seen::default() });
        let backend = Watched { inner, seen: seen.clone() };
        let database = Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(backend)?;
        let state = State { revision: FIRST_REVISION, ..State::default() };
        Ok(File { database, state, seen, live_bytes: None })
    }
}

impl File {
    fn commit(
        &mut self,
        steps: &[Step],
        revision: Revision,
        segment: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let mut state = State { revision, segment, ..self.state };
        let (mut added, mut removed) = (0, 0);
        let transaction = self.database.begin_write()?;
        {
            let mut data = transaction.open_table(DATA)?;
            for step in steps {
                let key = &*step.entry.key;
                let old = if step.deleted {
                    data.remove(key)?
                } else {
                    state.add(record::encode(&step.entry, step.deadline, buffer));
                    added += (key.len() + buffer.len()) as u64;
                    data.insert(key, &**buffer)?
                };
                if let Some(old) = old {
                    state.subtract(record::claimed_checksum(old.value()));
                    removed += (key.len() + old.value().len()) as u64;
                }
            }
            transaction.open_table(META)?.insert(STATE_KEY, &state.encode()[..])?;
        }
        transaction.commit()?;
        self.state = state;
        self.live_bytes = self.live_bytes.map(|live| (live + added).saturating_sub(removed));
        Ok(())
    }

    fn read_state(&self) -> Result<State, Failure> {
        let transaction = self.database.begin_read()?;
        let table = transaction.open_table(META)?;
        let Some(bytes) = table.get(STATE_KEY)? else {
            return Err(Failure::Damage("the state record is missing".into()));
        };
        match State::decode(bytes.value()) {
            Ok(state) => Ok(state),
            Err(StateError::Corrupt) => Err(Failure::Damage("the state record fails its checksum".into())),
            Err(StateError::Format(format)) => Err(Failure::Format(format)),
        }
    }

    /// The state of a file that may be of an older format, which it then no longer is.
    fn read_state_upgrading(&self) -> Result<State, Failure> {
        match self.read_state() {
            Err(Failure::Format(format)) => {
                upgrade::run(&self.database, format, upgrade::STEPS)?;
                self.read_state()
            }
            result => result,
        }
    }

    /// Reads everything.
    fn load(&mut self) -> Result<Entries, Failure> {
        let state = self.read_state_upgrading()?;
        let transaction = self.database.begin_read()?;
        let table = transaction.open_table(DATA)?;
        let mut found = State { count: 0, sum: 0, ..state };
        let mut deadlines = Deadlines::default();
        let mut entries: Vec<(Key, Arc<Entry>)> = Vec::new();
        let mut bytes = 0;
        for item in table.iter()? {
            let (key, record) = item?;
            let (key, record) = (key.value(), record.value());
            let Some((entry, deadline)) = record::decode(key, record) else {
                return Err(Failure::Damage(format!("the record of {key} fails its checksum")));
            };
            if entry.mod_revision > state.revision {
                return Err(Failure::Damage(format!("the record of {key} is newer than the store")));
            }
            found.add(record::claimed_checksum(record));
            bytes += (key.len() + record.len()) as u64;
            deadlines.set(&entry.key, deadline);
            entries.push((entry.key.clone(), entry));
        }
        if found != state {
            let what = format!(
                "it should hold {} records with checksum {:x}, and holds {} with {:x}",
                state.count, state.sum, found.count, found.sum
            );
            return Err(Failure::Damage(what));
        }
        self.state = state;
        self.live_bytes = Some(bytes);
        let snapshot = Snapshot { revision: state.revision, map: entries.into_iter().collect() };
        Ok(Entries { snapshot, deadlines })
    }
}
