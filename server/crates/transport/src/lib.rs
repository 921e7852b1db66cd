//! The outermost layer: TCP, TLS, HTTP/1.1 and HTTP/2, connection draining.
//!
//! Turns connections into requests for one handler. Above: nothing but the binary. Knows nothing
//! of paths, users or objects. Invariant: a slow, dead or hostile client holds no more than its
//! own connection, and a drain ends in bounded time.

pub mod certificates;
mod connection;
pub mod listener;
pub mod tls;

pub use certificates::{Certificates, KeyPair};
pub use listener::{Error, Listener};
pub use tls::Tls;
