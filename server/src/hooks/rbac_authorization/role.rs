//! Roles and ClusterRoles.

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::{ErrorList, Path, names, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::cells;

/// The hooks of Roles and ClusterRoles.
#[derive(Debug)]
pub struct Role;

impl Hooks for Role {
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

fn faults(role: &Value, errors: &mut ErrorList) {
    let is_namespaced = object::kind(role) == "Role";
    for (at, rule) in cells::items(role, &["rules"]).iter().enumerate() {
        rule_faults(rule, is_namespaced, &Path::new("rules").index(at), errors);
    }
    if let Some(aggregation) = role.get("aggregationRule").filter(|it| !it.is_null()) {
        aggregation_faults(aggregation, errors);
    }
}

/// A rule is about resources or about paths, and paths are the whole cluster's.
fn rule_faults(rule: &Value, is_namespaced: bool, path: &Path, errors: &mut ErrorList) {
    let list = |key| cells::items(rule, &[key]);
    if list("verbs").is_empty() {
        errors.required(path.child("verbs"), "verbs must contain at least one value");
    }
    let urls = list("nonResourceURLs");
    if urls.is_empty() {
        for (key, what) in [("apiGroups", "api group"), ("resources", "resource")] {
            if list(key).is_empty() {
                errors.required(path.child(key), &format!("resource rules must supply at least one {what}"));
            }
        }
        return;
    }
    let mut refuse = |detail| {
        errors.invalid(path.child("nonResourceURLs"), go_value(&urls.to_vec().into()), detail);
    };
    if is_namespaced {
        refuse("namespaced rules cannot apply to non-resource URLs");
    }
    if ["apiGroups", "resources", "resourceNames"].iter().any(|&key| !list(key).is_empty()) {
        refuse("rules cannot apply to both regular resources and non-resource URLs");
    }
}

fn aggregation_faults(aggregation: &Value, errors: &mut ErrorList) {
    let path = Path::new("aggregationRule").child("clusterRoleSelectors");
    let selectors = cells::items(aggregation, &["clusterRoleSelectors"]);
    if selectors.is_empty() {
        errors.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil");
        return;
    }
    for (at, selector) in selectors.iter().enumerate() {
        let path = path.index(at);
        selector_faults(selector, &path, errors);
        if LabelSelector::from_object(selector).is_err() {
            errors.invalid(path, "null", "invalid label selector.");
        }
    }
}

fn selector_faults(selector: &Value, path: &Path, errors: &mut ErrorList) {
    for (key, value) in selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(apiwright_json::Object::iter)
    {
        let path = path.child("matchLabels");
        errors.invalid_each(&path, key, names::label_key(key));
        let value = value.as_str().unwrap_or_default();
        errors.invalid_each(&path, value, names::label_value(value));
    }
    for (at, expression) in cells::items(selector, &["matchExpressions"]).iter().enumerate() {
        let path = path.child("matchExpressions").index(at);
        let values = cells::items(expression, &["values"]);
        let operator = expression.text_at(&["operator"]);
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                errors.required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.forbidden(
                path.child("values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.invalid(path.child("operator"), quoted(operator), "not a valid selector operator"),
        }
        let key = expression.text_at(&["key"]);
        errors.invalid_each(&path.child("key"), key, names::label_key(key));
        for (at, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            errors.invalid_each(&path.child("values").index(at), value, names::label_value(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_json::decode;

    #[test]
    fn what_is_wrong_with_rules() {
        #[rustfmt::skip]
        let table = [
            ("Role", r#""rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]"#, "[]"),
            ("Role", r#""rules":[{"verbs":null}]"#, "[rules[0].verbs: Required value: verbs must contain at least one value, rules[0].apiGroups: Required value: resource rules must supply at least one api group, rules[0].resources: Required value: resource rules must supply at least one resource]"),
            ("Role", r#""rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}]"#, "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs"),
            ("ClusterRole", r#""rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}]"#, "[]"),
            ("ClusterRole", r#""rules":[{"verbs":["get"],"nonResourceURLs":["/x"],"resources":["pods"]}]"#, "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both regular resources and non-resource URLs"),
            ("ClusterRole", r#""aggregationRule":{}"#, "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil"),
            ("ClusterRole", r#""aggregationRule":{"clusterRoleSelectors":[{"matchExpressions":[{"key":"a","operator":"Near"}]}]}"#, "[aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: \"Near\": not a valid selector operator, aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.]"),
        ];
        for (kind, members, expected) in table {
            let (role, _) = decode(format!(r#"{{"kind":"{kind}",{members}}}"#).as_bytes()).unwrap();
            let mut errors = ErrorList::new();
            faults(&role, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{members}");
        }
    }
}
