//! Why a data directory cannot be used, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Why an engine did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Somebody else has it.
    #[error("another apiwright ({}) uses the data directory {}; stop it or choose another directory",
        pid.map_or_else(|| "unknown pid".to_owned(), |pid| format!("pid {pid}")), dir.display())]
    InUse {
        /// The directory.
        dir: PathBuf,
        /// The process that holds it, where that is known.
        pid: Option<u32>,
    },
    /// There is no store.
    #[error("there is no store in {}", dir.display())]
    Missing {
        /// Where one was expected.
        dir: PathBuf,
    },
    /// The system refused.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is there is not what was written.
    #[error("{} is corrupt: {what}; move the directory away, and restore a snapshot \
        into a new one (apiwright snapshot restore)", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A later version wrote it.
    #[error("{} has format {found}, and this apiwright knows formats up to {known}; \
        use the version that wrote it, or a later one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest known one.
        known: u32,
    },
}
