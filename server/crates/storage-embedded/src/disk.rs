//! The files of a store, behind a trait, so that tests can put a failing disk there.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use redb::StorageBackend;
use redb::backends::FileBackend;

/// A directory of files.
pub trait Disk: Debug + Send + Sync + 'static {
    /// Opens a file, creating it where it is missing. The file's name is durable afterwards.
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>>;

    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Whether there is such a file.
    fn exists(&self, name: &str) -> io::Result<bool>;

    /// Gives a file another name, durably, in place of the file that has it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file, where there is one.
    fn remove(&self, name: &str) -> io::Result<()>;
}

/// A directory of the file system.
#[derive(Debug)]
pub(crate) struct Directory(pub(crate) PathBuf);

impl Disk for Directory {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        let file = open_private(&self.0.join(name))?;
        sync_directory(&self.0)?;
        let backend = FileBackend::new(file).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Box::new(backend))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(&self.0)?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        self.0.join(name).try_exists()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.0.join(from), self.0.join(to))?;
        sync_directory(&self.0)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match std::fs::remove_file(self.0.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// A file that others keep an eye on.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) inner: Box<dyn StorageBackend>,
    pub(crate) seen: Arc<Seen>,
}

/// What there is to see of a file.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Whether the system failed to make it durable: what it holds is then unknown, whatever reading it
    /// says.
    pub(crate) sync_failed: AtomicBool,
    /// How long it is.
    pub(crate) bytes: AtomicU64,
}

impl StorageBackend for Watched {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len).inspect(|()| self.seen.bytes.store(len, Ordering::SeqCst))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data().inspect_err(|_| self.seen.sync_failed.store(true, Ordering::SeqCst))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }
}

/// Opens a file that only its owner may read: a store holds secrets.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a directory's own name durable.
pub(crate) fn sync_parent(dir: &Path) -> io::Result<()> {
    match dir.canonicalize()?.parent() {
        Some(parent) => sync_directory(parent),
        None => Ok(()),
    }
}

/// Makes the names in a directory durable.
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes the names in a directory durable; other systems do so by themselves.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
