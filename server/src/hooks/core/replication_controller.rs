//! `ReplicationController`s.

use apiwright_json::{Object, Value};
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::pod_spec::warnings;
use crate::hooks::shared::{cells, pod_spec};

/// The hooks of `ReplicationController`s.
#[derive(Debug)]
pub struct ReplicationController;

impl Hooks for ReplicationController {
    /// Labels and selector come from the template where they are left out.
    fn default(&self, object: &mut Value) {
        let labels = object.at(&["spec", "template", "metadata", "labels"]).cloned();
        if let Some(labels) =
            labels.filter(|labels| labels.as_object().is_some_and(|labels| !labels.is_empty()))
        {
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

    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        pod_spec::drop_disabled(object, None, &["spec", "template", "spec"]);
    }

    fn prepare_update(&self, _context: WriteContext<'_>, object: &mut Value, old: &Value) {
        pod_spec::drop_disabled(object, Some(old), &["spec", "template", "spec"]);
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        number_faults(object, errors);
        template_faults(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        _old: &Value,
        errors: &mut ErrorList,
    ) {
        if context.subresource.is_empty() {
            number_faults(object, errors);
            template_faults(object, errors);
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        // Upstream looks at the template as it was.
        match old {
            None => warnings::workload(object, None, &["spec", "template"]),
            Some(old) => warnings::template(old, Some(object), &["spec", "template"]),
        }
    }

    fn orphans_by_default(&self) -> bool {
        true
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

fn number_faults(object: &Value, errors: &mut ErrorList) {
    for member in ["minReadySeconds", "replicas"] {
        let number = object.at(&["spec", member]).and_then(Value::as_i64).unwrap_or_default();
        if number < 0 {
            errors.invalid(Path::new("spec").child(member), number, "must be greater than or equal to 0");
        }
    }
}

/// The selector selects the pods of the template, and these run for ever.
fn template_faults(object: &Value, errors: &mut ErrorList) {
    let Some(template) = object.at(&["spec", "template"]) else { return };
    let path = Path::new("spec").child("template");
    let labels = template.at(&["metadata", "labels"]);
    let selector = object.at(&["spec", "selector"]).and_then(Value::as_object);
    let selects = |selector: &Object| {
        selector.iter().all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
    };
    if selector.is_some_and(|selector| !selects(selector)) {
        let shown = labels.map_or_else(|| "null".into(), go_value);
        let path = path.child("metadata").child("labels");
        errors.invalid(path, shown, "`selector` does not match template `labels`");
    }
    let (path, policy) = (path.child("spec"), template.text_at(&["spec", "restartPolicy"]));
    if policy != "Always" {
        errors.not_supported(path.child("restartPolicy"), quoted(policy), &["Always"]);
    }
    if template.at(&["spec", "activeDeadlineSeconds"]).is_some() {
        let why = "activeDeadlineSeconds in ReplicationController is not Supported";
        errors.forbidden(path.child("activeDeadlineSeconds"), why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_templates() {
        let spec = |policy: &str, selector: &str| {
            format!(
                r#"{{"spec":{{"selector":{selector},"template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"restartPolicy":"{policy}"}}}}}}}}"#
            )
        };
        let table = [
            (spec("Always", r#"{"a":"b"}"#), "[]"),
            (
                spec("Always", r#"{"x":"y"}"#),
                "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
            ),
            (
                spec("Never", r#"{"a":"b"}"#),
                "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"",
            ),
        ];
        for (object, expected) in table {
            let mut errors = ErrorList::new();
            template_faults(&apiwright_json::decode(object.as_bytes()).unwrap().0, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{object}");
        }
    }
}
