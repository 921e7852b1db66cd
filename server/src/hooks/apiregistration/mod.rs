//! The apiregistration.k8s.io group.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells::{self, UNKNOWN};

/// The hooks of APIServices.
#[derive(Debug)]
pub struct APIService;

impl Hooks for APIService {
    /// A service is reached at its port 443 unless it says otherwise.
    fn default(&self, object: &mut Value) {
        if let Some(service) = object.at_mut(&["spec", "service"]).and_then(Value::as_object_mut) {
            service.entry("port", || 443.into());
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Service" => match object.at(&["spec", "service"]).filter(|service| !service.is_null()) {
                Some(service) => {
                    format!("{}/{}", service.text_at(&["namespace"]), service.text_at(&["name"])).into()
                }
                None => "Local".into(),
            },
            "Available" => available(object).into(),
            _ => Value::Null,
        }
    }
}

/// `True`, or `False (ServiceNotFound)`
fn available(object: &Value) -> String {
    let conditions = cells::items(object, &["status", "conditions"]);
    match conditions.iter().find(|condition| condition.text_at(&["type"]) == "Available") {
        Some(condition) if condition.text_at(&["status"]) == "True" => "True".into(),
        Some(condition) => format!("{} ({})", condition.text_at(&["status"]), condition.text_at(&["reason"])),
        None => UNKNOWN.into(),
    }
}
