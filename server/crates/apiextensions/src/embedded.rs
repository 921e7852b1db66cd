//! Resources inside of resources (`x-kubernetes-embedded-resource`): they say what they are.
//!
//! Creations and updates are looked at alike.

use apiwright_json::{Object, Value};
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::object::validate_object_meta;
use apiwright_meta::{ErrorList, Path, names};

/// Faults of what is embedded in a value.
pub(crate) fn validate(schema: &Value, value: &Value, path: &Path, errors: &mut ErrorList) {
    match value {
        Value::Object(object) => {
            if schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
                identity(object, path, errors);
            }
            let additional = schema.get("additionalProperties");
            for (name, member) in object.iter() {
                if let Some(schema) = schema.at(&["properties", name]) {
                    validate(schema, member, &path.child(name), errors);
                } else if let Some(schema) = additional {
                    validate(schema, member, &path.key(name), errors);
                }
            }
        }
        Value::Array(all) => {
            if let Some(schema) = schema.get("items") {
                for (at, item) in all.iter().enumerate() {
                    validate(schema, item, &path.index(at), errors);
                }
            }
        }
        _ => {}
    }
}

fn identity(object: &Object, path: &Path, errors: &mut ErrorList) {
    for name in ["apiVersion", "kind"] {
        let path = path.child(name);
        match object.get(name) {
            None => errors.required(path, ""),
            Some(Value::String(text)) if text.is_empty() => {
                errors.invalid(path, quoted(""), "must not be empty");
            }
            Some(Value::String(text)) if name == "apiVersion" => {
                if text.matches('/').count() > 1 {
                    let words = format!("unexpected GroupVersion string: {text}");
                    errors.invalid(path, quoted(text), &words);
                }
            }
            Some(Value::String(text)) => {
                let faults = names::dns1035_label(&text.to_lowercase());
                if !faults.is_empty() {
                    let words =
                        format!("may have mixed case, but should otherwise match: {}", faults.join(","));
                    errors.invalid(path, quoted(text), &words);
                }
            }
            Some(other) => errors.invalid(path, go_value(other), "must be a string"),
        }
    }
    if let Some(Value::Object(metadata)) = object.get("metadata") {
        let mut metadata = metadata.clone();
        if metadata.str("name").unwrap_or_default().is_empty() {
            metadata.insert("name", "fakename");
        }
        let namespaced = !metadata.str("namespace").unwrap_or_default().is_empty();
        let path = path.child("metadata");
        errors.append(validate_object_meta(&metadata, namespaced, names::name_is_path_segment, &path));
    }
}
