//! PodTemplates.

use apiwright_json::Value;
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::pod_spec::{Template, warnings};
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

    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        pod_spec::drop_disabled(object, None, &["template", "spec"]);
    }

    fn prepare_update(&self, _context: WriteContext<'_>, object: &mut Value, old: &Value) {
        pod_spec::drop_disabled(object, Some(old), &["template", "spec"]);
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        _old: &Value,
        errors: &mut ErrorList,
    ) {
        faults(object, errors);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        warnings::template(object, old, &["template"])
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

fn faults(object: &Value, errors: &mut ErrorList) {
    let path = Path::new("template");
    let mut out = Faults::take(errors, &path);
    Template::at(object.get("template"), path).faults(&mut out);
}
