//! The admissionregistration.k8s.io group.

use apiwright_json::Value;

mod match_conditions;
mod match_resources;
mod policy;
mod policy_binding;
mod rules;
mod webhook_configuration;

pub use policy::AdmissionPolicy;
pub use policy_binding::AdmissionPolicyBinding;
pub use webhook_configuration::WebhookConfiguration;

fn items<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value.get(member).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
