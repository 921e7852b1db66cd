//! RoleBindings and ClusterRoleBindings.

use apiwright_json::{Object, Value};
use apiwright_registry::Hooks;

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

    fn cell(&self, column: &str, object: &Value) -> Value {
        let of = |kind: &str| cells::items(object, &["subjects"]).iter().filter(move |one| one.text_at(&["kind"]) == kind).collect::<Vec<_>>();
        match column {
            "Users" => names(&of("User")).into(),
            "Groups" => names(&of("Group")).into(),
            "ServiceAccounts" => {
                let accounts = of("ServiceAccount");
                let names = accounts.iter().map(|one| format!("{}/{}", one.text_at(&["namespace"]), one.text_at(&["name"])));
                names.collect::<Vec<_>>().join(", ").into()
            }
            _ => Value::Null,
        }
    }
}

fn names(subjects: &[&Value]) -> String {
    subjects.iter().map(|one| one.text_at(&["name"])).collect::<Vec<_>>().join(", ")
}

fn set_group(reference: &mut Object) {
    if reference.str("apiGroup").unwrap_or_default().is_empty() {
        reference.insert("apiGroup", GROUP);
    }
}
