//! Keys that an issuer publishes: a JSON Web Key Set.

use apiwright_json::Value;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// The algorithms that signatures are verified by. P-521 is nobody's here.
pub const ALGORITHMS: [&str; 8] = ["ES256", "ES384", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"];

/// A key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    id: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point of P-256.
    P256(Vec<u8>),
    /// An uncompressed point of P-384.
    P384(Vec<u8>),
}

impl Key {
    /// The keys of a set that can be used; others are none of our business.
    pub(super) fn all(set: &Value) -> Vec<Self> {
        let keys = set.get("keys").and_then(Value::as_array).into_iter().flatten();
        keys.filter_map(Self::read).collect()
    }

    fn read(jwk: &Value) -> Option<Self> {
        let number = |member: &str| {
            let text = jwk.text_at(&[member]).trim_end_matches('=');
            BASE64_URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| !bytes.is_empty())
        };
        let point = |bytes: usize| {
            let (x, y) = (number("x")?, number("y")?);
            (x.len() == bytes && y.len() == bytes).then(|| [&[4][..], &x, &y].concat())
        };
        let kind = match (jwk.text_at(&["kty"]), jwk.text_at(&["crv"])) {
            ("RSA", _) => {
                let modulus = number("n")?;
                let first = modulus.iter().position(|&byte| byte != 0)?;
                Kind::Rsa { modulus: modulus[first..].to_vec(), exponent: number("e")? }
            }
            ("EC", "P-256") => Kind::P256(point(32)?),
            ("EC", "P-384") => Kind::P384(point(48)?),
            _ => return None,
        };
        Some(Self { id: jwk.text_at(&["kid"]).into(), kind })
    }

    /// Whether this may be the key of this id; no id is any.
    pub(super) fn may_be(&self, id: &str) -> bool {
        id.is_empty() || self.id == id
    }

    /// Whether the owner of the key signed a text by an algorithm.
    pub(super) fn verifies(&self, algorithm: &str, text: &[u8], signed: &[u8]) -> bool {
        match &self.kind {
            Kind::Rsa { modulus, exponent } => rsa(algorithm).is_some_and(|algorithm| {
                RsaPublicKeyComponents { n: modulus, e: exponent }.verify(algorithm, text, signed).is_ok()
            }),
            Kind::P256(point) if algorithm == "ES256" => {
                curve(&signature::ECDSA_P256_SHA256_FIXED, point, text, signed)
            }
            Kind::P384(point) if algorithm == "ES384" => {
                curve(&signature::ECDSA_P384_SHA384_FIXED, point, text, signed)
            }
            Kind::P256(_) | Kind::P384(_) => false,
        }
    }
}

fn rsa(algorithm: &str) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        "RS256" => &signature::RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &signature::RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &signature::RSA_PKCS1_2048_8192_SHA512,
        "PS256" => &signature::RSA_PSS_2048_8192_SHA256,
        "PS384" => &signature::RSA_PSS_2048_8192_SHA384,
        "PS512" => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

fn curve(algorithm: &'static dyn VerificationAlgorithm, point: &[u8], text: &[u8], signed: &[u8]) -> bool {
    UnparsedPublicKey::new(algorithm, point).verify(text, signed).is_ok()
}
