//! Subresources that talk to what an object stands for: `exec`, `log`, `proxy`. Nothing stands
//! behind the objects of this server, and it says so.

use apiwright_chain::Response;
use apiwright_meta::Status;
use apiwright_meta::status::{Reason, Result};
use apiwright_registry::SubresourceKind;

use crate::server::Target;

/// Refuses, with what is missing.
pub(crate) fn connect(target: Target<'_>) -> Result<Response> {
    let missing = match target.subresource.map(|one| &one.does) {
        Some(SubresourceKind::Unavailable(missing)) => &**missing,
        _ => "there is nothing to connect to",
    };
    Err(Status::failure(503, Reason::ServiceUnavailable, missing))
}
