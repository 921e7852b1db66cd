//! ConfigMaps.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells;

/// The hooks of ConfigMaps.
#[derive(Debug)]
pub struct ConfigMap;

impl Hooks for ConfigMap {
    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Data" => (cells::count(object, &["data"]) + cells::count(object, &["binaryData"])).into(),
            _ => Value::Null,
        }
    }
}
