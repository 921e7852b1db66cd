//! RoleBindings and ClusterRoleBindings.

use apiwright_json::{Object, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::cells;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The hooks of RoleBindings and ClusterRoleBindings.
#[derive(Debug)]
pub struct Binding;

impl Hooks for Binding {
    /// Users and groups are subjects of RBAC's own group; service accounts are of the core group.
    fn default(&self, object: &mut Value) {
        let Some(binding) = object.as_object_mut() else { return };
        set_group(binding.object("roleRef"));
        for subject in binding.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(subject) = subject.as_object_mut()
                && matches!(subject.str("kind"), Some("User" | "Group"))
            {
                set_group(subject);
            }
        }
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        faults(object, errors);
        let role = object.get("roleRef").unwrap_or(&Value::Null);
        if old.get("roleRef").is_some_and(|old| old != role) {
            errors.invalid(Path::new("roleRef"), go_role(role), "cannot change roleRef");
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        let of = |kind: &str| {
            cells::items(object, &["subjects"])
                .iter()
                .filter(move |one| one.text_at(&["kind"]) == kind)
                .collect::<Vec<_>>()
        };
        match column {
            "Users" => names_of(&of("User")).into(),
            "Groups" => names_of(&of("Group")).into(),
            "ServiceAccounts" => {
                let accounts = of("ServiceAccount");
                let names = accounts
                    .iter()
                    .map(|one| format!("{}/{}", one.text_at(&["namespace"]), one.text_at(&["name"])));
                names.collect::<Vec<_>>().join(", ").into()
            }
            _ => Value::Null,
        }
    }
}

fn faults(binding: &Value, errors: &mut ErrorList) {
    let is_namespaced = object::kind(binding) == "RoleBinding";
    let path = Path::new("roleRef");
    let text = |key| binding.text_at(&["roleRef", key]);
    if text("apiGroup") != GROUP {
        errors.not_supported(path.child("apiGroup"), quoted(text("apiGroup")), &[GROUP]);
    }
    let kinds: &[&str] = if is_namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&text("kind")) {
        errors.not_supported(path.child("kind"), quoted(text("kind")), kinds);
    }
    let name = text("name");
    if name.is_empty() {
        errors.required(path.child("name"), "");
    } else {
        errors.invalid_each(&path.child("name"), name, names::path_segment_name(name));
    }
    for (at, subject) in cells::items(binding, &["subjects"]).iter().enumerate() {
        subject_faults(subject, is_namespaced, &Path::new("subjects").index(at), errors);
    }
}

fn subject_faults(subject: &Value, is_namespaced: bool, path: &Path, errors: &mut ErrorList) {
    let text = |key| subject.text_at(&[key]);
    let (name, group) = (text("name"), text("apiGroup"));
    if name.is_empty() {
        errors.required(path.child("name"), "");
    }
    match text("kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                errors.invalid_each(&path.child("name"), name, names::dns1123_subdomain(name));
            }
            if !group.is_empty() {
                errors.not_supported(path.child("apiGroup"), quoted(group), &[""]);
            }
            if !is_namespaced && text("namespace").is_empty() {
                errors.required(path.child("namespace"), "");
            }
        }
        "User" | "Group" if group != GROUP => {
            errors.not_supported(path.child("apiGroup"), quoted(group), &[GROUP]);
        }
        "User" | "Group" => {}
        kind => errors.not_supported(path.child("kind"), quoted(kind), &["ServiceAccount", "User", "Group"]),
    }
}

/// A `RoleRef` as Go's internal type shows itself.
fn go_role(role: &Value) -> String {
    let text = |key| quoted(role.text_at(&[key]));
    format!("{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}", text("apiGroup"), text("kind"), text("name"))
}

fn names_of(subjects: &[&Value]) -> String {
    subjects.iter().map(|one| one.text_at(&["name"])).collect::<Vec<_>>().join(", ")
}

fn set_group(reference: &mut Object) {
    if reference.str("apiGroup").unwrap_or_default().is_empty() {
        reference.insert("apiGroup", GROUP);
    }
}

#[cfg(test)]
mod tests {
    use apiwright_registry::Writer;

    use super::*;
    use apiwright_json::decode;
    use apiwright_registry::hooks::Notes;

    #[test]
    fn what_is_wrong_with_bindings() {
        let role = r#""roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"r"}"#;
        #[rustfmt::skip]
        let table = [
            ("RoleBinding", role.to_owned(), "[]"),
            ("RoleBinding", r#""roleRef":{"apiGroup":"rbac.authorization.k8s.io"}"#.into(), "[roleRef.kind: Unsupported value: \"\": supported values: \"Role\", \"ClusterRole\", roleRef.name: Required value]"),
            ("ClusterRoleBinding", role.replace("ClusterRole", "Role"), "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\""),
            ("RoleBinding", role.replace("rbac.", "x."), "roleRef.apiGroup: Unsupported value: \"x.authorization.k8s.io\": supported values: \"rbac.authorization.k8s.io\""),
            ("RoleBinding", format!(r#"{role},"subjects":[{{"kind":"User","name":"u","apiGroup":"v1"}}]"#), "subjects[0].apiGroup: Unsupported value: \"v1\": supported values: \"rbac.authorization.k8s.io\""),
            ("RoleBinding", format!(r#"{role},"subjects":[{{"kind":"ServiceAccount","name":"s"}}]"#), "[]"),
            ("ClusterRoleBinding", format!(r#"{role},"subjects":[{{"kind":"ServiceAccount","name":"s","apiGroup":"v1"}}]"#), "[subjects[0].apiGroup: Unsupported value: \"v1\": supported values: \"\", subjects[0].namespace: Required value]"),
            ("RoleBinding", format!(r#"{role},"subjects":[{{"kind":"Robot"}}]"#), "[subjects[0].name: Required value, subjects[0].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \"Group\"]"),
        ];
        for (kind, members, expected) in table {
            let (binding, _) = decode(format!(r#"{{"kind":"{kind}",{members}}}"#).as_bytes()).unwrap();
            let mut errors = ErrorList::new();
            faults(&binding, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{members}");
        }
    }

    #[test]
    fn the_role_stays() {
        let decode = |name: &str| {
            let text = format!(
                r#"{{"kind":"RoleBinding","roleRef":{{"apiGroup":"{GROUP}","kind":"Role","name":"{name}"}}}}"#
            );
            decode(text.as_bytes()).unwrap().0
        };
        let user = Writer::default();
        let context = WriteContext { subresource: "", user: &user, dry_run: false, notes: &Notes::default() };
        let mut errors = ErrorList::new();
        Binding.validate_update(context, &decode("other"), &decode("r"), &mut errors);
        assert_eq!(
            errors.aggregate(),
            "roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"other\"}: cannot change roleRef"
        );
    }
}
