//! The entries on disk: one redb file, one commit and one fsync a batch.
//!
//! The file is read once, at start. Afterwards memory has everything, so a file that can no longer
//! be trusted is written anew from memory instead of being repaired.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use apiwright_cache::{FIRST_REVISION, Map, Snapshot};
use apiwright_storage::{Entry, Error, Key, Revision};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::batch::{Batch, Step};
use crate::disk::{Disk, Watched};
use crate::expiry::Deadlines;
use crate::failure::{Failure, guarded};
use crate::open_error::OpenError;
use crate::record::{self, State, StateError};
use crate::upgrade;

const DATA: TableDefinition<&str, &[u8]> = TableDefinition::new("data");
const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
/// The one record of the meta table.
const STATE_KEY: &str = "state";

/// The file, and where its successor is written.
const FILE: &str = "store.redb";
const NEXT_FILE: &str = "store.redb.next";

/// redb's page cache. Entries are never read again after the start, so it need only hold the
/// pages that writes touch.
const CACHE_BYTES: usize = 16 << 20;
/// How many entries one transaction of a rewrite has at most; bounds its memory.
const REWRITE_ENTRIES: usize = 4096;
/// A file is written anew at start when it is so many times the size of its entries, and not small.
const BLOAT_FACTOR: u64 = 4;
const BLOAT_MIN_BYTES: u64 = 64 << 20;

/// The store on disk.
#[derive(Debug)]
pub(crate) struct Durable {
    disk: Arc<dyn Disk>,
    /// `None` after a failure, until [`Self::recover`].
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
    sync_failed: Arc<AtomicBool>,
    /// How long the file was when it was opened.
    opened_bytes: u64,
}

/// What a file had in it.
pub(crate) struct Loaded {
    pub(crate) snapshot: Snapshot,
    pub(crate) deadlines: Deadlines,
}

impl Durable {
    /// Whether there is a store.
    pub(crate) fn exists(disk: &dyn Disk, dir: &Path) -> Result<bool, OpenError> {
        disk.exists(FILE).map_err(|source| OpenError::Io { path: dir.join(FILE), source })
    }

    /// Makes a store where there is none.
    pub(crate) fn create(disk: Arc<dyn Disk>, dir: &Path, loaded: &Loaded) -> Result<Self, OpenError> {
        let mut durable = Self { disk, file: None, distrusted: false, buffer: Vec::new() };
        durable
            .rewrite(&loaded.snapshot, &loaded.deadlines)
            .map_err(|failure| failure.into_open_error(&dir.join(FILE)))?;
        Ok(durable)
    }

    /// Opens the store and reads all of it.
    pub(crate) fn open(disk: Arc<dyn Disk>, dir: &Path) -> Result<(Self, Loaded), OpenError> {
        let path = dir.join(FILE);
        let failed = |source| OpenError::Io { path: path.clone(), source };
        // A rewrite that did not get to its end.
        disk.remove(NEXT_FILE).map_err(failed)?;
        if !Self::exists(&*disk, dir)? {
            let loaded = Loaded::empty();
            return Ok((Self::create(disk, dir, &loaded)?, loaded));
        }
        let mut durable = Self { disk, file: None, distrusted: false, buffer: Vec::new() };
        let (file, loaded, live_bytes) = guarded(|| {
            let mut file = durable.open_file(FILE)?;
            let (loaded, live_bytes) = file.load()?;
            Ok((file, loaded, live_bytes))
        })
        .map_err(|failure| failure.into_open_error(&path))?;
        let bloated = file.opened_bytes > BLOAT_MIN_BYTES && file.opened_bytes / BLOAT_FACTOR > live_bytes;
        durable.file = Some(file);
        if bloated {
            durable
                .rewrite(&loaded.snapshot, &loaded.deadlines)
                .map_err(|failure| failure.into_open_error(&path))?;
        }
        Ok((durable, loaded))
    }

    /// Makes a batch durable. After an error, it is unknown whether that happened, and
    /// [`Self::recover`] is to find out.
    pub(crate) fn commit(&mut self, batch: &Batch) -> Result<(), Error> {
        let Some(mut file) = self.file.take() else {
            return Err(Error::Unavailable("the store is not open".into()));
        };
        let buffer = &mut self.buffer;
        match guarded(|| file.commit(&batch.steps, batch.head.revision, buffer)) {
            Ok(()) => {
                self.file = Some(file);
                Ok(())
            }
            Err(failure) => {
                // What redb stumbles over in the file is damage, and reading it again no cure.
                self.distrusted |= file.sync_failed.load(Ordering::SeqCst) || failure.is_damage();
                // What redb has to say about its end adds nothing.
                let _ = guarded(|| {
                    drop(file);
                    Ok(())
                });
                Err(failure.into_error())
            }
        }
    }

    /// Whether the last commit failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.file.is_none()
    }

    /// Has [`Self::recover`] replace the file.
    pub(crate) fn distrust(&mut self) {
        self.file = None;
        self.distrusted = true;
    }

    /// Opens the file again after a failure; gives the revision that it turned out to have. Where
    /// the file is not to be believed, it is replaced by one with `newest` in it.
    pub(crate) fn recover(&mut self, newest: &Snapshot, deadlines: &Deadlines) -> Result<Revision, Error> {
        if self.distrusted {
            self.rewrite(newest, deadlines).map_err(Failure::into_error)?;
            self.distrusted = false;
            return Ok(newest.revision);
        }
        let file = guarded(|| {
            let mut file = self.open_file(FILE)?;
            file.state = file.read_state()?;
            Ok(file)
        });
        match file {
            Ok(file) => {
                let revision = file.state.revision;
                self.file = Some(file);
                Ok(revision)
            }
            Err(failure) => {
                self.distrusted |= failure.is_damage();
                Err(failure.into_error())
            }
        }
    }

    /// Closes the file.
    pub(crate) fn close(mut self) -> Result<(), Error> {
        match self.file.take() {
            Some(file) => guarded(|| Ok(file.database.close()?)).map_err(Failure::into_error),
            None => Ok(()),
        }
    }

    fn open_file(&self, name: &str) -> Result<File, Failure> {
        let sync_failed = Arc::new(AtomicBool::new(false));
        let inner = self.disk.open(name)?;
        let opened_bytes = inner.len()?;
        let backend = Watched { inner, sync_failed: sync_failed.clone() };
        let database = Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(backend)?;
        let state = State { revision: FIRST_REVISION, ..State::default() };
        Ok(File { database, state, sync_failed, opened_bytes })
    }

    /// Replaces the file by one that has exactly these entries. It gets the name only when it is
    /// complete: a crash leaves either the old file or the new one, never a part.
    fn rewrite(&mut self, snapshot: &Snapshot, deadlines: &Deadlines) -> Result<(), Failure> {
        self.file = None;
        self.disk.remove(NEXT_FILE)?;
        let mut file = guarded(|| self.open_file(NEXT_FILE))?;
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
                file.commit(&steps, snapshot.revision, buffer)?;
                if steps.len() < REWRITE_ENTRIES {
                    return Ok(());
                }
            }
        })?;
        self.disk.rename(NEXT_FILE, FILE)?;
        self.file = Some(file);
        Ok(())
    }
}

impl Loaded {
    /// What a new store has in it.
    pub(crate) fn empty() -> Self {
        let snapshot = Snapshot { revision: FIRST_REVISION, map: Map::new() };
        Self { snapshot, deadlines: Deadlines::default() }
    }
}

impl File {
    fn commit(&mut self, steps: &[Step], revision: Revision, buffer: &mut Vec<u8>) -> Result<(), Failure> {
        let mut state = State { revision, ..self.state };
        let transaction = self.database.begin_write()?;
        {
            let mut data = transaction.open_table(DATA)?;
            for step in steps {
                let key = &*step.entry.key;
                let old = if step.deleted {
                    data.remove(key)?
                } else {
                    state.add(record::encode(&step.entry, step.deadline, buffer));
                    data.insert(key, &**buffer)?
                };
                if let Some(old) = old {
                    state.subtract(record::claimed_checksum(old.value()));
                }
            }
            transaction.open_table(META)?.insert(STATE_KEY, &state.encode()[..])?;
        }
        transaction.commit()?;
        self.state = state;
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

    /// Reads everything; gives the bytes of the records too.
    fn load(&mut self) -> Result<(Loaded, u64), Failure> {
        let state = self.read_state_upgrading()?;
        let transaction = self.database.begin_read()?;
        let table = transaction.open_table(DATA)?;
        let mut found = State { revision: state.revision, ..State::default() };
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
        let snapshot = Snapshot { revision: state.revision, map: entries.into_iter().collect() };
        Ok((Loaded { snapshot, deadlines }, bytes))
    }
}
