//! Storage errors as Statuses: one exhaustive map for each kind of operation.

use apiwright_meta::{GroupResource, Status};
use apiwright_storage::{Error, Revision};

/// What a failed read or write of single objects is answered with.
pub(crate) fn of_storage(error: Error, resource: &GroupResource, operation: &str) -> Box<Status> {
    match error {
        Error::Compacted { .. } => Status::expired(LIST_TOO_OLD),
        Error::Future { requested, newest } => too_large(requested, newest),
        Error::Unavailable(why) => {
            tracing::warn!(why, operation, %resource, "storage is unavailable");
            Status::service_unavailable("the storage is unavailable, please try again").with_retry_after(1)
        }
        Error::Full(why) => {
            tracing::warn!(why, operation, %resource, "storage is full");
            // Unlike a 503 it asks nobody to try again at once; reads are still answered.
            let message = format!("the storage is full, so nothing can be written: {why}");
            Box::new(Status { code: 507, ..*Status::unclassified(message) })
        }
        Error::TooLarge => Status::unclassified("etcdserver: request is too large"),
        Error::Corrupt(why) => {
            tracing::error!(why, operation, %resource, "storage is corrupt");
            Status::internal("storage is corrupt")
        }
        Error::Internal(why) => Status::internal(why),
        Error::Refused(why) => Status::unclassified(why),
        Error::Unknown(why) => {
            tracing::warn!(why, operation, %resource, "the outcome of a write is unknown");
            Status::unclassified("etcdserver: request timed out")
        }
    }
}

/// 504: a revision that has not happened.
pub(crate) fn too_large(requested: Revision, newest: Revision) -> Box<Status> {
    Status::too_large_resource_version(requested, newest, 1)
}

/// A list at a revision that is forgotten.
pub(crate) const LIST_TOO_OLD: &str = "The resourceVersion for the provided list is too old.";

/// A continue token whose revision is forgotten, where a new one could be made.
pub(crate) const TOKEN_TOO_OLD: &str = "The provided continue parameter is too old \
    to display a consistent list result. You can start a new list without \
    the continue parameter, or use the continue token in this response to \
    retrieve the remainder of the results. Continuing with the provided \
    token results in an inconsistent list - objects that were created, \
    modified, or deleted between the time the first chunk was returned \
    and now may show up in the list.";
