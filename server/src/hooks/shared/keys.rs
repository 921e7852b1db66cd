//! Maps of data by key, in `ConfigMaps` and Secrets.

use apiwright_json::{Object, Value};
use apiwright_meta::{ErrorList, Path, names};

/// How many bytes all values may have.
pub const BYTES_MAX: usize = 1024 * 1024;
const IMMUTABLE: &str = "field is immutable when `immutable` is set";

/// The faults of keys; gives how many bytes the values have.
pub fn key_faults(object: &Value, member: &str, errors: &mut ErrorList) -> usize {
    let path = Path::new(member);
    let data = object.get(member).and_then(Value::as_object);
    let mut bytes = 0;
    for (key, value) in data.into_iter().flat_map(Object::iter) {
        errors.invalid_each(&path.key(key), key, names::config_map_key(key));
        bytes += value.as_str().map_or(0, str::len);
    }
    bytes
}

/// How many bytes a base64 text of this length stands for, at most.
pub fn decoded(length: usize) -> usize {
    length / 4 * 3
}

/// An object that is immutable keeps its data, and stays so.
pub fn immutable_faults(object: &Value, old: &Value, members: &[&str], errors: &mut ErrorList) {
    let is_immutable = |object: &Value| object.get("immutable").and_then(Value::as_bool) == Some(true);
    if !is_immutable(old) {
        return;
    }
    if !is_immutable(object) {
        errors.forbidden(Path::new("immutable"), IMMUTABLE);
    }
    for member in members {
        if object.get(member) != old.get(member) {
            errors.forbidden(Path::new(member), IMMUTABLE);
        }
    }
}

/// Bytes that are null are none.
pub fn fill_null_bytes(object: &mut Value, member: &str) {
    let bytes = object.at_mut(&[member]).and_then(Value::as_object_mut);
    for (_, value) in bytes.into_iter().flat_map(Object::iter_mut) {
        if value.is_null() {
            *value = "".into();
        }
    }
}
