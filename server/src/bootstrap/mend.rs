//! What a start mends of roles and bindings, as kube-apiserver's hook `rbac/bootstrap-roles` does.
//!
//! Invariant: what somebody added stays, and nothing changes that says so itself
//! (`rbac.authorization.kubernetes.io/autoupdate: "false"`).

use apiwright_auth::rbac::{self, Rule};
use apiwright_chain::spec::Mends;
use apiwright_json::{Object, Value};
use apiwright_meta::object;

/// Says `false` where an object is to be left alone.
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// What is to be done about an object that is there.
#[derive(Debug, PartialEq)]
pub(super) enum Mending {
    /// It is as it should be, or is to be left alone.
    Keep,
    /// It should be like this.
    Change(Value),
    /// It cannot be changed into what it should be: a binding's role is forever.
    Replace,
}

/// What is to be done about an object that is there, given how it should be.
pub(super) fn mend(how: Mends, existing: &Value, wanted: &Value) -> Mending {
    if object::annotation(existing, AUTO_UPDATE) == Some("false") {
        return Mending::Keep;
    }
    let mut mended = existing.clone();
    for (key, value) in object::labels(wanted).filter(|(key, _)| object::label(existing, key).is_none()) {
        object::set_label(&mut mended, key, value);
    }
    for (key, value) in object::annotations(wanted) {
        if object::annotation(existing, key).is_none() {
            object::set_annotation(&mut mended, key, value);
        }
    }
    match how {
        Mends::Nothing => return Mending::Keep,
        Mends::Binding if existing.get("roleRef") != wanted.get("roleRef") => return Mending::Replace,
        Mends::Binding => append(&mut mended, "subjects", lacking(existing, wanted, &["subjects"])),
        Mends::Role => {
            let missing = rbac::missing(&Rule::read_all(existing), &Rule::read_all(wanted));
            append(&mut mended, "rules", missing.iter().map(Rule::to_value).collect());
            aggregate(&mut mended, existing, wanted);
        }
    }
    if mended == *existing { Mending::Keep } else { Mending::Change(mended) }
}

/// A role that is made of others is made of those that it should be, and of those that somebody added.
fn aggregate(mended: &mut Value, existing: &Value, wanted: &Value) {
    const RULE: &str = "aggregationRule";
    const SELECTORS: &str = "clusterRoleSelectors";
    let Some(role) = mended.as_object_mut() else { return };
    if wanted.get(RULE).is_none_or(Value::is_null) {
        role.remove(RULE);
        return;
    }
    let missing = lacking(existing, wanted, &[RULE, SELECTORS]);
    if !missing.is_empty() {
        append(role.entry(RULE, || Object::new().into()), SELECTORS, missing);
    }
}

/// The items of a list that another object's list lacks.
fn lacking(existing: &Value, wanted: &Value, path: &[&str]) -> Vec<Value> {
    let items = |of: &'_ Value| of.at(path).and_then(Value::as_array).cloned().unwrap_or_default();
    let held = items(existing);
    items(wanted).into_iter().filter(|item| !held.contains(item)).collect()
}

/// Adds items to the end of a list, which may be absent.
fn append(of: &mut Value, list: &str, items: Vec<Value>) {
    if items.is_empty() {
        return;
    }
    let Some(members) = of.as_object_mut() else { return };
    match members.get_mut(list).and_then(Value::as_array_mut) {
        Some(held) => held.extend(items),
        None => drop(members.insert(list, items)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value {
        apiwright_json::decode(json.as_bytes()).unwrap().0
    }

    /// Existing, wanted, and what the existing becomes; an empty text where it stays, `-` where it goes.
    fn check(how: Mends, table: &[(&str, &str, &str)]) {
        for (existing, wanted, expected) in table {
            let expected = match *expected {
                "" => Mending::Keep,
                "-" => Mending::Replace,
                json => Mending::Change(value(json)),
            };
            assert_eq!(mend(how, &value(existing), &value(wanted)), expected, "{existing} {wanted}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn roles() {
        let get = r#"{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}"#;
        let both = r#"{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}"#;
        let list = r#"{"verbs":["list"],"apiGroups":[""],"resources":["pods"]}"#;
        let url = r#"{"verbs":["get"],"nonResourceURLs":["/version"]}"#;
        let role = |rules: &[&str]| format!(r#"{{"metadata":{{"name":"r"}},"rules":[{}]}}"#, rules.join(","));
        check(Mends::Role, &[
            (&role(&[get]), &role(&[get]), ""),
            (&role(&[both, url]), &role(&[get]), ""),
            (&role(&[get]), &role(&[both]), &role(&[get, list])),
            (&role(&[]), &role(&[get, url]), &role(&[get, url])),
            (r#"{"metadata":{"name":"r"},"rules":null}"#, &role(&[get]), &role(&[get])),
            (r#"{"metadata":{"name":"r"}}"#, &role(&[url]), &role(&[url])),
            // Who says so is left alone.
            (r#"{"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"false"}}}"#, &role(&[get]), ""),
            (r#"{"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"true"}}}"#, r#"{"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"true"}}}"#, ""),
            // Labels and annotations come back; other values of them stay.
            (r#"{"metadata":{"labels":{"a":"theirs"}}}"#, r#"{"metadata":{"labels":{"a":"1","b":"2"},"annotations":{"c":"3"}}}"#,
             r#"{"metadata":{"labels":{"a":"theirs","b":"2"},"annotations":{"c":"3"}}}"#),
        ]);
    }

    #[test]
    #[rustfmt::skip]
    fn roles_that_are_made_of_others() {
        let role = |selectors: &str| format!(r#"{{"metadata":{{}},"aggregationRule":{{"clusterRoleSelectors":[{selectors}]}}}}"#);
        let (a, b) = (r#"{"matchLabels":{"a":"true"}}"#, r#"{"matchLabels":{"b":"true"}}"#);
        let plain = r#"{"metadata":{}}"#;
        check(Mends::Role, &[
            (&role(a), &role(a), ""),
            (&role(&format!("{b},{a}")), &role(a), ""),
            (&role(b), &role(a), &role(&format!("{b},{a}"))),
            (plain, &role(a), &role(a)),
            (&role(a), plain, plain),
            (&role(""), &role(a), &role(a)),
        ]);
    }

    #[test]
    #[rustfmt::skip]
    fn bindings() {
        let (a, b) = (r#"{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"a"}"#, r#"{"kind":"ServiceAccount","name":"a","namespace":"n"}"#);
        let binding = |subjects: &[&str], role: &str| {
            format!(r#"{{"metadata":{{}},"subjects":[{}],"roleRef":{{"name":"{role}"}}}}"#, subjects.join(","))
        };
        check(Mends::Binding, &[
            (&binding(&[a], "r"), &binding(&[a], "r"), ""),
            (&binding(&[b, a], "r"), &binding(&[a], "r"), ""),
            (&binding(&[b], "r"), &binding(&[a], "r"), &binding(&[b, a], "r")),
            (r#"{"metadata":{},"roleRef":{"name":"r"}}"#, r#"{"metadata":{},"roleRef":{"name":"r"}}"#, ""),
            (&binding(&[a], "other"), &binding(&[a], "r"), "-"),
            (r#"{"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"false"}},"roleRef":{"name":"other"}}"#, &binding(&[a], "r"), ""),
        ]);
    }
}
