//! Secrets.

use apiwright_json::{Object, Value};
use apiwright_registry::Hooks;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;

use crate::hooks::shared::cells;

/// The hooks of Secrets.
#[derive(Debug)]
pub struct Secret;

impl Hooks for Secret {
    /// `stringData` is written only: it ends up in `data`.
    fn default(&self, object: &mut Value) {
        fold_string_data(object);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Data" => cells::count(object, &["data"]).into(),
            _ => Value::Null,
        }
    }
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
