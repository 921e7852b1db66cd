//! Bytes that nobody can guess.

use ring::rand::{SecureRandom, SystemRandom};

use crate::transform::Fault;

/// So many of them.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(_) => Err(Fault::passing("unable to read sufficient random bytes")),
    }
}
