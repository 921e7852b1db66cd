//! `aesgcm`: a random nonce of 12 bytes, then the ciphertext and its tag, which bind the value to its place.

use aes::Aes192;
use aes_gcm::aead::consts::U12;
use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes128Gcm, Aes256Gcm, Nonce};

use crate::random;
use crate::transform::{Cipher, Fault};

const NONCE_BYTES: usize = 12;

/// AES in Galois/counter mode, with a key of any of its sizes.
pub(crate) enum AesGcm {
    Short(Box<Aes128Gcm>),
    Middle(Box<aes_gcm::AesGcm<Aes192, U12>>),
    Long(Box<Aes256Gcm>),
}

impl AesGcm {
    /// `None` for a key of another size.
    pub(crate) fn new(key: &[u8]) -> Option<Self> {
        Some(match key.len() {
            16 => Self::Short(Box::new(Aes128Gcm::new_from_slice(key).ok()?)),
            24 => Self::Middle(Box::new(KeyInit::new_from_slice(key).ok()?)),
            32 => Self::Long(Box::new(Aes256Gcm::new_from_slice(key).ok()?)),
            _ => return None,
        })
    }

    fn seal_with(
        &self,
        nonce: &[u8; NONCE_BYTES],
        payload: Payload<'_, '_>,
    ) -> aes_gcm::aead::Result<Vec<u8>> {
        let nonce = Nonce::from_slice(nonce);
        match self {
            Self::Short(cipher) => cipher.encrypt(nonce, payload),
            Self::Middle(cipher) => cipher.encrypt(nonce, payload),
            Self::Long(cipher) => cipher.encrypt(nonce, payload),
        }
    }
}

impl Cipher for AesGcm {
    fn encrypt(&self, value: &[u8], place: &str) -> Result<Vec<u8>, Fault> {
        let nonce = random::bytes::<NONCE_BYTES>()?;
        let sealed = self
            .seal_with(&nonce, Payload { msg: value, aad: place.as_bytes() })
            .map_err(|_| Fault::lasting("the value is too long for AES-GCM"))?;
        let mut out = Vec::with_capacity(NONCE_BYTES + sealed.len());
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&sealed);
        Ok(out)
    }

    fn decrypt(&self, sealed: &[u8], place: &str) -> Result<Vec<u8>, Fault> {
        let Some((nonce, rest)) = sealed.split_first_chunk::<NONCE_BYTES>() else {
            return Err(Fault::lasting("the stored data was shorter than the required size"));
        };
        let (nonce, payload) = (Nonce::from_slice(nonce), Payload { msg: rest, aad: place.as_bytes() });
        let opened = match self {
            Self::Short(cipher) => cipher.decrypt(nonce, payload),
            Self::Middle(cipher) => cipher.decrypt(nonce, payload),
            Self::Long(cipher) => cipher.decrypt(nonce, payload),
        };
        opened.map_err(|_| Fault::lasting("cipher: message authentication failed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_openssl_sealed_is_opened() {
        let vectors: [(&[u8], &[u8]); 3] = [VECTOR_128, VECTOR_192, VECTOR_256];
        for (key, sealed) in vectors {
            let cipher = AesGcm::new(key).unwrap();
            assert_eq!(cipher.decrypt(sealed, "/registry/secrets/ns/a").unwrap(), b"{\"kind\":\"Secret\"}");
            let moved = cipher.decrypt(sealed, "/registry/secrets/ns/b").unwrap_err();
            assert_eq!(moved.text, "cipher: message authentication failed");
            let again = cipher.encrypt(b"x", "/p").unwrap();
            assert_eq!((again.len(), cipher.decrypt(&again, "/p").unwrap()), (12 + 1 + 16, b"x".to_vec()));
        }
        let short = AesGcm::new(&[0; 16]).unwrap().decrypt(&[0; 11], "").unwrap_err();
        assert_eq!(short.text, "the stored data was shorter than the required size");
        assert!(AesGcm::new(&[0; 15]).is_none());
    }

    #[rustfmt::skip]
    const VECTOR_128: (&[u8], &[u8]) = (
        b"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10",
        b"\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f\x50\x7a\x97\x91\xe3\x50\x5e\x1a\x8d\x07\x0e\x63\x68\x47\xad\x77\xb5\xbb\xb0\xc1\x6e\x09\xb5\xcd\x3f\x1a\xe8\xdc\xb0\xe8\xfd\xd1\x90",
    );
    #[rustfmt::skip]
    const VECTOR_192: (&[u8], &[u8]) = (
        b"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18",
        b"\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f\xdf\x0a\x15\xcf\xf3\xcb\xd2\x68\x05\xd1\xc1\xdc\xc4\xdc\x6b\xfd\x23\x20\xa0\x28\xbd\xc8\xd1\x1b\x7c\x2d\x6f\x81\x4c\x61\xdc\x07\x55",
    );
    #[rustfmt::skip]
    const VECTOR_256: (&[u8], &[u8]) = (
        b"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x20",
        b"\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f\x1b\x7d\x18\x25\xff\xe6\x9e\x43\xda\x04\xca\xfb\x6a\x49\x8c\x1e\x89\x4f\x06\x6c\xf6\x1e\x85\x71\xcf\x65\xa6\x66\x9b\xac\x7f\xac\x7a",
    );
}
