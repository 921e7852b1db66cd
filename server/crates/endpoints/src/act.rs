//! What POST does besides storing an object: bindings, evictions, tokens, reviews.
//!
//! The handler reads, checks and answers; an [`Act`] does the one thing in between. The servers
//! that have such resources bring them ([`crate::ResourceServer::with_action`]).

use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use futures::future::BoxFuture;

use crate::call::Call;
use crate::server::ResourceServer;

/// An action behind a POST.
pub trait Act: Send + Sync + 'static {
    /// Does it. The object is that of the body, decoded, with defaults and admitted.
    fn act<'a>(&'a self, acting: Acting<'a>) -> BoxFuture<'a, Result<Answer>>;
}

/// What an action gets to know.
pub struct Acting<'a> {
    /// The request.
    pub call: &'a Call,
    /// The resource whose action it is: its store has the object that the action is about.
    pub server: &'a ResourceServer,
    /// Where that object is; empty for cluster-scoped ones.
    pub namespace: &'a str,
    /// Its name; empty for reviews.
    pub name: &'a str,
    /// The body's object.
    pub object: Value,
    /// Whether nothing is to be changed.
    pub dry_run: bool,
    /// Validating admission, to be asked before the change.
    pub check: &'a dyn apiwright_registry::Check,
}

/// What an action answers.
pub enum Answer {
    /// 201 with an object: a review with its status, a token.
    Object(Value),
    /// 201 with a Status of success.
    Done,
    /// 201 with a Status.
    Status(Box<Status>),
}
