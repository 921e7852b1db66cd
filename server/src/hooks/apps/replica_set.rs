//! `ReplicaSets`.

use apiwright_json::Value;
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::workload::{self, spec};
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::pod_spec::{self, Template, warnings};

/// The hooks of `ReplicaSets`.
#[derive(Debug)]
pub struct ReplicaSet;

impl Hooks for ReplicaSet {
    fn default(&self, object: &mut Value) {
        workload::set_defaults(object);
    }

    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        pod_spec::drop_disabled(object, None, &["spec", "template", "spec"]);
    }

    fn prepare_update(&self, _context: WriteContext<'_>, object: &mut Value, old: &Value) {
        pod_spec::drop_disabled(object, Some(old), &["spec", "template", "spec"]);
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        match context.subresource {
            "status" => {
                let counts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
                workload::count_faults(object, &counts, "readyReplicas", errors);
            }
            _ => {
                faults(object, errors);
                workload::selector_is_immutable(object, old, errors);
            }
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        warnings::workload(object, old, &["spec", "template"])
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        workload::cell(column, object)
    }
}

fn faults(object: &Value, errors: &mut ErrorList) {
    let mut out = Faults::take(errors, &Path::new("spec"));
    out.declared(&spec("replicas"));
    out.declared(&spec("minReadySeconds"));
    workload::selector_faults(object, "deployment", &mut out);
    workload::template_faults(
        object,
        &Template::of(object),
        "invalid label selector",
        "ReplicaSet",
        &mut out,
    );
}
