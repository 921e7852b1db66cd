//! The formats that a definition's schemas name and nobody knows: they check nothing.

use apiwright_apiextensions::schema::is_known_format;
use apiwright_json::{Object, Value};

use super::validate::{items, text};

/// The unknown formats of a definition; those of the old one are not told again.
pub(super) fn warnings(definition: &Value, old: Option<&Value>) -> Vec<String> {
    let known = old.map(unknown).unwrap_or_default();
    let new = unknown(definition).into_iter().filter(|format| !known.contains(format));
    new.map(|format| format!("unrecognized format {format:?}")).collect()
}

fn unknown(definition: &Value) -> Vec<String> {
    let versions = items(definition.at(&["spec", "versions"]));
    let first = versions.first().and_then(|version| version.get("schema"));
    // What all versions have in common is one schema.
    let common = versions.iter().all(|version| version.get("schema") == first);
    let mut found = Vec::new();
    for version in versions.iter().take(if common { 1 } else { versions.len() }) {
        if let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) {
            walk(schema, &mut found);
        }
    }
    found
}

fn walk(schema: &Value, found: &mut Vec<String>) {
    let format = text(schema, &["format"]);
    let is_known = is_known_format(text(schema, &["type"]), format);
    if !format.is_empty() && !is_known {
        found.push(format.to_owned());
    }
    for word in ["items", "not", "additionalProperties"] {
        if let Some(inner @ Value::Object(_)) = schema.get(word) {
            walk(inner, found);
        }
    }
    for word in ["allOf", "oneOf", "anyOf"] {
        for inner in items(schema.get(word)) {
            walk(inner, found);
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for inner in properties.into_iter().flat_map(Object::values) {
        walk(inner, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_formats_are_told_once() {
        let definition = |format: &str| {
            let schema = format!(r#"{{"properties":{{"a":{{"type":"string","format":"{format}"}}}}}}"#);
            let version = format!(r#"{{"schema":{{"openAPIV3Schema":{schema}}}}}"#);
            let text = format!(r#"{{"spec":{{"versions":[{version},{version}]}}}}"#);
            apiwright_json::decode(text.as_bytes()).expect("JSON").0
        };
        assert_eq!(warnings(&definition("date-time"), None), Vec::<String>::new());
        assert_eq!(warnings(&definition("odd"), None), ["unrecognized format \"odd\""]);
        assert_eq!(warnings(&definition("odd"), Some(&definition("odd"))), Vec::<String>::new());
    }
}
