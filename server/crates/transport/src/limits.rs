//! What one connection may ask for.

use std::time::Duration;

/// How long clients may take, and how much they may have at once: kube-apiserver's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For the TLS handshake.
    pub handshake: Duration,
    /// For all of a request's head, from its first byte.
    pub head: Duration,
    /// For the first bytes of HTTP/2.
    pub preface: Duration,
    /// Between requests.
    pub idle: Duration,
    /// How many requests may be under way on a connection of HTTP/2; clients open another one when they need more.
    pub streams_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(32),
            head: Duration::from_secs(32),
            preface: Duration::from_secs(10),
            idle: Duration::from_secs(90),
            streams_max: 250,
        }
    }
}
