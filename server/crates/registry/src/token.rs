//! Continue tokens: where a list goes on, in the form that upstream gives them.

use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The revision to read at; negative for the newest.
    pub(crate) revision: i64,
    /// The first key to read, below the list's prefix and relative to it.
    pub(crate) start: String,
}

const VERSION: &str = "meta.k8s.io/v1";
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

impl Token {
    /// The text that clients carry.
    pub(crate) fn encode(&self) -> String {
        let mut json = format!("{{\"v\":\"{VERSION}\",\"rv\":{},\"start\":", self.revision).into_bytes();
        apiwright_json::to_bytes(&Value::from(self.start.as_str()), &mut json);
        json.push(b'}');
        ENGINE.encode(json)
    }

    /// Reads what a client brought.
    ///
    /// # Errors
    /// 400, with upstream's words.
    pub(crate) fn decode(text: &str) -> Result<Self> {
        let refuse = |why: String| {
            Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let json = ENGINE.decode(text).map_err(|error| refuse(illegal_base64(text, &error)))?;
        let (value, _) = apiwright_json::decode(&json).map_err(|error| refuse(error.message))?;
        let fields = fields(&value).map_err(refuse)?;
        if fields.version != VERSION {
            return Err(refuse(format!("server does not recognize this encoded version {}", fields.version)));
        }
        if fields.revision == 0 {
            return Err(refuse(format!("incorrect encoded start resourceVersion (version {VERSION})")));
        }
        if fields.start.is_empty() {
            return Err(refuse(format!("encoded start key empty (version {VERSION})")));
        }
        if !is_clean(&fields.start) {
            return Err(refuse(fields.start));
        }
        let start = fields.start.strip_prefix('/').unwrap_or(&fields.start).to_owned();
        Ok(Self { revision: fields.revision, start })
    }
}

#[derive(Default)]
struct Fields {
    version: String,
    revision: i64,
    start: String,
}

/// The members, with the words of Go's decoder for those of another type.
fn fields(value: &Value) -> std::result::Result<Fields, String> {
    let mut fields = Fields::default();
    let object = match value {
        Value::Object(object) => object,
        Value::Null => return Ok(fields),
        other => {
            return Err(format!(
                "json: cannot unmarshal {} into Go value of type storage.continueToken",
                other.go_kind()
            ));
        }
    };
    let mismatch = |value: &Value, field: &str, go_type: &str| {
        Err(format!(
            "json: cannot unmarshal {} into Go struct field continueToken.{field} of type {go_type}",
            value.go_kind()
        ))
    };
    for (key, value) in object.iter() {
        match (key.to_ascii_lowercase().as_str(), value) {
            (_, Value::Null) => {}
            ("v", Value::String(text)) => fields.version = text.to_string(),
            ("rv", Value::Int(number)) => fields.revision = *number,
            ("start", Value::String(text)) => fields.start = text.to_string(),
            ("rv", other) => return mismatch(other, "rv", "int64"),
            (name @ ("v" | "start"), other) => return mismatch(other, name, "string"),
            _ => {}
        }
    }
    Ok(fields)
}

/// Whether a key stays below its prefix: cleaning it as a path changes nothing.
fn is_clean(start: &str) -> bool {
    let rooted = start.strip_prefix('/').unwrap_or(start);
    rooted.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

/// Go's words for text that is no base64, with the offset that Go gives.
fn illegal_base64(text: &str, error: &base64::DecodeError) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => *at,
        base64::DecodeError::InvalidLength(length) => length - length % 4,
        base64::DecodeError::InvalidPadding => text.find('=').unwrap_or(text.len()),
    };
    format!("illegal base64 data at input byte {at}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_clients() {
        for (text, want) in [
            ("not*base64", "illegal base64 data at input byte 3"),
            ("aGVsbG8", "invalid character 'h' looking for beginning of value"),
            ("eyJ2IjoidjkiLCJydiI6NSwic3RhcnQiOiJhIn0", "server does not recognize this encoded version v9"),
            (
                "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIifQ",
                "encoded start key empty (version meta.k8s.io/v1)",
            ),
            (
                "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ),
            ("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIuLi9wb2RzL2EifQ", "../pods/a"),
        ] {
            let status = Token::decode(text).unwrap_err();
            assert_eq!(status.code, 400);
            assert_eq!(status.message, format!("invalid continue token: continue key is not valid: {want}"));
        }
    }

    proptest::proptest! {
        #[test]
        fn every_token_comes_back(revision in proptest::prelude::any::<i64>(), start in "[a-z0-9.-]{1,8}(/[a-z][a-z0-9.-]{0,8})?\u{0}?") {
            proptest::prop_assume!(revision != 0 && is_clean(&start));
            let token = Token { revision, start };
            proptest::prop_assert_eq!(Token::decode(&token.encode()).unwrap(), token);
        }

        #[test]
        fn no_text_panics(text in ".{0,80}") {
            let _ = Token::decode(&text);
        }
    }
}
