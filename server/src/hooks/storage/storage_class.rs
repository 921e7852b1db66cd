//! StorageClasses.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_registry::Hooks;

/// The hooks of StorageClasses.
#[derive(Debug)]
pub struct StorageClass;

impl Hooks for StorageClass {
    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Name" if is_default(object) => format!("{} (default)", object::name(object)).into(),
            "Name" => object::name(object).into(),
            _ => Value::Null,
        }
    }
}

fn is_default(class: &Value) -> bool {
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
        .iter()
        .any(|key| object::annotation(class, key) == Some("true"))
}
