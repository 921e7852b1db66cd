//! A value with the sealed seed of its key, as kube-apiserver writes it, and the ciphers that seeds make.

use std::collections::BTreeMap;
use std::fmt::Write;

use prost::Message;
use ring::{digest, hkdf};

use crate::aes_gcm::AesGcm;
use crate::random;
use crate::transform::{Cipher, Fault};

/// How long a seed is, and the random bytes in front of each value.
pub(super) const SEED_BYTES: usize = 32;
const INFO_BYTES: usize = 32;
const KEY_ID_BYTES_MAX: usize = 1024;
const SOURCE_BYTES_MAX: usize = 1024;
const ANNOTATIONS_BYTES_MAX: usize = 32 * 1024;

/// `EncryptedObject` of upstream's package v2.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Envelope {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) encrypted_data: Vec<u8>,
    #[prost(string, tag = "2")]
    pub(super) key_id: String,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) encrypted_dek_source: Vec<u8>,
    #[prost(btree_map = "string, bytes", tag = "4")]
    pub(super) annotations: BTreeMap<String, Vec<u8>>,
    #[prost(enumeration = "SeedKind", tag = "5")]
    pub(super) encrypted_dek_source_type: i32,
}

/// What the sealed seed is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(super) enum SeedKind {
    /// The key itself.
    AesGcmKey = 0,
    /// What keys are derived from.
    HkdfSha256XnonceAesGcmSeed = 1,
}

impl Envelope {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let envelope = Self::decode(bytes).map_err(|why| why.to_string())?;
        if SeedKind::try_from(envelope.encrypted_dek_source_type).is_err() {
            return Err(format!("unknown encryptedDEKSourceType: {}", envelope.encrypted_dek_source_type));
        }
        if envelope.encrypted_data.is_empty() {
            return Err("encrypted data is empty".into());
        }
        envelope.check_all_but_data()?;
        Ok(envelope)
    }

    pub(super) fn written(&self) -> Vec<u8> {
        self.encode_to_vec()
    }

    /// Whether a plugin may have made it.
    pub(super) fn check_all_but_data(&self) -> Result<(), String> {
        let source = self.encrypted_dek_source.len();
        if source == 0 {
            return Err("failed to validate encrypted DEK source: encrypted DEK source is empty".into());
        }
        if source > SOURCE_BYTES_MAX {
            return Err(format!(
                "failed to validate encrypted DEK source: encrypted DEK source is {source} bytes, which exceeds the max size of {SOURCE_BYTES_MAX}"
            ));
        }
        check_key_id(&self.key_id).map_err(|why| format!("failed to validate key id: {why}"))?;
        let total: usize = self.annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
        if total > ANNOTATIONS_BYTES_MAX {
            return Err(format!(
                "failed to validate annotations: total size of annotations is {total}, which exceeds the max size of {ANNOTATIONS_BYTES_MAX}"
            ));
        }
        Ok(())
    }

    /// What tells the seed from all others: all of the envelope but the value.
    pub(super) fn fingerprint(&self) -> Vec<u8> {
        Self { encrypted_data: Vec::new(), ..self.clone() }.encode_to_vec()
    }
}

/// Whether a key may have such a name.
pub(super) fn check_key_id(key_id: &str) -> Result<(), String> {
    match key_id.len() {
        0 => Err("keyID is empty".into()),
        length if length > KEY_ID_BYTES_MAX => {
            Err(format!("keyID is {length} bytes, which exceeds the max size of {KEY_ID_BYTES_MAX}"))
        }
        _ => Ok(()),
    }
}

/// A name that tells nothing.
pub(super) fn hash(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut out = "sha256:".to_owned();
    for byte in digest::digest(&digest::SHA256, text.as_bytes()).as_ref() {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Every value has a key of its own, made of the seed and of random bytes in front of the value.
pub(super) struct Seeded(hkdf::Prk);

/// The length of a derived key.
struct KeyLength;

impl hkdf::KeyType for KeyLength {
    fn len(&self) -> usize {
        SEED_BYTES
    }
}

impl Seeded {
    pub(super) fn new(seed: Vec<u8>) -> Result<Self, String> {
        if seed.len() < SEED_BYTES {
            return Err(format!("invalid seed length {} used for key generation", seed.len()));
        }
        Ok(Self(hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, &seed)))
    }

    fn cipher(&self, info: &[u8]) -> Result<AesGcm, Fault> {
        let mut key = [0; SEED_BYTES];
        let derived = self.0.expand(&[info], KeyLength).and_then(|key_of| key_of.fill(&mut key));
        derived
            .ok()
            .and_then(|()| AesGcm::new(&key))
            .ok_or_else(|| Fault::lasting("failed to KDF expand seed with info"))
    }
}

impl Cipher for Seeded {
    fn encrypt(&self, value: &[u8], place: &str) -> Result<Vec<u8>, Fault> {
        let info = random::bytes::<INFO_BYTES>()?;
        let sealed = self.cipher(&info)?.encrypt(value, place)?;
        Ok([&info[..], &sealed].concat())
    }

    fn decrypt(&self, sealed: &[u8], place: &str) -> Result<Vec<u8>, Fault> {
        let Some((info, rest)) = sealed.split_first_chunk::<INFO_BYTES>() else {
            return Err(Fault::lasting("the stored data was shorter than the required size"));
        };
        self.cipher(info)?.decrypt(rest, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_sealed_is_opened() {
        let cipher = Seeded::new((1..=32).collect()).unwrap();
        assert_eq!(cipher.decrypt(SEALED, "/registry/secrets/ns/a").unwrap(), b"{\"kind\":\"Secret\"}");
        let again = cipher.encrypt(b"x", "/p").unwrap();
        assert_eq!(cipher.decrypt(&again, "/p").unwrap(), b"x");
        assert!(cipher.decrypt(&again, "/q").is_err());
        assert_eq!(Seeded::new(vec![0; 31]).err().unwrap(), "invalid seed length 31 used for key generation");
    }

    #[test]
    fn envelopes_are_checked() {
        let good = Envelope {
            encrypted_data: b"d".to_vec(),
            key_id: "k".into(),
            encrypted_dek_source: b"s".to_vec(),
            annotations: BTreeMap::new(),
            encrypted_dek_source_type: 1,
        };
        assert_eq!(good.written(), b"\x0a\x01d\x12\x01k\x1a\x01s\x28\x01");
        assert_eq!(Envelope::read(&good.written()), Ok(good.clone()));
        for (bad, why) in [
            (Envelope { encrypted_dek_source_type: 2, ..good.clone() }, "unknown encryptedDEKSourceType: 2"),
            (Envelope { encrypted_data: vec![], ..good.clone() }, "encrypted data is empty"),
            (Envelope { key_id: String::new(), ..good.clone() }, "failed to validate key id: keyID is empty"),
            (
                Envelope { encrypted_dek_source: vec![], ..good.clone() },
                "failed to validate encrypted DEK source: encrypted DEK source is empty",
            ),
        ] {
            assert_eq!(Envelope::read(&bad.written()), Err(why.into()));
        }
    }

    #[rustfmt::skip]
    const SEALED: &[u8] = b"\x28\x29\x2a\x2b\x2c\x2d\x2e\x2f\x30\x31\x32\x33\x34\x35\x36\x37\x38\x39\x3a\x3b\x3c\x3d\x3e\x3f\x40\x41\x42\x43\x44\x45\x46\x47\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f\xb3\x2e\xad\x48\x25\x67\x7c\xdc\x46\x64\x80\x03\x50\x8d\xa6\x61\xaf\x95\x56\xc5\x3c\x8d\xbf\x0a\x81\xaa\x37\xf9\x84\x65\x1e\xd7\xd9";
}
