//! The admissionregistration.k8s.io group.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells;

mod match_conditions;
mod rules;
mod webhook_configuration;

pub use webhook_configuration::WebhookConfiguration;

/// The hooks of admission policies.
#[derive(Debug)]
pub struct AdmissionPolicy;

/// The hooks of bindings of admission policies.
#[derive(Debug)]
pub struct AdmissionPolicyBinding;

impl Hooks for AdmissionPolicy {
    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Validations" => cells::count(object, &["spec", "validations"]).into(),
            "Mutations" => cells::count(object, &["spec", "mutations"]).into(),
            "ParamKind" => match object.at(&["spec", "paramKind"]) {
                Some(kind) => format!("{}/{}", kind.text_at(&["apiVersion"]), kind.text_at(&["kind"])).into(),
                None => "<unset>".into(),
            },
            _ => Value::Null,
        }
    }
}

impl Hooks for AdmissionPolicyBinding {
    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "ParamRef" => param_ref(object).into(),
            _ => Value::Null,
        }
    }
}

/// `namespace/name`, or the selector's place where the parameters are selected.
fn param_ref(object: &Value) -> String {
    let Some(reference) = object.at(&["spec", "paramRef"]) else { return "<unset>".into() };
    let name = match reference.text_at(&["name"]) {
        "" => "*",
        name => name,
    };
    match reference.text_at(&["namespace"]) {
        "" => name.into(),
        namespace => format!("{namespace}/{name}"),
    }
}
