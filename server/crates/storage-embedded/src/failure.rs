//! What goes wrong between redb, the disk and us, in the two words that matter: can it pass, or is
//! the file damaged.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use apiwright_storage::Error;

use crate::open_error::OpenError;
use crate::upgrade::FORMAT;

/// What an operator can do about a full disk. Deleting objects is no help: it is written, too.
const WHAT_TO_DO: &str = "make room on the disk of the data directory, and writing goes on by itself";

/// Why something about the file failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The system refused.
    Io(io::Error),
    /// The file is not what was written.
    Damage(String),
    /// The file has a format that this version does not know.
    Format(u32),
    /// Anything else.
    Other(String),
}

/// Runs `work`, and takes a panic for damage: redb asserts what a sound file guarantees.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(Failure::Damage(format!("redb gave up: {}", message(&*panic)))))
}

impl Failure {
    /// Whether reading the file again is no cure.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Self::Damage(_) | Self::Format(_))
    }

    /// As what a running engine answers.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Io(error) if is_full(&error) => Error::Full(format!("{error}; {WHAT_TO_DO}")),
            Self::Io(error) => Error::Unavailable(error.to_string()),
            Self::Damage(what) => Error::Corrupt(what),
            Self::Format(found) => Error::Corrupt(format!("the file has format {found}")),
            Self::Other(what) => Error::Unavailable(what),
        }
    }

    /// As why an engine does not start.
    pub(crate) fn into_open_error(self, path: &Path) -> OpenError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => OpenError::Io { path, source },
            Self::Damage(what) => OpenError::Corrupt { path, what },
            Self::Format(found) => OpenError::Newer { path, found, known: FORMAT },
            Self::Other(what) => OpenError::Io { path, source: io::Error::other(what) },
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // redb says so of files that are not its own or too short.
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Self::Damage(error.to_string()),
            _ => Self::Io(error),
        }
    }
}

impl From<redb::Error> for Failure {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error) => error.into(),
            error @ (redb::Error::PreviousIo
            | redb::Error::DatabaseAlreadyOpen
            | redb::Error::DatabaseClosed) => Self::Other(error.to_string()),
            error => Self::Damage(error.to_string()),
        }
    }
}

macro_rules! from_redb {
    ($($kind:ident)*) => {
        $(impl From<redb::$kind> for Failure {
            fn from(error: redb::$kind) -> Self {
                redb::Error::from(error).into()
            }
        })*
    };
}

from_redb! { CommitError DatabaseError StorageError TableError TransactionError }

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
}
