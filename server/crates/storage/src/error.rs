//! What can go wrong in an engine.

use crate::Revision;

/// Why a storage operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The past at that revision is forgotten.
    #[error("revision {requested} has been compacted; the oldest is {oldest}")]
    Compacted {
        /// What was asked for.
        requested: Revision,
        /// What can still be read.
        oldest: Revision,
    },
    /// That revision has not happened yet.
    #[error("revision {requested} is in the future; the newest is {newest}")]
    Future {
        /// What was asked for.
        requested: Revision,
        /// What there is.
        newest: Revision,
    },
    /// The engine cannot serve now; trying again may help.
    #[error("storage is unavailable: {0}")]
    Unavailable(String),
    /// The disk is full: reads go on, writes do not.
    #[error("storage is full: {0}")]
    Full(String),
    /// The value is longer than any engine takes: [`VALUE_BYTES_MAX`](crate::VALUE_BYTES_MAX), or what etcd was told.
    #[error("the value is too large")]
    TooLarge,
    /// What is on disk is not what was written.
    #[error("storage is corrupt: {0}")]
    Corrupt(String),
    /// A layer in between could not make of an object what was asked for, in the words that clients see.
    #[error("{0}")]
    Refused(String),
    /// A layer in between failed, and trying again is no use.
    #[error("{0}")]
    Internal(String),
    /// It is not known whether the write happened.
    #[error("the outcome of the write is unknown: {0}")]
    Unknown(String),
}
