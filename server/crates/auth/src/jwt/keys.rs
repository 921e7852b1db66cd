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

#[cfg(test)]
mod tests {
    use super::*;

    const MODULUS: &str = "nNImhpHnD35n1X0xUEHKob6GFlHZLHruJxgLON6jC4FHktFlN406Ox6QkraQEGwBY8a7ovTIDAwd9XMUa6hja4SpszL54xlf9XzEoSmgWrJXDlvjTipQamuG40kOgQ7KHvLYrLIYnng0Re6kCIoB05_UegwyS124Jj-UhnLGLPB0JPArJhh76d0Rb3cccFvyfG2FnOnOEF_xPhPFeSqi16xVe60pfZO2RYV5xqihzmb4wf8u7s-nKWNHhT67FXY_rTB-tyziaLSc63cKq736o4wJpAhCR7TWxedxdD-Y1gibcEMhHd-wW8JhGPFENu4f6w_tTKHR_pDHSZzuNzCHoQ";
    /// Of `text`, by PKCS #1 with SHA-256 and by PSS with SHA-512.
    const PKCS1: &str = "Xlca1y_ozfwbnUCkFkSG49WtMoDVPxwzgdgXrw6CMJxU-RUGpW9FoUJjQv9e42fRXHrI17n5t0EIT8PwGCCTh6EOgesWFUo20mwqMYu5QwNYhsRr06SL89IkG9fVu4CePl_vbft4TBv3mwohfPI5RfIauSONDZOqafP4JjR3eZzy4x4ojmNV2OOGFqTQ1xheIo8tFIwG_xtNU4svx0_a_-vk2-FOMo5BGJy48NxkKGWw1tqDaSPQb26EXNLezxBTzfLXwPBEEBF_Q72gF162g5QlDZRpgqB5I0y_hdlKJc8FXdAf4y1idjRN2UYo9M7uHoqYb_wHcKXSmGHFVb9ORg";
    const PSS: &str = "ZWeSaGl9HZLTXoJin-vPRi_0Yt90L-JO3q5uQpskkXZ35QPylVybdwVyaC26CiIUZdqkZHtT2tqbQYqgpd5IPU5BQfG2LXLZKX81oF8cukFGh7qzX01ZQvVsUTZ3mg87AT-qVeFgv78oy2EfWxSHcya2pEhrui9d18Rhb9nCk-E2gSOIIhtrg-R4HHkXrxeWio8UGquv2wcHOwJKsOo3Tjf9suACWWuXqBZkt9jtOV9peX8RHvqZC7outagIEIbaiFsGEWH38SqImZC9-uYcz7w8n8ce9Cf02X7lDYEivzlX__FlzUEi2oMzTUjMwbf8gyVxw3H4ahlRv1-o6Q3CFg";

    #[test]
    fn signatures_of_rsa() {
        let set = format!(
            r#"{{"keys":[{{"kty":"RSA","kid":"a","n":"{MODULUS}","e":"AQAB"}},{{"kty":"RSA","n":"","e":"AQAB"}},{{"kty":"oct","k":"c2VjcmV0"}},{{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}}]}}"#
        );
        let keys = Key::all(&apiwright_json::decode(set.as_bytes()).unwrap().0);
        let [key] = keys.as_slice() else { panic!("{keys:?}") };
        assert!(key.may_be("a") && key.may_be("") && !key.may_be("b"));
        let bytes = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
        for (algorithm, text, signed, expected) in [
            ("RS256", "text", PKCS1, true),
            ("PS512", "text", PSS, true),
            ("RS256", "texts", PKCS1, false),
            ("RS512", "text", PKCS1, false),
            ("PS256", "text", PSS, false),
            ("ES256", "text", PKCS1, false),
            ("none", "text", "", false),
            ("HS256", "text", PKCS1, false),
        ] {
            assert_eq!(
                key.verifies(algorithm, text.as_bytes(), &bytes(signed)),
                expected,
                "{algorithm} {text}"
            );
        }
    }
}
