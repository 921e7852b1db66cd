//! The other end of a connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::user::User;

/// What is known of a connection's client, shared by the requests on it.
#[derive(Debug)]
pub struct Peer {
    /// Where it comes from.
    pub remote: SocketAddr,
    /// Whether the connection speaks HTTP/2.
    pub is_http2: bool,
    /// The certificates that it showed and whose key it proved to have, its own first. Nobody has
    /// checked who signed them.
    pub certificates: Vec<Bytes>,
    verified: Mutex<Option<Verified>>,
    close: Notify,
}

/// Who the certificates belong to, found once per connection.
#[derive(Clone, Debug)]
pub struct Verified {
    /// Which set of authorities they were checked with.
    pub generation: u64,
    /// When the earliest of them expires, in seconds since 1970.
    pub not_after: i64,
    /// The user.
    pub user: Arc<User>,
}

impl Peer {
    /// A client without certificates.
    pub fn new(remote: SocketAddr) -> Self {
        Self {
            remote,
            is_http2: false,
            certificates: Vec::new(),
            verified: Mutex::default(),
            close: Notify::new(),
        }
    }

    /// What [`Peer::remember`] was told.
    pub fn verified(&self) -> Option<Verified> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps who the certificates belong to for the connection's next request.
    pub fn remember(&self, verified: Verified) {
        *self.verified.lock().unwrap_or_else(PoisonError::into_inner) = Some(verified);
    }

    /// Asks for the connection to be closed once the requests on it are answered.
    pub fn close_when_idle(&self) {
        self.close.notify_one();
    }

    /// Resolves when somebody asked for that.
    pub async fn should_close(&self) {
        self.close.notified().await;
    }
}
