//! Keys in PEM files: RSA and the two elliptic curves that tokens are signed with.

use std::path::Path;
use std::sync::Arc;

use apiwright_json::{Object, Value};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest;
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, KeyPair as _, RsaKeyPair, UnparsedPublicKey};
use rustls::pki_types::pem::{PemObject, SectionKind};
use x509_parser::prelude::{FromDer, SubjectPublicKeyInfo, X509Certificate};

/// How a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Rs256,
    Es256,
    Es384,
}

impl Algorithm {
    const ALL: [Self; 3] = [Self::Rs256, Self::Es256, Self::Es384];

    fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
        }
    }

    /// The DER of what a key's algorithm is called, in a `SubjectPublicKeyInfo` or PKCS #8.
    fn identifier(self) -> &'static [u8] {
        match self {
            Self::Rs256 => b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00",
            Self::Es256 => {
                b"\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"
            }
            Self::Es384 => b"\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22",
        }
    }
}

/// A key that verifies.
#[derive(Clone, Debug)]
pub struct PublicKey {
    id: String,
    algorithm: Algorithm,
    /// A point of the curve, or an `RSAPublicKey`.
    key: Vec<u8>,
}

impl PublicKey {
    /// The keys of a PEM file: public ones, those of certificates, those that belong to private ones.
    ///
    /// # Errors
    /// When it cannot be read or holds none; the text names the file.
    pub fn load_all(path: &Path) -> Result<Vec<Self>, String> {
        let name = path.display();
        let pem = std::fs::read(path).map_err(|error| format!("cannot read the key file {name}: {error}"))?;
        let mut keys = Vec::new();
        for (kind, der) in sections(&pem) {
            let key = match kind {
                SectionKind::PublicKey => Self::from_spki(&der),
                SectionKind::Certificate => {
                    let certificate = X509Certificate::from_der(&der).ok();
                    certificate.and_then(|(_, certificate)| Self::from_spki(certificate.public_key().raw))
                }
                _ => SigningKey::from_section(kind, &der).map(|key| key.public),
            };
            keys.push(key.ok_or_else(|| {
                format!("the key file {name} holds a key that is neither RSA, P-256 nor P-384")
            })?);
        }
        if keys.is_empty() {
            return Err(format!("the key file {name} holds no PEM key"));
        }
        Ok(keys)
    }

    fn new(algorithm: Algorithm, key: Vec<u8>) -> Self {
        let id = BASE64_URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, &spki(algorithm, &key)));
        Self { id, algorithm, key }
    }

    fn from_spki(der: &[u8]) -> Option<Self> {
        let (_, info) = SubjectPublicKeyInfo::from_der(der).ok()?;
        let algorithm = Algorithm::ALL.into_iter().find(|algorithm| {
            der.windows(algorithm.identifier().len()).take(8).any(|window| window == algorithm.identifier())
        })?;
        Some(Self::new(algorithm, info.subject_public_key.data.to_vec()))
    }

    /// The hash by which tokens name the key.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// As tokens name it.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm.name()
    }

    /// Whether this key's private half signed the text.
    pub fn verifies(&self, text: &[u8], signed: &[u8]) -> bool {
        let algorithm: &dyn signature::VerificationAlgorithm = match self.algorithm {
            Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            Algorithm::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
            Algorithm::Es384 => &signature::ECDSA_P384_SHA384_FIXED,
        };
        UnparsedPublicKey::new(algorithm, &self.key).verify(text, signed).is_ok()
    }

    /// As a JSON Web Key.
    pub fn to_jwk(&self) -> Value {
        let encoded = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let mut jwk = Object::new();
        jwk.push("use", "sig");
        let curve = match self.algorithm {
            Algorithm::Rs256 => None,
            Algorithm::Es256 => Some("P-256"),
            Algorithm::Es384 => Some("P-384"),
        };
        jwk.push("kty", if curve.is_some() { "EC" } else { "RSA" });
        jwk.push("kid", self.id.as_str());
        if let Some(curve) = curve {
            jwk.push("crv", curve);
        }
        jwk.push("alg", self.algorithm());
        if curve.is_some() {
            // An uncompressed point: a byte that says so, then both coordinates.
            let coordinates = self.key.get(1..).unwrap_or_default();
            let (x, y) = coordinates.split_at(coordinates.len() / 2);
            jwk.push("x", encoded(x));
            jwk.push("y", encoded(y));
        } else if let Some((modulus, exponent)) = rsa_numbers(&self.key) {
            jwk.push("n", encoded(modulus));
            jwk.push("e", encoded(exponent));
        }
        jwk.into()
    }
}

/// A key that signs.
#[derive(Clone)]
pub struct SigningKey {
    public: PublicKey,
    pair: Arc<Pair>,
}

enum Pair {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
}

impl SigningKey {
    /// The first private key of a PEM file.
    ///
    /// # Errors
    /// When it cannot be read or holds none; the text names the file.
    pub fn load(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let pem = std::fs::read(path).map_err(|error| format!("cannot read the key file {name}: {error}"))?;
        let found = sections(&pem).find_map(|(kind, der)| Self::from_section(kind, &der));
        found.ok_or_else(|| format!("the key file {name} holds no PEM private key of RSA, P-256 or P-384"))
    }

    fn from_section(kind: SectionKind, der: &[u8]) -> Option<Self> {
        match kind {
            SectionKind::RsaPrivateKey => RsaKeyPair::from_der(der).ok().map(Self::rsa),
            SectionKind::EcPrivateKey => Self::ecdsa(&[Algorithm::Es256, Algorithm::Es384], |algorithm| {
                let body = [b"\x02\x01\x00".as_slice(), algorithm.identifier(), &tagged(0x04, der)].concat();
                tagged(0x30, &body)
            }),
            SectionKind::PrivateKey => RsaKeyPair::from_pkcs8(der)
                .ok()
                .map(Self::rsa)
                .or_else(|| Self::ecdsa(&[Algorithm::Es256, Algorithm::Es384], |_| der.to_vec())),
            _ => None,
        }
    }

    fn rsa(pair: RsaKeyPair) -> Self {
        let public = PublicKey::new(Algorithm::Rs256, pair.public_key().as_ref().to_vec());
        Self { public, pair: Arc::new(Pair::Rsa(pair)) }
    }

    fn ecdsa(algorithms: &[Algorithm], pkcs8: impl Fn(Algorithm) -> Vec<u8>) -> Option<Self> {
        algorithms.iter().find_map(|&algorithm| {
            let signing = match algorithm {
                Algorithm::Rs256 => return None,
                Algorithm::Es256 => &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
                Algorithm::Es384 => &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
            };
            let pair = EcdsaKeyPair::from_pkcs8(signing, &pkcs8(algorithm), &SystemRandom::new()).ok()?;
            let public = PublicKey::new(algorithm, pair.public_key().as_ref().to_vec());
            Some(Self { public, pair: Arc::new(Pair::Ecdsa(pair)) })
        })
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The signature of a text.
    ///
    /// # Panics
    /// When the system has no random numbers.
    pub fn sign(&self, text: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self.pair.as_ref() {
            Pair::Rsa(pair) => {
                let mut signed = vec![0; pair.public().modulus_len()];
                pair.sign(&signature::RSA_PKCS1_SHA256, &random, text, &mut signed)
                    .expect("the buffer is as long as the modulus");
                signed
            }
            Pair::Ecdsa(pair) => {
                pair.sign(&random, text).expect("the system has random numbers").as_ref().to_vec()
            }
        }
    }
}

fn sections(pem: &[u8]) -> impl Iterator<Item = (SectionKind, Vec<u8>)> {
    <(SectionKind, Vec<u8>)>::pem_slice_iter(pem).filter_map(Result::ok)
}

/// A `SubjectPublicKeyInfo`.
fn spki(algorithm: Algorithm, key: &[u8]) -> Vec<u8> {
    let bits = tagged(0x03, &[b"\x00".as_slice(), key].concat());
    tagged(0x30, &[algorithm.identifier(), &bits].concat())
}

/// DER of a tag, a length and a content.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    match content.len() {
        length @ 0..0x80 => out.push(length as u8),
        length @ 0x80..0x100 => out.extend([0x81, length as u8]),
        length => out.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    out.extend_from_slice(content);
    out
}

/// Modulus and exponent of an `RSAPublicKey`, without leading zeroes.
fn rsa_numbers(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (content, _) = element(0x30, der)?;
    let (modulus, rest) = element(0x02, content)?;
    let (exponent, _) = element(0x02, rest)?;
    let trim = |number: &'_ [u8]| number.iter().position(|&byte| byte != 0).unwrap_or_default();
    Some((&modulus[trim(modulus)..], &exponent[trim(exponent)..]))
}

/// The content of an element of this tag, and what follows it.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[its_tag, first], rest) = der.split_first_chunk::<2>()?;
    if its_tag != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 => (usize::from(*rest.first()?), &rest[1..]),
        0x82 => (usize::from(*rest.first()?) << 8 | usize::from(*rest.get(1)?), &rest[2..]),
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_forms() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384] {
            let pair = rcgen::KeyPair::generate_for(algorithm).unwrap();
            let signing = SigningKey::load(&file("key", &pair.serialize_pem())).unwrap();
            let public = &PublicKey::load_all(&file("pub", &pair.public_key_pem())).unwrap()[0];
            let certificate = rcgen::CertificateParams::default().self_signed(&pair).unwrap();
            let certified = &PublicKey::load_all(&file("crt", &certificate.pem())).unwrap()[0];
            let own = &PublicKey::load_all(&file("key", &pair.serialize_pem())).unwrap()[0];
            let signed = signing.sign(b"text");
            for key in [public, certified, own, signing.public()] {
                assert_eq!(key.id(), signing.public().id());
                assert!(key.verifies(b"text", &signed) && !key.verifies(b"other", &signed));
            }
            let jwk = public.to_jwk();
            assert_eq!((jwk.text_at(&["kty"]), jwk.text_at(&["alg"])), ("EC", public.algorithm()));
        }
        assert!(PublicKey::load_all(&file("bad", "x")).is_err());
        assert!(SigningKey::load(&dir.path().join("none")).is_err());
    }

    #[test]
    fn numbers_of_rsa_keys() {
        let der = [b"\x30\x0b\x02\x04\x00\xab\xcd\xef\x02\x03\x01\x00\x01".as_slice()].concat();
        assert_eq!(rsa_numbers(&der), Some((b"\xab\xcd\xef".as_slice(), b"\x01\x00\x01".as_slice())));
        assert_eq!(rsa_numbers(b"\x30\x82"), None);
        assert_eq!(tagged(4, &[0; 200])[..3], [4, 0x81, 200]);
    }
}
