//! Where a class lets volumes be.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names};

use crate::hooks::shared::cells;

/// The values of each label of a term, in order.
type Labels<'a> = Vec<(&'a str, Vec<&'a str>)>;

/// The faults of the terms of a class.
pub(super) fn faults(class: &Value, errors: &mut ErrorList) {
    let terms = cells::items(class, &["allowedTopologies"]);
    // Upstream compares with as many empty terms as there are terms.
    let mut seen: Vec<Labels<'_>> = vec![Labels::new(); terms.len()];
    for (at, term) in terms.iter().enumerate() {
        let path = Path::new("allowedTopologies").index(at).child("matchLabelExpressions");
        let labels = term_faults(term, &path, errors);
        for _ in seen.iter().filter(|other| **other == labels) {
            errors.duplicate(path.clone(), quoted(""));
        }
        seen.push(labels);
    }
}

fn term_faults<'a>(term: &'a Value, path: &Path, errors: &mut ErrorList) -> Labels<'a> {
    let mut labels = Labels::new();
    for (at, one) in cells::items(term, &["matchLabelExpressions"]).iter().enumerate() {
        let path = path.index(at);
        let mut values: Vec<&str> = Vec::new();
        let listed = cells::items(one, &["values"]);
        if listed.is_empty() {
            errors.required(path.child("values"), "");
        }
        for (at, value) in listed.iter().filter_map(Value::as_str).enumerate() {
            if values.contains(&value) {
                errors.duplicate(path.child("values").index(at), quoted(value));
            } else {
                values.push(value);
            }
        }
        values.sort_unstable();
        let key = one.text_at(&["key"]);
        errors.invalid_each(&path.child("key"), key, names::label_key(key));
        match labels.iter_mut().find(|(known, _)| *known == key) {
            Some(label) => {
                errors.duplicate(path.child("key"), quoted(key));
                label.1 = values;
            }
            None => labels.push((key, values)),
        }
    }
    labels.sort_unstable();
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_differ() {
        let term = r#"{"matchLabelExpressions":[{"key":"zone","values":["a","b"]}]}"#;
        let table = [
            (term.to_owned(), ""),
            (
                format!(r#"{term},{{"matchLabelExpressions":[{{"key":"zone","values":["b","a"]}}]}}"#),
                "allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\"",
            ),
            (
                r#"{"matchLabelExpressions":[{"key":"zone","values":["a","a"]}]}"#.to_owned(),
                "allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: \"a\"",
            ),
        ];
        for (terms, expected) in table {
            let text = format!(r#"{{"allowedTopologies":[{terms}]}}"#);
            let mut errors = ErrorList::new();
            faults(&apiwright_json::decode(text.as_bytes()).unwrap().0, &mut errors);
            assert_eq!(errors.aggregate(), if expected.is_empty() { "[]" } else { expected }, "{terms}");
        }
    }
}
