//! `ConfigMaps`.

use apiwright_json::{Object, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::{cells, keys};

/// The hooks of `ConfigMaps`.
#[derive(Debug)]
pub struct ConfigMap;

impl Hooks for ConfigMap {
    fn default(&self, object: &mut Value) {
        keys::fill_null_bytes(object, "binaryData");
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        keys::immutable_faults(object, old, &["data", "binaryData"], errors);
        faults(object, errors);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Data" => (cells::count(object, &["data"]) + cells::count(object, &["binaryData"])).into(),
            _ => Value::Null,
        }
    }
}

fn faults(object: &Value, errors: &mut ErrorList) {
    let texts = keys::key_faults(object, "data", errors);
    let data = object.get("data").and_then(Value::as_object).into_iter().flat_map(Object::keys);
    let binary = object.get("binaryData").and_then(Value::as_object);
    for key in data.filter(|key| binary.is_some_and(|binary| binary.contains_key(key))) {
        errors.invalid(Path::new("data").key(key), quoted(key), "duplicate of key present in binaryData");
    }
    let bytes = keys::decoded(keys::key_faults(object, "binaryData", errors));
    if texts + bytes > keys::BYTES_MAX {
        // It is the object's fault, not a field's: Go shows an empty path so.
        errors.too_long(Path::new("[]"), keys::BYTES_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_config_maps() {
        let long = "x".repeat(keys::BYTES_MAX + 1);
        let table = [
            (r#"{"data":{"a":"b"},"binaryData":{"c":"AA=="}}"#.to_owned(), "[]"),
            (
                r#"{"data":{"a":"b"},"binaryData":{"a":"AA=="}}"#.into(),
                "data[a]: Invalid value: \"a\": duplicate of key present in binaryData",
            ),
            (
                format!("{{\"data\":{{\"a\":\"{long}\"}}}}"),
                "[]: Too long: may not be more than 1048576 bytes",
            ),
        ];
        for (object, expected) in table {
            let mut errors = ErrorList::new();
            faults(&apiwright_json::decode(object.as_bytes()).unwrap().0, &mut errors);
            assert_eq!(errors.aggregate(), expected);
        }
    }
}
