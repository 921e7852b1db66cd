//! The words around a decoding error, which say of what the body was to be.

use std::fmt::Write;

use apiwright_json::Value;

use super::Error;

/// How much of a body is shown in an error.
const SHOWN: usize = 30;

/// A body that says what it is and is not that:
/// `Pod in version "v1" cannot be handled as a Pod: …`. `kind` and `version` are what the body
/// says, or what the address implies where it says nothing; `wanted` is what the address wants.
pub fn unfit(kind: &str, version: &str, wanted: &str, why: impl std::fmt::Display) -> String {
    format!(
        "{kind} in version {} cannot be handled as a {wanted}: {why}",
        apiwright_meta::field::quoted(version)
    )
}

/// A body that does not even say what it is:
/// `the object provided is unrecognized (must be of type Pod): … (<the body's beginning>)`.
pub fn unrecognized(wanted: &str, why: impl std::fmt::Display, body: &[u8]) -> String {
    format!("the object provided is unrecognized (must be of type {wanted}): {why} ({})", summary(body))
}

/// `strict decoding error: unknown field "a", duplicate field "b"`.
pub fn strict<S: AsRef<str>>(faults: &[S]) -> String {
    let faults: Vec<&str> = faults.iter().map(AsRef::as_ref).collect();
    format!("strict decoding error: {}", faults.join(", "))
}

/// A kind that is none of this server's.
pub fn no_kind(kind: &str, api_version: &str) -> String {
    format!(
        "no kind {} is registered for version {} in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\"",
        apiwright_meta::field::quoted(kind),
        apiwright_meta::field::quoted(api_version)
    )
}

/// A kind of this server's that is not the one that the address wants; for [`unfit`].
pub fn other_kind(kind: &str, version: &str, wanted: &str, wanted_group: &str) -> String {
    // The internal form that upstream converts to is in a package named like the group's first word.
    let package =
        if wanted_group.is_empty() { "core" } else { wanted_group.split('.').next().unwrap_or_default() };
    format!("converting ({version}.{kind}) to ({package}.{wanted}): unknown conversion")
}

/// A body that is no JSON, for [`unrecognized`].
pub fn not_json(why: impl std::fmt::Display) -> String {
    format!("couldn't get version/kind; json parse error: {why}")
}

/// The apiVersion and kind that a body says it has; empty where it says nothing.
///
/// # Errors
/// When the body is no object, or these are no texts; the words are for [`unrecognized`].
pub fn type_meta(body: &Value) -> Result<(&str, &str), Error> {
    const HOLDER: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
                          Kind string \"json:\\\"kind,omitempty\\\"\" }";
    let object = match body {
        Value::Null => return Ok(("", "")),
        Value::Object(object) => object,
        other => {
            let why = format!("json: cannot unmarshal {} into Go value of type {HOLDER}", other.go_kind());
            return Err(Error(not_json(why)));
        }
    };
    let mut texts = ["", ""];
    for (name, value) in object.iter() {
        let slot = match name.as_str() {
            "apiVersion" => 0,
            "kind" => 1,
            _ => continue,
        };
        match value {
            Value::String(text) => texts[slot] = text,
            Value::Null => {}
            other => {
                let found = other.go_kind();
                let why =
                    format!("json: cannot unmarshal {found} into Go struct field .{name} of type string");
                return Err(Error(not_json(why)));
            }
        }
    }
    Ok((texts[0], texts[1]))
}

/// The beginning of a body: as it is where it looks like JSON, in hexadecimal otherwise.
fn summary(body: &[u8]) -> String {
    let shown = &body[..body.len().min(SHOWN)];
    let cut = if body.len() > SHOWN { " ..." } else { "" };
    match body.first() {
        None => "<empty>".into(),
        Some(b'{') => format!("{}{cut}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let mut hex = String::with_capacity(2 * shown.len());
            for byte in shown {
                let _ = write!(hex, "{byte:02x}");
            }
            format!("{hex}{cut}")
        }
    }
}
