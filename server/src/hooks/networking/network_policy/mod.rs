//! NetworkPolicies.

mod validate;

use apiwright_json::Value;
use apiwright_meta::ErrorList;
use apiwright_meta::address::warn_of_cidr;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

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

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::policy(object, None, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        validate::policy(object, Some(old), errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        validate::blocks(object).iter().flat_map(|(path, cidr)| warn_of_cidr(path, cidr)).collect()
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Pod-Selector" => cells::selector(object, &["spec", "podSelector"]).into(),
            _ => Value::Null,
        }
    }
}
