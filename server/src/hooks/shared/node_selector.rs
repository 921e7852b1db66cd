//! Selectors of nodes by labels and by name.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names};

use super::cells;

/// The faults of a `NodeSelector`.
pub fn faults(selector: &Value, path: &Path, errors: &mut ErrorList) {
    let path = path.child("nodeSelectorTerms");
    let terms = cells::items(selector, &["nodeSelectorTerms"]);
    if terms.is_empty() {
        errors.required(path.clone(), "must have at least one node selector term");
    }
    for (at, term) in terms.iter().enumerate() {
        term_faults(term, &path.index(at), errors);
    }
}

/// The faults of one term.
pub fn term_faults(term: &Value, path: &Path, errors: &mut ErrorList) {
    for (at, one) in cells::items(term, &["matchExpressions"]).iter().enumerate() {
        let path = path.child("matchExpressions").index(at);
        expression_faults(one, &path, errors);
        for (at, value) in cells::items(one, &["values"]).iter().filter_map(Value::as_str).enumerate() {
            errors.invalid_each(&path.child("values").index(at), value, names::label_value(value));
        }
    }
    fields_faults(term, path, errors);
}

/// The faults of a term that is only a wish: values that no label can have are fine.
pub fn wish_faults(term: &Value, path: &Path, errors: &mut ErrorList) {
    for (at, one) in cells::items(term, &["matchExpressions"]).iter().enumerate() {
        expression_faults(one, &path.child("matchExpressions").index(at), errors);
    }
    fields_faults(term, path, errors);
}

fn fields_faults(term: &Value, path: &Path, errors: &mut ErrorList) {
    for (at, one) in cells::items(term, &["matchFields"]).iter().enumerate() {
        field_faults(one, &path.child("matchFields").index(at), errors);
    }
}

fn expression_faults(one: &Value, path: &Path, errors: &mut ErrorList) {
    let values = cells::items(one, &["values"]);
    let at = path.child("values");
    match one.text_at(&["operator"]) {
        "In" | "NotIn" if values.is_empty() => {
            errors.required(at.clone(), "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            errors
                .forbidden(at.clone(), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        "Gt" | "Lt" if values.len() != 1 => {
            errors.required(at.clone(), "must be specified single value when `operator` is 'Lt' or 'Gt'");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => errors.invalid(path.child("operator"), quoted(other), "not a valid selector operator"),
    }
    let key = one.text_at(&["key"]);
    errors.invalid_each(&path.child("key"), key, names::label_key(key));
}

fn field_faults(one: &Value, path: &Path, errors: &mut ErrorList) {
    let values = cells::items(one, &["values"]);
    match one.text_at(&["operator"]) {
        "In" | "NotIn" if values.len() != 1 => errors.required(
            path.child("values"),
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        ),
        "In" | "NotIn" => {}
        other => errors.invalid(path.child("operator"), quoted(other), "not a valid selector operator"),
    }
    match one.text_at(&["key"]) {
        "metadata.name" => {
            for (at, name) in values.iter().filter_map(Value::as_str).enumerate() {
                let faults = names::name_is_dns_subdomain(name, false);
                errors.invalid_each(&path.child("values").index(at), name, faults);
            }
        }
        other => errors.invalid(path.child("key"), quoted(other), "not a valid field selector key"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_selectors() {
        let table = [
            (
                r#"{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}]}"#,
                "[]",
            ),
            ("{}", "a.nodeSelectorTerms: Required value: must have at least one node selector term"),
            (
                r#"{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Near"}]}]}"#,
                "a.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: \"Near\": not a valid selector operator",
            ),
            (
                r#"{"nodeSelectorTerms":[{"matchFields":[{"key":"spec.x","operator":"In","values":["b"]}]}]}"#,
                "a.nodeSelectorTerms[0].matchFields[0].key: Invalid value: \"spec.x\": not a valid field selector key",
            ),
        ];
        for (selector, expected) in table {
            let mut errors = ErrorList::new();
            faults(&apiwright_json::decode(selector.as_bytes()).unwrap().0, &Path::new("a"), &mut errors);
            assert_eq!(errors.aggregate(), expected, "{selector}");
        }
    }
}
