//! CSIDrivers and CSINodes.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells;

/// The hooks of CSIDrivers.
#[derive(Debug)]
pub struct CSIDriver;

/// The hooks of CSINodes.
#[derive(Debug)]
pub struct CSINode;

impl Hooks for CSIDriver {
    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Modes" => {
                let modes = cells::items(object, &["spec", "volumeLifecycleModes"]);
                cells::join(modes.iter().filter_map(Value::as_str), ",").into()
            }
            "TokenRequests" => {
                let requests = cells::items(object, &["spec", "tokenRequests"]);
                if requests.is_empty() {
                    "<unset>".into()
                } else {
                    cells::names(object, &["spec", "tokenRequests"], "audience").into()
                }
            }
            _ => Value::Null,
        }
    }
}

impl Hooks for CSINode {
    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Drivers" => cells::count(object, &["spec", "drivers"]).into(),
            _ => Value::Null,
        }
    }
}
