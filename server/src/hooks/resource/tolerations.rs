//! Taints of devices, and what tolerates them.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{Path, names};

use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

/// The faults of tolerations.
pub(super) fn faults(holder: &Value, path: &Path, out: &mut Faults<'_>) {
    for (at, one) in cells::items(holder, &["tolerations"]).iter().enumerate() {
        let path = path.child("tolerations").index(at);
        out.declared(&path.child("key"));
        let (value, at) = (one.text_at(&["value"]), path.child("value"));
        match one.text_at(&["operator"]) {
            "Exists" if !value.is_empty() => {
                out.invalid(at, quoted(value), "must be empty for operator `Exists`");
            }
            "Exists" => {}
            "Equal" => out.invalid_each(&at, value, names::label_value(value)),
            "" => out.required(path.child("operator"), ""),
            _ => out.declared(&path.child("operator")),
        }
        out.declared(&path.child("effect"));
    }
}

/// The faults of a taint.
pub(super) fn taint(taint: &Value, path: &Path, out: &mut Faults<'_>) {
    let (key, value) = (taint.text_at(&["key"]), taint.text_at(&["value"]));
    out.invalid_each(&path.child("key"), key, names::label_key(key));
    out.invalid_each(&path.child("value"), value, names::label_value(value));
    out.declared(&path.child("effect"));
}
