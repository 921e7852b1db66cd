//! What writes do with an object's `metadata`, beyond reading and setting members
//! (`apiwright_meta::object` does that).

use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::field::quoted;
use apiwright_meta::object;
use apiwright_meta::status::Result;

/// What is never stored: one is the engine's to say, the other is gone from the API.
pub(crate) const NOT_STORED: [&str; 2] = ["resourceVersion", "selfLink"];

/// Gives an object the metadata that a status write may not change, for kinds whose status
/// endpoint changes the status only (upstream: `ResetObjectMetaForStatus`).
pub(crate) fn reset_for_status(object: &mut Value, old: &Value) {
    for member in
        ["deletionTimestamp", "generation", "labels", "annotations", "finalizers", "ownerReferences"]
    {
        copy(object, old, member);
    }
}

/// Sets a member to what another object has, or removes it where that has none.
pub fn copy(object: &mut Value, from: &Value, member: &str) {
    match object::metadata(from).get(member) {
        // Zero is a value of this one.
        Some(Value::Int(seconds)) if member == "deletionGracePeriodSeconds" => {
            let time = object::deletion_timestamp(object).map(str::to_owned);
            object::set_deletion(object, time.as_deref(), Some(*seconds));
        }
        Some(value) => object::set(object, member, value.clone()),
        None => object::set(object, member, Value::Null),
    }
}

/// `metadata.resourceVersion` as a number, 0 where there is none.
///
/// # Errors
/// 500 in the words of Go's parser, as upstream answers.
pub(crate) fn resource_version(object: &Value) -> Result<u64> {
    match object::resource_version(object) {
        "" => Ok(0),
        text => parse_uint(text).map_err(Status::unclassified),
    }
}

/// Sees to it that an object is in the namespace that the request names; empty for cluster-scoped ones.
///
/// # Errors
/// 400 where it says another.
pub(crate) fn match_namespace(object: &mut Value, namespace: &str) -> Result<()> {
    let own = object::namespace(object);
    if own == namespace {
        return Ok(());
    }
    if own.is_empty() || namespace.is_empty() {
        object::set_namespace(object, namespace);
        return Ok(());
    }
    Err(Status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

/// An unsigned number, or what Go's `strconv.ParseUint` says about the text.
fn parse_uint(text: &str) -> std::result::Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let why = if digits { "value out of range" } else { "invalid syntax" };
    let number = if digits { text.parse().ok() } else { None };
    number.ok_or_else(|| format!("strconv.ParseUint: parsing {}: {why}", quoted(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (text, want) in [
            ("17", Ok(17)),
            ("abc", Err("strconv.ParseUint: parsing \"abc\": invalid syntax".to_owned())),
            ("+1", Err("strconv.ParseUint: parsing \"+1\": invalid syntax".to_owned())),
            (
                "99999999999999999999",
                Err("strconv.ParseUint: parsing \"99999999999999999999\": value out of range".to_owned()),
            ),
        ] {
            assert_eq!(parse_uint(text), want);
        }
    }
}
