//! The default engine: an in-memory multi-version map, made durable by redb.
//!
//! All entries live in memory once, in an ordered map whose snapshots are free; disk is only for
//! durability and is read only at start: a log that every write goes to, and a table that follows it. One thread writes; reads of the newest revision take no
//! lock. Invariant: whatever a reader or a watch sees is durable.
//!
//! After a restart, reads and watches go back as far as the log does; what is older answers
//! [`Error::Compacted`].

pub mod backup;
mod batch;
mod checkpoint;
pub mod disk;
mod durable;
mod expiry;
mod failure;
mod lock;
mod log;
mod open_error;
mod options;
mod record;
mod shared;
mod table;
mod upgrade;
mod writer;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use apiwright_storage::{
    At, Change, Entry, Error, Expect, Key, Only, Outcome, Page, Range, Result, Revision, Select, Storage,
    VALUE_BYTES_MAX, Watch,
};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::oneshot;

pub use expiry::{Clock, Millis};
pub use lock::Lock;
pub use open_error::OpenError;
pub use options::Options;

use backup::{Backup, ReadError, Summary};
use batch::Write;
use disk::{Directory, Disk};
use durable::{Durable, Loaded};
use shared::Shared;
use table::Entries;
use writer::{Request, Writer};

/// The engine.
#[derive(Debug)]
pub struct Embedded {
    shared: Arc<Shared>,
    requests: Mutex<Option<Sender<Request>>>,
    writer: Option<JoinHandle<()>>,
    /// Given back after the writer has ended.
    lock: Mutex<Option<Arc<Lock>>>,
}

impl Embedded {
    /// An engine that forgets everything when it is dropped.
    ///
    /// # Panics
    /// When the system gives no thread.
    pub fn memory(options: Options) -> Self {
        Self::start(None, Loaded::empty(), None, options).expect("the system gives a thread")
    }

    /// The engine of a data directory, which is created where it is missing. Reads all of it, so
    /// it belongs on a thread that may block.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        let dir = dir.as_ref();
        create_dir(dir)?;
        let lock = Lock::take(dir)?;
        Self::open_locked(dir, Arc::new(lock), options)
    }

    /// As [`Self::open`], for whoever has locked the directory, or one above it, already.
    pub fn open_locked(dir: impl AsRef<Path>, lock: Arc<Lock>, options: Options) -> Result<Self, OpenError> {
        let dir = dir.as_ref();
        create_dir(dir)?;
        let (durable, loaded) = Durable::open(Arc::new(Directory(dir.to_owned())), dir, &options)?;
        Self::start(Some(durable), loaded, Some(lock), options)
            .map_err(|source| OpenError::Io { path: dir.to_owned(), source })
    }

    /// The engine of any disk. Nothing keeps a second engine from using the same one.
    pub fn open_disk(disk: Arc<dyn Disk>, options: Options) -> Result<Self, OpenError> {
        let (durable, loaded) = Durable::open(disk, Path::new(""), &options)?;
        Self::start(Some(durable), loaded, None, options)
            .map_err(|source| OpenError::Io { path: "".into(), source })
    }

    fn start(
        durable: Option<Durable>,
        loaded: Loaded,
        lock: Option<Arc<Lock>>,
        options: Options,
    ) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let shared = Arc::new(Shared::new(loaded.snapshot, loaded.events, &options.limits()));
        let writer = Writer::new(shared.clone(), receiver, loaded.deadlines, durable, options);
        let thread = std::thread::Builder::new().name("storage-writer".into()).spawn(|| writer.run())?;
        Ok(Self { shared, requests: Mutex::new(Some(sender)), writer: Some(thread), lock: Mutex::new(lock) })
    }

    /// Everything at this moment: all writes that were acknowledged, none that was not.
    pub async fn backup(&self) -> Result<Backup> {
        let (reply, answer) = oneshot::channel();
        self.send(Request::Backup(reply))?;
        answer.await.map_err(|_| closed())
    }

    /// Everything in the store of a directory that no engine uses and that is locked.
    pub fn backup_at_rest(dir: impl AsRef<Path>, _lock: &Lock) -> Result<Backup, OpenError> {
        let dir = dir.as_ref();
        let disk = Arc::new(Directory(dir.to_owned()));
        if !Durable::exists(&*disk, dir)? {
            return Err(OpenError::Missing { dir: dir.to_owned() });
        }
        let (_, _, loaded, _) = durable::load(disk, dir, &Options::default())?;
        Ok(Backup::new(loaded.snapshot, loaded.deadlines.into_by_key()))
    }

    /// Makes a store of a backup in a locked directory that has none. The store goes on
    /// `bump_revision` after the backup's revision, so that no revision is given out twice that
    /// the original store gave out after the backup; its past is forgotten. A crash, or a
    /// backup that turns out to be damaged, leaves no store.
    pub fn restore(
        dir: impl AsRef<Path>,
        _lock: &Lock,
        file: impl Read,
        bump_revision: Revision,
    ) -> Result<Summary, RestoreError> {
        let dir = dir.as_ref();
        create_dir(dir)?;
        let disk = Arc::new(Directory(dir.to_owned()));
        if Durable::exists(&*disk, dir)? {
            return Err(RestoreError::Exists { dir: dir.to_owned() });
        }
        let mut entries = Entries::none();
        let summary = backup::read(file, |entry, deadline| {
            entries.deadlines.set(&entry.key, deadline);
            entries.snapshot.map.insert(entry.key.clone(), entry);
        })?;
        let revision = summary.revision.checked_add(bump_revision).ok_or(RestoreError::TooFar)?;
        entries.snapshot.revision = revision;
        Durable::create(disk, dir, &entries)?;
        Ok(summary)
    }

    fn send(&self, request: Request) -> Result<()> {
        let requests = self.requests.lock();
        match requests.as_ref().map(|requests| requests.send(request)) {
            Some(Ok(())) => Ok(()),
            _ => Err(closed()),
        }
    }
}

impl Storage for Embedded {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        Box::pin(async { self.shared.memory.read(At::Latest, |snapshot| snapshot.revision) })
    }

    fn get<'a>(&'a self, key: &'a str, at: At) -> BoxFuture<'a, Result<(Revision, Option<Arc<Entry>>)>> {
        Box::pin(async move {
            self.shared.memory.read(at, |snapshot| (snapshot.revision, snapshot.map.get(key).cloned()))
        })
    }

    fn range<'a>(&'a self, range: Range<'a>) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move {
            let Range { prefix, after, limit, at } = range;
            self.shared.memory.read(at, |snapshot| snapshot.page(prefix, after, limit))
        })
    }

    fn select<'a>(&'a self, range: Range<'a>, wanted: &'a dyn Select) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move { self.shared.memory.select(range, wanted) })
    }

    fn commit(&self, key: Key, expect: Expect, change: Change) -> BoxFuture<'_, Result<Outcome>> {
        Box::pin(async move {
            self.shared.memory.check()?;
            if matches!(&change, Change::Put { value, .. } if value.len() > VALUE_BYTES_MAX) {
                return Err(Error::TooLarge);
            }
            let (reply, answer) = oneshot::channel();
            self.send(Request::Write(Write { key, expect, change, reply }))?;
            answer
                .await
                .unwrap_or_else(|_| Err(Error::Unknown("the storage stopped during the write".into())))
        })
    }

    fn watch<'a>(&'a self, prefix: &'a str, after: Revision) -> BoxFuture<'a, Result<Watch>> {
        Box::pin(async move { self.shared.memory.watch(prefix, after, None) })
    }

    fn watch_only<'a>(
        &'a self,
        prefix: &'a str,
        after: Revision,
        only: Option<&'a Only>,
    ) -> BoxFuture<'a, Result<Watch>> {
        Box::pin(async move { self.shared.memory.watch(prefix, after, only) })
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.shared.memory.compact(revision) })
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.shared.memory.check()?;
            self.shared.failure.lock().clone().map_or(Ok(()), Err)
        })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            self.send(Request::Close(reply))?;
            *self.requests.lock() = None;
            let result = answer.await.unwrap_or_else(|_| Err(closed()));
            *self.lock.lock() = None;
            result
        })
    }
}

impl Drop for Embedded {
    /// Waits for the writer, so that the directory is free afterwards.
    fn drop(&mut self) {
        *self.requests.lock() = None;
        if let Some(writer) = self.writer.take() {
            // A panic there was reported already, and everyone who waited was told.
            let _ = writer.join();
        }
    }
}

/// Why a backup was not restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// There is a store, which is not to be lost.
    #[error("{} has a store already; restore into a new directory, or move this one away", dir.display())]
    Exists {
        /// Where it is.
        dir: PathBuf,
    },
    /// The backup cannot be used.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The directory cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There are no such revisions.
    #[error("revisions end before that")]
    TooFar,
}

/// Makes a directory that only its owner may read, durably.
fn create_dir(dir: &Path) -> Result<(), OpenError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|source| OpenError::Io { path: dir.to_owned(), source })?;
    // A parent that we may not read is somebody else's, and was there before.
    let _ = disk::sync_parent(dir);
    Ok(())
}

fn closed() -> Error {
    Error::Unavailable("the storage is closed".into())
}
