//! What seals values and opens them.

use futures::future::BoxFuture;

/// Why a value could not be sealed or opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Fault {
    /// Upstream's words.
    pub(crate) text: String,
    /// Whether trying again may help: somebody outside did not answer.
    pub(crate) is_passing: bool,
}

impl Fault {
    /// One that stays.
    pub(crate) fn lasting(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_passing: false }
    }

    /// One that may go away by itself.
    pub(crate) fn passing(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_passing: true }
    }
}

/// What was in a sealed value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    /// The value.
    pub(crate) value: Vec<u8>,
    /// Whether it would be sealed differently today, and so should be written again.
    pub(crate) is_stale: bool,
}

/// Seals and opens values. `place` is the value's key in etcd, to which a cipher may bind it.
pub(crate) trait Transform: Send + Sync {
    /// Makes a value unreadable.
    fn seal(&self, value: &[u8], place: &str) -> Result<Vec<u8>, Fault>;

    /// Makes it readable again.
    fn open<'a>(&'a self, sealed: &'a [u8], place: &'a str) -> BoxFuture<'a, Result<Opened, Fault>>;
}

/// A cipher that needs nobody else.
pub(crate) trait Cipher: Send + Sync {
    /// Makes a value unreadable.
    fn encrypt(&self, value: &[u8], place: &str) -> Result<Vec<u8>, Fault>;

    /// Makes it readable again.
    fn decrypt(&self, sealed: &[u8], place: &str) -> Result<Vec<u8>, Fault>;
}

impl<C: Cipher> Transform for C {
    fn seal(&self, value: &[u8], place: &str) -> Result<Vec<u8>, Fault> {
        self.encrypt(value, place)
    }

    fn open<'a>(&'a self, sealed: &'a [u8], place: &'a str) -> BoxFuture<'a, Result<Opened, Fault>> {
        let opened = self.decrypt(sealed, place).map(|value| Opened { value, is_stale: false });
        Box::pin(std::future::ready(opened))
    }
}
