//! `ComponentStatuses`.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells;

/// The hooks of `ComponentStatuses`.
#[derive(Debug)]
pub struct ComponentStatus;

impl Hooks for ComponentStatus {
    fn deprecation(&self) -> Option<&'static str> {
        Some("v1 ComponentStatus is deprecated in v1.19+")
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        let healthy =
            cells::items(object, &["conditions"]).iter().find(|one| one.text_at(&["type"]) == "Healthy");
        let of_condition = |member| healthy.map_or("", |condition| condition.text_at(&[member]));
        match column {
            "Status" => match of_condition("status") {
                "True" => "Healthy".into(),
                "False" => "Unhealthy".into(),
                _ => "Unknown".into(),
            },
            "Message" => of_condition("message").into(),
            "Error" => of_condition("error").into(),
            _ => Value::Null,
        }
    }
}
