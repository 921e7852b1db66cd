//! PodDisruptionBudgets.

use apiwright_json::Value;
use apiwright_meta::conditions::validate_conditions;
use apiwright_meta::labels::{SelectorLeniency, validate_label_selector};
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::generated::types::policy_v1::POD_DISRUPTION_BUDGET;
use crate::hooks::shared::amounts::{at_most_all, int_or_percent};
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::quoting::internal_member;

const COUNTS: [&str; 4] = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

/// The hooks of PodDisruptionBudgets.
#[derive(Debug)]
pub struct PodDisruptionBudget;

impl Hooks for PodDisruptionBudget {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        spec_faults(object, SelectorLeniency::default(), errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        match context.subresource {
            "status" => status_faults(object, errors),
            _ => spec_faults(object, SelectorLeniency::of_old(old.at(&["spec", "selector"])), errors),
        }
    }
}

fn spec_faults(budget: &Value, leniency: SelectorLeniency, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let mut out = Faults::take(errors, &path);
    let Some(spec) = budget.get("spec") else { return };
    let limits = ["minAvailable", "maxUnavailable"];
    if limits.iter().all(|limit| spec.get(limit).is_some()) {
        let shown = internal_member(&POD_DISRUPTION_BUDGET, "spec", Some(spec));
        out.invalid(path.clone(), shown, "minAvailable and maxUnavailable cannot be both set");
    }
    for limit in limits {
        int_or_percent(spec.get(limit), &path.child(limit), &mut out);
        at_most_all(spec.get(limit), &path.child(limit), &mut out);
    }
    out.append(validate_label_selector(spec.get("selector"), leniency, &path.child("selector")));
}

fn status_faults(budget: &Value, errors: &mut ErrorList) {
    let path = Path::new("status");
    errors.append(validate_conditions(budget.at(&["status", "conditions"]), &path.child("conditions")));
    for count in COUNTS {
        let number = budget.at(&["status", count]).and_then(Value::as_i64).unwrap_or_default();
        if number < 0 {
            errors.invalid(path.child(count), number, "must be greater than or equal to 0");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_budgets() {
        let table = [
            (r#"{"minAvailable":1,"selector":{}}"#, "[]"),
            (
                r#"{"maxUnavailable":"101%"}"#,
                "spec.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%",
            ),
            (
                r#"{"minAvailable":-1}"#,
                "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0",
            ),
            (
                r#"{"minAvailable":1,"maxUnavailable":"2%"}"#,
                "spec: Invalid value: {\"MinAvailable\":1,\"Selector\":null,\"MaxUnavailable\":\"2%\",\
                 \"UnhealthyPodEvictionPolicy\":null}: minAvailable and maxUnavailable cannot be both set",
            ),
        ];
        for (spec, expected) in table {
            let budget = apiwright_json::decode(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap().0;
            let mut errors = ErrorList::new();
            spec_faults(&budget, SelectorLeniency::default(), &mut errors);
            assert_eq!(errors.aggregate(), expected, "{spec}");
        }
    }
}
