//! ReplicationControllers.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use crate::hooks::shared::{cells, pod_spec};

/// The hooks of ReplicationControllers.
#[derive(Debug)]
pub struct ReplicationController;

impl Hooks for ReplicationController {
    /// Labels and selector come from the template where they are left out.
    fn default(&self, object: &mut Value) {
        let labels = object.at(&["spec", "template", "metadata", "labels"]).cloned();
        if let Some(labels) = labels.filter(|labels| labels.as_object().is_some_and(|labels| !labels.is_empty())) {
            if let Some(spec) = object.at_mut(&["spec"]).and_then(Value::as_object_mut) {
                spec.entry("selector", || labels.clone());
            }
            if let Some(metadata) = object.at_mut(&["metadata"]).and_then(Value::as_object_mut) {
                metadata.entry("labels", || labels);
            }
        }
        if let Some(spec) = object.at_mut(&["spec", "template", "spec"]).and_then(Value::as_object_mut) {
            pod_spec::set_defaults(spec);
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Containers" => pod_spec::container_names(object, &["spec", "template"]).into(),
            "Images" => pod_spec::container_images(object, &["spec", "template"]).into(),
            "Selector" => cells::labels(object, &["spec", "selector"]).into(),
            _ => Value::Null,
        }
    }
}
