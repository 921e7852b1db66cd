//! A link of the chain.

use futures::future::BoxFuture;

use crate::body::Response;
use crate::permit::Authorized;
use crate::request::Request;

/// Answers what it owns and hands on the rest.
pub trait Delegate: Send + Sync + 'static {
    /// The answer. Never fails: failures are answers, too.
    fn serve(&self, request: Authorized<Request>) -> BoxFuture<'_, Response>;
}
