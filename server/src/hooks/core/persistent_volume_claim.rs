//! PersistentVolumeClaims.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::persistent_volume::{access_modes, storage_class};
use crate::hooks::shared::cells;

/// The hooks of PersistentVolumeClaims.
#[derive(Debug)]
pub struct PersistentVolumeClaim;

impl Hooks for PersistentVolumeClaim {
    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        if let Some(object) = object.as_object_mut() {
            object.object("status").insert("phase", "Pending");
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        let bound = !object.text_at(&["spec", "volumeName"]).is_empty();
        match column {
            "Status" if object::deletion_timestamp(object).is_some() => "Terminating".into(),
            "Status" => object.text_at(&["status", "phase"]).into(),
            "Capacity" if bound => object.text_at(&["status", "capacity", "storage"]).into(),
            "Access Modes" if bound => access_modes(cells::items(object, &["status", "accessModes"])).into(),
            "Capacity" | "Access Modes" => "".into(),
            "StorageClass" => storage_class(object).into(),
            _ => Value::Null,
        }
    }
}
