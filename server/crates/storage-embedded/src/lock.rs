//! One process per data directory.
//!
//! Whoever owns the directory takes the lock, a server for its whole data directory or an engine for
//! its own, and there is no other one below it.
//!
//! The lock is the operating system's, so it goes with its process however that ends; the process
//! id in the file only tells people who holds it.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::disk::open_private;
use crate::open_error::OpenError;

/// The lock file's name.
const NAME: &str = "lock";

/// Holds the directory until dropped.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "closing the file unlocks it")] File);

impl Lock {
    /// Where the lock of a directory is.
    pub fn path(dir: &Path) -> PathBuf {
        dir.join(NAME)
    }

    /// Locks a directory that exists.
    pub fn take(dir: &Path) -> Result<Self, OpenError> {
        let path = Self::path(dir);
        let failed = |source| OpenError::Io { path: path.clone(), source };
        let mut file = open_private(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // A holder that is just starting has written nothing yet.
                let _ = file.read_to_string(&mut holder);
                let pid = holder.trim().parse().ok();
                return Err(OpenError::InUse { dir: dir.to_owned(), pid });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // The lock is held whether or not the note can be written, for instance on a full disk.
        let _ = file
            .set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| writeln!(file, "{}", std::process::id()));
        Ok(Self(file))
    }
}
