//! Secrets.

mod types;

use apiwright_json::{Object, Value};
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;

use crate::hooks::shared::{cells, keys};

/// The hooks of Secrets.
#[derive(Debug)]
pub struct Secret;

impl Hooks for Secret {
    /// `stringData` is written only: it ends up in `data`.
    fn default(&self, object: &mut Value) {
        keys::fill_null_bytes(object, "data");
        fold_string_data(object);
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
        keys::immutable_faults(object, old, &["data"], errors);
        faults(object, errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        types::warning(object).into_iter().collect()
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Data" => cells::count(object, &["data"]).into(),
            _ => Value::Null,
        }
    }
}

fn faults(object: &Value, errors: &mut ErrorList) {
    if keys::decoded(keys::key_faults(object, "data", errors)) > keys::BYTES_MAX {
        errors.too_long(Path::new("data"), keys::BYTES_MAX);
    }
    types::faults(object, errors);
}

fn fold_string_data(object: &mut Value) {
    let Some(secret) = object.as_object_mut() else { return };
    let Some(Value::Object(texts)) = secret.remove("stringData") else { return };
    let data: &mut Object = secret.object("data");
    for (key, text) in texts {
        data.insert(key, STANDARD.encode(text.as_str().unwrap_or_default()));
    }
    data.sort();
}
