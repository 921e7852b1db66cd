//! The parts of a token. Nothing that is read here may be believed: who signed it, nobody has asked.

use apiwright_json::{Value, decode};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// A token in its parts.
pub(super) struct Token<'a> {
    parts: [&'a str; 3],
}

/// What a token is signed by, and with which key.
pub(super) struct Signature {
    pub(super) algorithm: String,
    /// Empty where it does not say.
    pub(super) key_id: String,
    pub(super) bytes: Vec<u8>,
}

impl<'a> Token<'a> {
    /// The parts; `None` where it has another form.
    pub(super) fn parse(token: &'a str) -> Option<Self> {
        let mut parts = token.split('.');
        let token = Self { parts: [parts.next()?, parts.next()?, parts.next()?] };
        parts.next().is_none().then_some(token)
    }

    /// The claims; `None` where they are no object.
    pub(super) fn claims(&self) -> Option<Value> {
        object(self.parts[1])
    }

    /// What was signed.
    pub(super) fn signed(&self) -> String {
        let [header, claims, _] = self.parts;
        format!("{header}.{claims}")
    }

    /// The signature.
    ///
    /// # Errors
    /// Where there is none that could be verified.
    pub(super) fn signature(&self) -> Result<Signature, String> {
        let header = object(self.parts[0]).ok_or("oidc: malformed jwt: its header is no JSON object")?;
        // Whoever writes it means that others must not go on without knowing what is in it.
        if header.get("crit").is_some() {
            return Err("oidc: malformed jwt: unsupported crit header".into());
        }
        let bytes = BASE64_URL_SAFE_NO_PAD
            .decode(self.parts[2])
            .map_err(|_| "oidc: malformed jwt: its signature is not base64")?;
        Ok(Signature {
            algorithm: header.text_at(&["alg"]).to_owned(),
            key_id: header.text_at(&["kid"]).to_owned(),
            bytes,
        })
    }
}

fn object(part: &str) -> Option<Value> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).ok()?;
    decode(&bytes).ok().map(|(value, _)| value).filter(|value| value.as_object().is_some())
}
