//! Listening, accepting, draining.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use apiwright_chain::{Drain, Peer, Response};
use hyper::body::Incoming;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tracing::{debug, warn};

use crate::connection;
use crate::limits::Limits;
use crate::tls::Tls;

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else does.
    #[error("cannot listen on {0}: the address is already in use by another process")]
    InUse(SocketAddr),
    /// This machine does not have it.
    #[error("cannot listen on {0}: this machine does not have that address")]
    NotOurs(SocketAddr),
    /// A low port, and no right to it.
    #[error("cannot listen on {0}: permission denied")]
    Denied(SocketAddr),
    /// Anything else.
    #[error("cannot listen on {address}: {cause}")]
    Other {
        /// Where.
        address: SocketAddr,
        /// Why.
        cause: io::Error,
    },
}

/// A bound port. Connections queue up until [`Listener::serve`] takes them.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    limits: Limits,
}

impl Listener {
    /// Binds an address; port 0 takes any free one.
    ///
    /// # Errors
    /// When it cannot be bound.
    pub async fn bind(address: SocketAddr) -> Result<Self, Error> {
        let fail = |cause: io::Error| match cause.kind() {
            io::ErrorKind::AddrInUse => Error::InUse(address),
            io::ErrorKind::AddrNotAvailable => Error::NotOurs(address),
            io::ErrorKind::PermissionDenied => Error::Denied(address),
            _ => Error::Other { address, cause },
        };
        let listener = TcpListener::bind(address).await.map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        Ok(Self { socket: listener, address, limits: Limits::default() })
    }

    /// With other limits than the usual ones.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Hands every request to `handle` until the drain begins; then accepts no more, tells
    /// clients to go away, and waits for what is in flight, at most `grace`.
    pub async fn serve<H, F>(self, tls: Arc<Tls>, handle: H, mut drain: Drain, grace: Duration)
    where
        H: Fn(http::Request<Incoming>, Arc<Peer>) -> F + Send + Sync + 'static,
        F: Future<Output = Response> + Send + 'static,
    {
        let handle = Arc::new(handle);
        let mut connections = JoinSet::new();
        let mut begun = drain.clone();
        loop {
            tokio::select! {
                accepted = self.socket.accept() => match accepted {
                    Ok((stream, remote)) => {
                        configure(&stream);
                        let (tls, handle) = (Arc::clone(&tls), Arc::clone(&handle));
                        connections.spawn(connection::serve(stream, remote, tls, self.limits, handle, drain.clone()));
                    }
                    Err(error) => {
                        // Out of file descriptors, most likely: connections that end free some.
                        warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                () = begun.begun() => break,
            }
        }
        drop(self.socket);
        drain.begun().await;
        debug!(connections = connections.len(), "draining");
        let drained =
            tokio::time::timeout(grace, async { while connections.join_next().await.is_some() {} }).await;
        if drained.is_err() {
            warn!(connections = connections.len(), "connections outlived the grace period and are cut");
            connections.shutdown().await;
        }
    }
}

/// Small answers go out at once; the kernel notices dead clients that HTTP/1.1 cannot ping.
fn configure(stream: &TcpStream) {
    let keepalive =
        TcpKeepalive::new().with_time(Duration::from_secs(30)).with_interval(Duration::from_secs(15));
    if let Err(error) =
        stream.set_nodelay(true).and_then(|()| SockRef::from(stream).set_tcp_keepalive(&keepalive))
    {
        debug!(%error, "cannot configure a connection");
    }
}
