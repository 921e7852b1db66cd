//! The default engine: an in-memory multi-version map, made durable by redb.
//!
//! All entries live in memory once, in an ordered map whose snapshots are free; disk is only for
//! durability and is read only at start. One thread writes; reads of the newest revision take no
//! lock. Invariant: whatever a reader or a watch sees is durable.
//!
//! The past is kept in memory only: after a restart, reads and watches begin at the newest
//! revision, and what is older answers [`Error::Compacted`].

mod batch;
pub mod disk;
mod durable;
mod expiry;
mod failure;
mod lock;
mod open_error;
mod options;
mod record;
mod shared;
mod upgrade;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use apiwright_storage::{
    At, Change, Entry, Error, Expect, Key, Outcome, Page, Range, Result, Revision, Storage, Watch,
};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::oneshot;

pub use open_error::OpenError;
pub use options::Options;

use batch::Write;
use disk::{Directory, Disk};
use durable::{Durable, Loaded};
use lock::Lock;
use shared::Shared;
use writer::{Request, Writer};

/// The engine.
#[derive(Debug)]
pub struct Embedded {
    shared: Arc<Shared>,
    requests: Mutex<Option<Sender<Request>>>,
    writer: Option<JoinHandle<()>>,
    /// Given back after the writer has ended.
    lock: Mutex<Option<Lock>>,
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
        let failed = |source| OpenError::Io { path: dir.to_owned(), source };
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir).map_err(failed)?;
        // A parent that we may not read is somebody else's, and was there before.
        let _ = disk::sync_parent(dir);
        let lock = Lock::take(dir)?;
        let (durable, loaded) = Durable::open(Arc::new(Directory(dir.to_owned())), dir)?;
        Self::start(Some(durable), loaded, Some(lock), options).map_err(failed)
    }

    /// The engine of any disk. Nothing keeps a second engine from using the same one.
    pub fn open_disk(disk: Arc<dyn Disk>, options: Options) -> Result<Self, OpenError> {
        let (durable, loaded) = Durable::open(disk, Path::new(""))?;
        Self::start(Some(durable), loaded, None, options)
            .map_err(|source| OpenError::Io { path: "".into(), source })
    }

    fn start(
        durable: Option<Durable>,
        loaded: Loaded,
        lock: Option<Lock>,
        options: Options,
    ) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let shared = Arc::new(Shared::new(loaded.snapshot, &options.limits()));
        let writer = Writer::new(shared.clone(), receiver, loaded.deadlines, durable, options);
        let thread = std::thread::Builder::new().name("storage-writer".into()).spawn(|| writer.run())?;
        Ok(Self { shared, requests: Mutex::new(Some(sender)), writer: Some(thread), lock: Mutex::new(lock) })
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

    fn commit(&self, key: Key, expect: Expect, change: Change) -> BoxFuture<'_, Result<Outcome>> {
        Box::pin(async move {
            self.shared.memory.check()?;
            let (reply, answer) = oneshot::channel();
            self.send(Request::Write(Write { key, expect, change, reply }))?;
            answer
                .await
                .unwrap_or_else(|_| Err(Error::Unknown("the storage stopped during the write".into())))
        })
    }

    fn watch<'a>(&'a self, prefix: &'a str, after: Revision) -> BoxFuture<'a, Result<Watch>> {
        Box::pin(async move { self.shared.memory.watch(prefix, after) })
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

fn closed() -> Error {
    Error::Unavailable("the storage is closed".into())
}
