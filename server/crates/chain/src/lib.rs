//! The delegation chain: what a request carries, and how servers hand it on.
//!
//! Position: above `admission`, below everything that speaks HTTP. Each link owns some groups
//! and paths and hands the rest to its delegate; the last one answers 404.
//! Invariant: a handler takes [`Authorized<Request>`], which only an authorizer's yes can make.

pub mod body;
pub mod delegate;
pub mod document;
pub mod health;
pub mod info;
pub mod negotiate;
pub mod pages;
pub mod peer;
pub mod permit;
pub mod piece;
pub mod query;
pub mod request;
pub mod respond;
pub mod server;
pub mod spec;
pub mod trail;
pub mod upload;
pub mod user;
pub mod version;

pub use body::{Body, Pieces, Response};
pub use delegate::Delegate;
pub use health::{Health, Probe};
pub use info::RequestInfo;
pub use negotiate::{Form, Media};
pub use pages::Pages;
pub use peer::Peer;
pub use permit::{Authorized, Authorizer, Decision, Failure, Refused};
pub use piece::{Piece, Rope};
pub use query::Query;
pub use request::Request;
pub use server::{Drain, Drainer, Link, Server, drain};
pub use trail::Trail;
pub use upload::Upload;
pub use user::User;
