//! NetworkPolicies.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells;

/// The hooks of NetworkPolicies.
#[derive(Debug)]
pub struct NetworkPolicy;

impl Hooks for NetworkPolicy {
    /// A policy is about ingress, and about egress where it has egress rules.
    fn default(&self, object: &mut Value) {
        let Some(spec) = object.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
        let egress = spec.get("egress").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
        let empty = spec.get("policyTypes").and_then(Value::as_array).is_none_or(Vec::is_empty);
        if empty {
            let mut types = vec![Value::from("Ingress")];
            if egress {
                types.push("Egress".into());
            }
            spec.insert("policyTypes", types);
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Pod-Selector" => cells::selector(object, &["spec", "podSelector"]).into(),
            _ => Value::Null,
        }
    }
}
