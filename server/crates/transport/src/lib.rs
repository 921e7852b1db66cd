//! The outermost layer: TCP, TLS, HTTP/1.1 and HTTP/2, connection draining.
//!
//! Turns connections into requests for one handler. Above: nothing but the binary. Knows nothing
//! of paths, users or objects. Invariant: a slow, dead or hostile client holds no more than its
//! own connection, and a drain ends in bounded time.

mod activity;
mod batch;
pub mod certificates;
mod connection;
pub mod limits;
pub mod listener;
mod plain;
pub mod rules;
pub mod tls;

pub use certificates::{Certificates, KeyPair};
pub use limits::Limits;
pub use listener::{Error, Listener};
pub use rules::Rules;
pub use tls::Tls;
