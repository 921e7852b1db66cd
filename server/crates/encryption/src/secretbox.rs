//! `secretbox`: NaCl's, a random nonce of 24 bytes, then the tag and the ciphertext.

use crypto_secretbox::aead::{Aead, KeyInit};
use crypto_secretbox::{Nonce, XSalsa20Poly1305};

use crate::random;
use crate::transform::{Cipher, Fault};

const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

/// XSalsa20 with Poly1305.
pub(crate) struct Secretbox(XSalsa20Poly1305);

impl Secretbox {
    /// `None` for a key that has not 32 bytes.
    pub(crate) fn new(key: &[u8]) -> Option<Self> {
        XSalsa20Poly1305::new_from_slice(key).ok().map(Self)
    }
}

impl Cipher for Secretbox {
    fn encrypt(&self, value: &[u8], _: &str) -> Result<Vec<u8>, Fault> {
        let nonce = random::bytes::<NONCE_BYTES>()?;
        let sealed = self
            .0
            .encrypt(Nonce::from_slice(&nonce), value)
            .map_err(|_| Fault::lasting("the value is too long for a secret box"))?;
        let mut out = Vec::with_capacity(NONCE_BYTES + sealed.len());
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&sealed);
        Ok(out)
    }

    fn decrypt(&self, sealed: &[u8], _: &str) -> Result<Vec<u8>, Fault> {
        let Some((nonce, rest)) =
            sealed.split_first_chunk::<NONCE_BYTES>().filter(|(_, rest)| rest.len() >= TAG_BYTES)
        else {
            return Err(Fault::lasting("the stored data was shorter than the required size"));
        };
        self.0
            .decrypt(Nonce::from_slice(nonce), rest)
            .map_err(|_| Fault::lasting("output array was not large enough for encryption"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of NaCl's own paper: key, nonce and box.
    const KEY: &str = "1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389";
    const NONCE: &str = "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37";
    const BEGINNING: &str = "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce";
    const VALUE: &str = "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffc\
                         e5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb31\
                         0e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde\
                         048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f93776384864\
                         5e0705";

    fn unhex(text: &str) -> Vec<u8> {
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn boxes_are_nacls() {
        let cipher = Secretbox::new(&unhex(KEY)).unwrap();
        let nonce = unhex(NONCE);
        let sealed = cipher.0.encrypt(Nonce::from_slice(&nonce), &*unhex(VALUE)).unwrap();
        assert_eq!(sealed[..32], unhex(BEGINNING));
        let stored = [nonce, sealed].concat();
        assert_eq!(cipher.decrypt(&stored, "").unwrap(), unhex(VALUE));
        let mut damaged = stored.clone();
        damaged[50] ^= 1;
        for (sealed, why) in [
            (damaged, "output array was not large enough for encryption"),
            (stored[..39].to_vec(), "the stored data was shorter than the required size"),
        ] {
            assert_eq!(cipher.decrypt(&sealed, "").unwrap_err().text, why);
        }
        assert_eq!(cipher.decrypt(&cipher.encrypt(b"x", "").unwrap(), "").unwrap(), b"x");
    }
}
