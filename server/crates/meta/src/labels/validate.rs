//! Validation of labels and of `LabelSelector` objects (upstream: `apis/meta/v1/validation`).

use apiwright_json::{Object, Value};

use super::strings;
use crate::field::{ErrorList, Path, quoted};
use crate::names;

/// What a selector may do that is wrong by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectorLeniency {
    /// Values that no label can have: kept where an old object already has them.
    pub invalid_values: bool,
    /// Operators of the future: access reviews only narrow with them.
    pub unknown_operators: bool,
}

impl SelectorLeniency {
    /// What an update lets pass: values that no label can have, where the old selector has faults.
    pub fn of_old(selector: Option<&Value>) -> Self {
        let faults = validate_label_selector(selector, Self::default(), &Path::default());
        Self { invalid_values: !faults.is_empty(), ..Self::default() }
    }
}

/// The faults of a `LabelSelector` object; none where there is no object.
pub fn validate_label_selector(
    selector: Option<&Value>,
    leniency: SelectorLeniency,
    path: &Path,
) -> ErrorList {
    let mut errors = ErrorList::new();
    let Some(selector) = selector else { return errors };
    if let Some(labels) = selector.get("matchLabels").and_then(Value::as_object) {
        errors.append(validate_labels(labels, &path.child("matchLabels")));
    }
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    for (at, expression) in expressions.enumerate() {
        errors.append(requirement(expression, leniency, &path.child("matchExpressions").index(at)));
    }
    errors
}

/// The faults of labels: keys and values.
pub fn validate_labels(labels: &Object, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    for (key, value) in labels.iter() {
        let value = value.as_str().unwrap_or_default();
        errors.invalid_each(path, key, names::label_key(key));
        errors.invalid_each(path, value, names::label_value(value));
    }
    errors
}

fn requirement(expression: &Value, leniency: SelectorLeniency, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    let values = strings(expression.get("values"));
    match expression.text_at(&["operator"]) {
        "In" | "NotIn" => {
            if values.is_empty() {
                errors.required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let words = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.forbidden(path.child("values"), words);
            }
        }
        other => {
            if !leniency.unknown_operators {
                errors.invalid(path.child("operator"), quoted(other), "not a valid selector operator");
            }
        }
    }
    let key = expression.text_at(&["key"]);
    errors.invalid_each(&path.child("key"), key, names::label_key(key));
    if !leniency.invalid_values {
        for (at, value) in values.iter().enumerate() {
            errors.invalid_each(&path.child("values").index(at), value, names::label_value(value));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_selectors() {
        let table = [
            (r#"{"matchLabels":{"a":"b"}}"#, "[]"),
            (
                r#"{"matchExpressions":[{"key":"a","operator":"In"},{"key":"a","operator":"Exists","values":["b"]},{"key":"a","operator":"X"}]}"#,
                "[s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn', \
                 s.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or \
                 'DoesNotExist', s.matchExpressions[2].operator: Invalid value: \"X\": not a valid selector operator]",
            ),
        ];
        for (text, expected) in table {
            let selector =
                apiwright_json::decode(text.as_bytes()).map(|decoded| decoded.0).unwrap_or_default();
            let errors =
                validate_label_selector(Some(&selector), SelectorLeniency::default(), &Path::new("s"));
            assert_eq!(errors.aggregate(), expected, "{text}");
        }
    }
}
