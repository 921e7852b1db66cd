//! References from one object to another by kind and name.

use apiwright_json::Value;
use apiwright_meta::{ErrorList, Path, names};

/// The faults of a group, a kind and a name.
pub fn typed(reference: &Value, path: &Path, errors: &mut ErrorList) {
    if let Some(group) = reference.get("apiGroup").and_then(Value::as_str) {
        errors.invalid_each(&path.child("apiGroup"), group, names::dns1123_subdomain(group));
    }
    kind_and_name(reference, path, errors);
}

/// The faults of a kind and a name: both are there, and segments of a path.
pub fn kind_and_name(reference: &Value, path: &Path, errors: &mut ErrorList) {
    for member in ["kind", "name"] {
        segment(reference, member, path, errors);
    }
}

/// The faults of a member that has to be a segment of a path.
pub fn segment(reference: &Value, member: &str, path: &Path, errors: &mut ErrorList) {
    let (text, path) = (reference.text_at(&[member]), path.child(member));
    if text.is_empty() {
        errors.required(path, "");
    } else {
        errors.invalid_each(&path, text, names::path_segment_name(text));
    }
}
