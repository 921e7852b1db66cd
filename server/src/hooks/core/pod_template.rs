//! PodTemplates.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use crate::hooks::shared::{cells, pod_spec};

/// The hooks of PodTemplates.
#[derive(Debug)]
pub struct PodTemplate;

impl Hooks for PodTemplate {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = object.at_mut(&["template", "spec"]).and_then(Value::as_object_mut) {
            pod_spec::set_defaults(spec);
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Containers" => pod_spec::container_names(object, &["template"]).into(),
            "Images" => pod_spec::container_images(object, &["template"]).into(),
            "Pod Labels" => cells::labels(object, &["template", "metadata", "labels"]).into(),
            _ => Value::Null,
        }
    }
}
