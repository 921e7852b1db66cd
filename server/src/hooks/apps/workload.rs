//! The workloads of apps: they hold a pod template at `spec.template` and a selector at `spec.selector`.

use apiwright_json::Value;
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::{cells, pod_spec};

/// The hooks of Deployments.
#[derive(Debug)]
pub struct Deployment;

/// The hooks of ReplicaSets.
#[derive(Debug)]
pub struct ReplicaSet;

/// The hooks of StatefulSets.
#[derive(Debug)]
pub struct StatefulSet;

/// The hooks of DaemonSets.
#[derive(Debug)]
pub struct DaemonSet;

impl Hooks for Deployment {
    fn default(&self, object: &mut Value) {
        set_defaults(object);
        roll_by_quarters(object, "strategy", &[("maxUnavailable", "25%".into()), ("maxSurge", "25%".into())]);
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate(object, errors);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        cell(column, object)
    }
}

impl Hooks for ReplicaSet {
    fn default(&self, object: &mut Value) {
        set_defaults(object);
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate(object, errors);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        cell(column, object)
    }
}

impl Hooks for StatefulSet {
    fn default(&self, object: &mut Value) {
        set_defaults(object);
        roll_by_quarters(object, "updateStrategy", &[("partition", 0.into())]);
        for claim in cells_mut(object, "volumeClaimTemplates") {
            if let Some(claim) = claim.as_object_mut() {
                claim.entry("apiVersion", || "v1".into());
                claim.entry("kind", || "PersistentVolumeClaim".into());
                claim.object("status").entry("phase", || "Pending".into());
            }
        }
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate(object, errors);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        cell(column, object)
    }
}

impl Hooks for DaemonSet {
    fn default(&self, object: &mut Value) {
        set_defaults(object);
        roll_by_quarters(object, "updateStrategy", &[("maxUnavailable", 1.into()), ("maxSurge", 0.into())]);
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate(object, errors);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Node Selector" => cells::labels(object, &["spec", "template", "spec", "nodeSelector"]).into(),
            _ => cell(column, object),
        }
    }
}

fn set_defaults(object: &mut Value) {
    if let Some(spec) = object.at_mut(&["spec", "template", "spec"]).and_then(Value::as_object_mut) {
        pod_spec::set_defaults(spec);
    }
}

fn cells_mut<'a>(object: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    object.at_mut(&["spec", list]).and_then(Value::as_array_mut).into_iter().flatten()
}

/// What a rolling update leaves out.
fn roll_by_quarters(object: &mut Value, strategy: &str, defaults: &[(&str, Value)]) {
    let Some(strategy) = object.at_mut(&["spec", strategy]).and_then(Value::as_object_mut) else { return };
    if strategy.str("type") == Some("RollingUpdate") {
        let rolling = strategy.object("rollingUpdate");
        for (name, value) in defaults {
            rolling.entry(name, || value.clone());
        }
    }
}

/// The selector must select something, and the template's pods among it.
fn validate(object: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let Some(selector) = object.at(&["spec", "selector"]).filter(|selector| !selector.is_null()) else { return };
    let Ok(parsed) = LabelSelector::from_object(selector) else { return };
    if parsed.is_empty() {
        errors.invalid(
            path.child("selector"),
            apiwright_json::to_string(selector),
            "empty selector is invalid for deployment",
        );
        return;
    }
    let labels = object.at(&["spec", "template", "metadata", "labels"]).and_then(Value::as_object);
    let label = |key: &str| labels.and_then(|labels| labels.str(key));
    if !parsed.matches(label) {
        let shown = labels.map_or_else(|| "null".to_owned(), |labels| apiwright_json::to_string(&Value::Object(labels.clone())));
        errors.invalid(
            path.child("template").child("metadata").child("labels"),
            shown,
            "`selector` does not match template `labels`",
        );
    }
}

fn cell(column: &str, object: &Value) -> Value {
    match column {
        "Containers" => pod_spec::container_names(object, &["spec", "template"]).into(),
        "Images" => pod_spec::container_images(object, &["spec", "template"]).into(),
        "Selector" => cells::selector(object, &["spec", "selector"]).into(),
        _ => Value::Null,
    }
}
