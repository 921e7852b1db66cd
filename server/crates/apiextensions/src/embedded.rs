//! Resources inside of resources (`x-kubernetes-embedded-resource`): they say what they are.
//!
//! What an update leaves as it was is not looked at again.

use apiwright_json::{Object, Value};
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::object::validate_object_meta;
use apiwright_meta::{ErrorList, Path, names};

/// Whether a schema embeds resources anywhere.
pub(crate) fn is_in(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true))
                || members.values().any(is_in)
        }
        Value::Array(items) => items.iter().any(is_in),
        _ => false,
    }
}

/// Faults of what is embedded in a value.
pub(crate) fn validate(
    schema: &Value,
    value: &Value,
    old: Option<&Value>,
    path: &Path,
    errors: &mut ErrorList,
) {
    if old == Some(value) {
        return;
    }
    match value {
        Value::Object(object) => {
            if schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
                identity(object, path, errors);
            }
            let additional = schema.get("additionalProperties");
            for (name, member) in object.iter() {
                let before = old.and_then(|old| old.get(name));
                if let Some(schema) = schema.at(&["properties", name]) {
                    validate(schema, member, before, &path.child(name), errors);
                } else if let Some(schema) = additional {
                    validate(schema, member, before, &path.key(name), errors);
                }
            }
        }
        Value::Array(all) => {
            let before = old.and_then(Value::as_array);
            if let Some(schema) = schema.get("items") {
                for (at, item) in all.iter().enumerate() {
                    let before = before.and_then(|all| all.get(at));
                    validate(schema, item, before, &path.index(at), errors);
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
