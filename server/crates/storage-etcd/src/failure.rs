//! What an etcd error means for us.

use std::io;

use apiwright_storage::Error;

// The gRPC codes that etcd's answers are told apart by.
const INVALID_ARGUMENT: i32 = 3;
const NOT_FOUND: i32 = 5;
const PERMISSION_DENIED: i32 = 7;
const RESOURCE_EXHAUSTED: i32 = 8;
const FAILED_PRECONDITION: i32 = 9;
const OUT_OF_RANGE: i32 = 11;
const UNAUTHENTICATED: i32 = 16;

/// What an operator can do about a full database.
const WHAT_TO_DO: &str = "compact and defragment etcd or raise its quota, then disarm its alarm";

/// The kinds of failure that are handled differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The revision is compacted.
    Compacted,
    /// The revision is in the future.
    Future,
    /// The quota is used up.
    Full,
    /// The value is longer than etcd takes.
    TooLarge,
    /// The lease has ended.
    NoLease,
    /// The request was refused: it certainly did nothing.
    Refused,
    /// Nobody knows whether the request did anything.
    Unclear,
}

/// Which kind of failure an error is.
pub(crate) fn kind(error: &etcd_client::Error) -> Kind {
    let etcd_client::Error::GRpcStatus(status) = error else {
        return match error {
            etcd_client::Error::InvalidArgs(_) | etcd_client::Error::InvalidUri(_) => Kind::Refused,
            _ if is_unsent(error) => Kind::Refused,
            _ => Kind::Unclear,
        };
    };
    let message = status.message();
    match status.code() as i32 {
        OUT_OF_RANGE if message.contains("compacted") => Kind::Compacted,
        OUT_OF_RANGE if message.contains("future") => Kind::Future,
        RESOURCE_EXHAUSTED if message.contains("database space exceeded") => Kind::Full,
        INVALID_ARGUMENT if message.contains("request is too large") => Kind::TooLarge,
        RESOURCE_EXHAUSTED if message.contains("message larger than max") => Kind::TooLarge,
        NOT_FOUND if message.contains("lease not found") => Kind::NoLease,
        INVALID_ARGUMENT | PERMISSION_DENIED | RESOURCE_EXHAUSTED | FAILED_PRECONDITION | OUT_OF_RANGE
        | UNAUTHENTICATED => Kind::Refused,
        _ if message.contains("no leader") || is_unsent(error) => Kind::Refused,
        _ => Kind::Unclear,
    }
}

/// The error of a read, or of anything that did not write.
pub(crate) fn of_read(error: &etcd_client::Error) -> Error {
    match kind(error) {
        Kind::Full => Error::Full(format!("{}; {WHAT_TO_DO}", text(error))),
        Kind::TooLarge => Error::TooLarge,
        _ => Error::Unavailable(text(error)),
    }
}

/// The error of a write.
pub(crate) fn of_write(error: &etcd_client::Error) -> Error {
    match kind(error) {
        Kind::Unclear => Error::Unknown(text(error)),
        _ => of_read(error),
    }
}

/// What etcd said, without what the client library puts around it.
pub(crate) fn text(error: &etcd_client::Error) -> String {
    match error {
        etcd_client::Error::GRpcStatus(status) if !status.message().is_empty() => status.message().to_owned(),
        error => error.to_string(),
    }
}

/// Whether there was no connection to send a request through.
pub(crate) fn is_unsent(error: &etcd_client::Error) -> bool {
    // The client library's own error does not name its source.
    let mut source: Option<&(dyn std::error::Error + 'static)> = match error {
        etcd_client::Error::GRpcStatus(status) => Some(status),
        etcd_client::Error::TransportError(error) => Some(error),
        etcd_client::Error::IoError(error) => Some(error),
        _ => None,
    };
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return matches!(
                error.kind(),
                io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::HostUnreachable
                    | io::ErrorKind::NetworkUnreachable
            );
        }
        source = error.source();
    }
    false
}
