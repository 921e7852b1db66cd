//! What plugins ask the authorizer: whether the writer may do something besides the write itself.

use futures::future::BoxFuture;

use crate::attributes::User;

/// Something that a user may or may not do.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// For instance `sign`.
    pub verb: &'a str,
    /// Empty for the core group.
    pub group: &'a str,
    /// The version, `*` where it does not matter.
    pub version: &'a str,
    /// The plural.
    pub resource: &'a str,
    /// Empty for all.
    pub namespace: &'a str,
    /// Empty for all.
    pub name: &'a str,
}

/// Knows what users may do.
pub trait Permits: Send + Sync + 'static {
    /// Whether a user may.
    fn may<'a>(&'a self, user: User<'a>, what: Ask<'a>) -> BoxFuture<'a, bool>;
}
