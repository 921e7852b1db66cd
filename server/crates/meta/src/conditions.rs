//! Validation of `metav1.Condition` lists (upstream: `apis/meta/v1/validation`).

use apiwright_json::Value;

use crate::field::{ErrorList, Path, quoted};
use crate::names;

const REASON_BYTES_MAX: usize = 1024;
const MESSAGE_BYTES_MAX: usize = 32 * 1024;

/// The faults of a list of conditions, whose types are its keys.
pub fn validate_conditions(conditions: Option<&Value>, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    let mut types = Vec::new();
    for (at, condition) in conditions.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let (path, name) = (path.index(at), condition.text_at(&["type"]));
        if types.contains(&name) {
            errors.duplicate(path.child("type"), quoted(name));
        } else {
            types.push(name);
        }
        errors.append(validate_condition(condition, &path));
    }
    errors
}

/// The faults of one condition.
pub fn validate_condition(condition: &Value, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    let text = |member: &str| condition.text_at(&[member]);
    errors.invalid_each(&path.child("type"), text("type"), names::qualified_name(text("type")));
    let status = text("status");
    if !matches!(status, "True" | "False" | "Unknown") {
        errors.not_supported(path.child("status"), quoted(status), &["False", "True", "Unknown"]);
    }
    let generation = condition.get("observedGeneration").and_then(Value::as_i64).unwrap_or_default();
    if generation < 0 {
        let words = "must be greater than or equal to zero";
        errors.invalid(path.child("observedGeneration"), generation, words);
    }
    if text("lastTransitionTime").is_empty() {
        errors.required(path.child("lastTransitionTime"), "");
    }
    match text("reason") {
        "" => errors.required(path.child("reason"), ""),
        reason => {
            errors.invalid_each(&path.child("reason"), reason, names::condition_reason(reason));
            if reason.len() > REASON_BYTES_MAX {
                errors.too_long(path.child("reason"), REASON_BYTES_MAX);
            }
        }
    }
    if text("message").len() > MESSAGE_BYTES_MAX {
        errors.too_long(path.child("message"), MESSAGE_BYTES_MAX);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults() {
        let table = [
            (
                r#"[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"AsIs"}]"#,
                "[]",
            ),
            (
                r#"[{"type":"A","observedGeneration":-1}]"#,
                "[c[0].status: Unsupported value: \"\": supported values: \"False\", \"True\", \"Unknown\", \
                 c[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero, \
                 c[0].lastTransitionTime: Required value, c[0].reason: Required value]",
            ),
            (
                r#"[{"type":"A","status":"Yes","lastTransitionTime":"t","reason":"R"},{"type":"A","status":"True","lastTransitionTime":"t","reason":"R"}]"#,
                "[c[0].status: Unsupported value: \"Yes\": supported values: \"False\", \"True\", \"Unknown\", \
                 c[1].type: Duplicate value: \"A\"]",
            ),
        ];
        for (text, expected) in table {
            let conditions =
                apiwright_json::decode(text.as_bytes()).map(|decoded| decoded.0).unwrap_or_default();
            assert_eq!(
                validate_conditions(Some(&conditions), &Path::new("c")).aggregate(),
                expected,
                "{text}"
            );
        }
    }
}
