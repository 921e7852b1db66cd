//! Rules that say which requests a webhook or a policy is about.

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path};

use crate::hooks::shared::faults::Faults;

/// The faults of a rule, those that the words found among them.
pub(super) fn rule(rule: &Value, path: &Path, faults: &mut Faults<'_>) {
    let at = path.child("operations");
    faults.declared(&at);
    wildcard(rule, "operations", "operations", path, faults);
    faults.declared_below(&at);

    faults.declared_below(&path.child("apiGroups"));
    wildcard(rule, "apiGroups", "API groups", path, faults);
    faults.declared_below(&path.child("apiVersions"));
    wildcard(rule, "apiVersions", "API versions", path, faults);
    for (at, version) in texts(rule, "apiVersions").enumerate() {
        if version.is_empty() {
            faults.required(path.child("apiVersions").index(at), "");
        }
    }
    let at = path.child("resources");
    faults.declared_below(&at);
    resources(rule, &at, faults);
    faults.declared_below(&path.child("scope"));
}

/// Besides a wildcard there is nothing to say.
fn wildcard(rule: &Value, member: &str, what: &str, path: &Path, errors: &mut ErrorList) {
    if texts(rule, member).count() > 1 && texts(rule, member).any(|one| one == "*") {
        let words = format!("if '*' is present, must not specify other {what}");
        errors.invalid(path.child(member), shown(rule, member), &words);
    }
}

fn resources(rule: &Value, path: &Path, errors: &mut ErrorList) {
    let (mut any_of, mut in_any) = (Vec::new(), Vec::new());
    let mut plain = false;
    for (at, name) in texts(rule, "resources").enumerate() {
        if name.is_empty() {
            errors.required(path.index(at), "");
            continue;
        }
        let Some((resource, subresource)) = name.split_once('/') else {
            plain = name != "*";
            continue;
        };
        for (wild, pattern) in [
            (any_of.contains(&resource), format!("{resource}/*")),
            (in_any.contains(&subresource), format!("*/{subresource}")),
        ] {
            if wild {
                let words = format!("if '{pattern}' is present, must not specify {name}");
                errors.invalid(path.index(at), quoted(name), &words);
            }
        }
        if subresource == "*" {
            any_of.push(resource);
        }
        if resource == "*" {
            in_any.push(subresource);
        }
    }
    let has = |wanted: &str| texts(rule, "resources").any(|one| one == wanted);
    if texts(rule, "resources").count() > 1 && has("*/*") {
        let words = "if '*/*' is present, must not specify other resources";
        errors.invalid(path.clone(), shown(rule, "resources"), words);
    }
    if has("*") && plain {
        let words = "if '*' is present, must not specify other resources without subresources";
        errors.invalid(path.clone(), shown(rule, "resources"), words);
    }
}

fn texts<'a>(rule: &'a Value, member: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    rule.get(member).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn shown(rule: &Value, member: &str) -> String {
    go_value(rule.get(member).unwrap_or(&Value::Null))
}
