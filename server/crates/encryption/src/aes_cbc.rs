//! `aescbc`: a random first block, then the value in blocks, padded as PKCS #7 says.
//!
//! Nothing binds the value to its place, and nothing proves that it is whole: it is here for what is stored already.

use aes::cipher::block_padding::{NoPadding, Pkcs7};
use aes::cipher::{BlockDecryptMut, BlockEncryptMut, KeyIvInit};
use aes::{Aes128, Aes192, Aes256};

use crate::random;
use crate::transform::{Cipher, Fault};

const BLOCK_BYTES: usize = 16;

/// AES in cipher block chaining mode, with a key of any of its sizes.
pub(crate) struct AesCbc(Vec<u8>);

impl AesCbc {
    /// `None` for a key of another size.
    pub(crate) fn new(key: &[u8]) -> Option<Self> {
        matches!(key.len(), 16 | 24 | 32).then(|| Self(key.to_vec()))
    }
}

fn wrong_key<E>(_: E) -> Fault {
    Fault::lasting("crypto/aes: invalid key size")
}

impl Cipher for AesCbc {
    fn encrypt(&self, value: &[u8], _: &str) -> Result<Vec<u8>, Fault> {
        let first = random::bytes::<BLOCK_BYTES>()?;
        macro_rules! with {
            ($aes:ty) => {
                cbc::Encryptor::<$aes>::new_from_slices(&self.0, &first)
                    .map_err(wrong_key)?
                    .encrypt_padded_vec_mut::<Pkcs7>(value)
            };
        }
        let sealed = match self.0.len() {
            16 => with!(Aes128),
            24 => with!(Aes192),
            _ => with!(Aes256),
        };
        let mut out = Vec::with_capacity(BLOCK_BYTES + sealed.len());
        out.extend_from_slice(&first);
        out.extend_from_slice(&sealed);
        Ok(out)
    }

    fn decrypt(&self, sealed: &[u8], _: &str) -> Result<Vec<u8>, Fault> {
        let Some((first, rest)) = sealed.split_first_chunk::<BLOCK_BYTES>() else {
            return Err(Fault::lasting("the stored data was shorter than the required size"));
        };
        let no_blocks = |_| Fault::lasting("the stored data is not a multiple of the block size");
        macro_rules! with {
            ($aes:ty) => {
                cbc::Decryptor::<$aes>::new_from_slices(&self.0, first)
                    .map_err(wrong_key)?
                    .decrypt_padded_vec_mut::<NoPadding>(rest)
                    .map_err(no_blocks)?
            };
        }
        let padded = match self.0.len() {
            16 => with!(Aes128),
            24 => with!(Aes192),
            _ => with!(Aes256),
        };
        unpad(padded)
    }
}

/// The value without its padding, whose every byte says how long it is.
fn unpad(mut padded: Vec<u8>) -> Result<Vec<u8>, Fault> {
    let count = padded.last().copied().unwrap_or_default();
    let Some(length) = padded.len().checked_sub(usize::from(count)).filter(|_| count > 0) else {
        return Err(Fault::lasting("invalid PKCS7 data (empty or not padded)"));
    };
    if padded[length..].iter().any(|byte| *byte != count) {
        return Err(Fault::lasting("invalid padding on input"));
    }
    padded.truncate(length);
    Ok(padded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_openssl_sealed_is_opened() {
        let vectors: [(&[u8], &[u8]); 3] = [VECTOR_128, VECTOR_192, VECTOR_256];
        for (key, sealed) in vectors {
            let cipher = AesCbc::new(key).unwrap();
            assert_eq!(cipher.decrypt(sealed, "").unwrap(), b"{\"kind\":\"Secret\"}");
            for length in [0, 1, 15, 16, 17, 1000] {
                let value = vec![7; length];
                let sealed = cipher.encrypt(&value, "").unwrap();
                assert_eq!(sealed.len(), 16 + (length / 16 + 1) * 16);
                assert_eq!(cipher.decrypt(&sealed, "").unwrap(), value);
            }
        }
    }

    #[test]
    fn what_was_never_sealed_is_refused() {
        let cipher = AesCbc::new(&[1; 16]).unwrap();
        for (sealed, why) in [
            (vec![0; 15], "the stored data was shorter than the required size"),
            (vec![0; 17], "the stored data is not a multiple of the block size"),
            (vec![0; 16], "invalid PKCS7 data (empty or not padded)"),
        ] {
            assert_eq!(cipher.decrypt(&sealed, "").unwrap_err().text, why);
        }
        for (padded, why) in [
            (vec![9, 9, 0], "invalid PKCS7 data (empty or not padded)"),
            (vec![9, 9, 17], "invalid PKCS7 data (empty or not padded)"),
            (vec![9, 1, 2], "invalid padding on input"),
        ] {
            assert_eq!(unpad(padded).unwrap_err().text, why);
        }
    }

    #[rustfmt::skip]
    const VECTOR_128: (&[u8], &[u8]) = (
        b"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10",
        b"\x32\x33\x34\x35\x36\x37\x38\x39\x3a\x3b\x3c\x3d\x3e\x3f\x40\x41\x22\xea\x92\x7b\xf8\xe9\x1a\xc1\xff\x04\x76\x72\x2a\x97\x37\x80\xeb\xb9\x07\x09\xdf\xbc\xc8\x59\x52\xa6\xd7\xfa\x02\x22\x5e\xe2",
    );
    #[rustfmt::skip]
    const VECTOR_192: (&[u8], &[u8]) = (
        b"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18",
        b"\x32\x33\x34\x35\x36\x37\x38\x39\x3a\x3b\x3c\x3d\x3e\x3f\x40\x41\xcc\x88\x6a\x91\x38\x68\x62\x36\x9c\xbb\x89\xf2\xee\x98\x4e\x64\xc9\x2d\x22\x27\xc8\x16\xd4\xf3\x41\x8e\x94\xc4\x10\x89\x19\xe4",
    );
    #[rustfmt::skip]
    const VECTOR_256: (&[u8], &[u8]) = (
        b"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x20",
        b"\x32\x33\x34\x35\x36\x37\x38\x39\x3a\x3b\x3c\x3d\x3e\x3f\x40\x41\x0b\xf5\xab\x03\xaa\x9e\xd8\x6d\x82\xc5\x96\x21\xae\xb6\x29\xe3\xd9\xb9\x9c\x1a\x7c\xf9\x98\x06\x0a\x44\x6d\x44\x9e\xbe\x31\xb4",
    );
}
