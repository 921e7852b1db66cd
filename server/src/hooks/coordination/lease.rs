//! Leases.

use apiwright_json::Value;
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::faults::Faults;

/// The hooks of Leases.
#[derive(Debug)]
pub struct Lease;

impl Hooks for Lease {
    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        drop_disabled(object, None);
    }

    fn prepare_update(&self, _context: WriteContext<'_>, object: &mut Value, old: &Value) {
        drop_disabled(object, Some(old));
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
}

/// Coordinated election is off by default upstream: what belongs to it is dropped, unless the old lease has it.
fn drop_disabled(lease: &mut Value, old: Option<&Value>) {
    let Some(spec) = lease.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
    for member in ["strategy", "preferredHolder"] {
        if old.is_none_or(|old| old.at(&["spec", member]).is_none()) {
            spec.remove(member);
        }
    }
}

fn faults(lease: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let mut out = Faults::take(errors, &path);
    let Some(spec) = lease.get("spec") else { return };
    let duration = spec.get("leaseDurationSeconds").and_then(Value::as_i64);
    if let Some(duration) = duration.filter(|duration| *duration <= 0) {
        out.invalid(path.child("leaseDurationSeconds"), duration, "must be greater than 0");
    }
    out.declared(&path.child("leaseTransitions"));
    let strategy = spec.get("strategy").and_then(Value::as_str);
    if let Some(strategy) = strategy {
        super::strategy_faults(strategy, &path.child("strategy"), &mut out);
    }
    if !spec.text_at(&["preferredHolder"]).is_empty() && strategy.unwrap_or_default().is_empty() {
        out.forbidden(path.child("preferredHolder"), "may only be specified if `strategy` is defined");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_leases() {
        let table = [
            (r#"{"leaseDurationSeconds":5,"strategy":"OldestEmulationVersion","preferredHolder":"a"}"#, "[]"),
            (
                r#"{"leaseDurationSeconds":0}"#,
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
            ),
            (
                r#"{"strategy":"Odd"}"#,
                "spec.strategy.strategy: Unsupported value: \"Odd\": supported values: \"OldestEmulationVersion\"",
            ),
            (
                r#"{"preferredHolder":"a"}"#,
                "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined",
            ),
        ];
        for (spec, expected) in table {
            let lease = apiwright_json::decode(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap().0;
            let mut errors = ErrorList::new();
            super::faults(&lease, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{spec}");
        }
    }
}
