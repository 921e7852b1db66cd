//! The conditions in both kinds' status.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path};

use crate::hooks::shared::cells;

/// The faults of conditions: each has a type of its own.
pub(super) fn faults(object: &Value, errors: &mut ErrorList) {
    let mut seen = Vec::new();
    for (at, condition) in cells::items(object, &["status", "conditions"]).iter().enumerate() {
        let (kind, path) =
            (condition.text_at(&["type"]), Path::new("status.conditions").index(at).child("type"));
        if seen.contains(&kind) {
            errors.duplicate(path.clone(), quoted(kind));
        }
        seen.push(kind);
        if kind.is_empty() {
            errors.required(path, "must not be empty");
        }
    }
}
