//! One handler per verb: HTTP in, HTTP out, around the registry.
//!
//! Position: above `registry` and `admission`, below the links of the chain, which each hold a
//! [`GroupServer`] or [`ResourceServer`]s. A request reads top to bottom in the handler of its verb:
//! negotiation, body, options, decoding, ownership, admission, storage, encoding.
//! Invariant: the object that is read or written is the one that was authorized: names come from
//! the request's [`apiwright_chain::RequestInfo`], never from the path again.
//! Absence: no strategy and no validation of objects, which are the registry's.

mod act;
mod admit;
pub mod body;
mod call;
mod change;
mod connect;
mod create;
mod decode;
mod delete;
mod delete_collection;
mod encode;
mod forms;
mod get;
mod identity;
mod list;
mod negotiate;
mod old;
mod options;
mod owners;
mod ownership;
mod patch;
mod route;
mod scale;
mod server;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod update;
mod watch;

pub use act::{Act, Acting, Answer};
pub use call::Call;
pub use encode::is_json_path;
pub use forms::Convert;
pub use server::{GroupLink, GroupServer, ResourceServer, Shared};
