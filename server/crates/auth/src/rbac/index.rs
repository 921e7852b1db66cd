//! Roles, and bindings by subject.

use std::collections::HashMap;
use std::sync::Arc;

use apiwright_chain::User;
use apiwright_json::Value;

use super::roles::{At, RoleRef, Roles};
use super::rules::Rule;

/// A namespace and a name; the namespace is empty for cluster-wide objects.
pub(super) type Place = (Box<str>, Box<str>);

/// Everything that is in force.
#[derive(Default)]
pub(super) struct Index {
    pub(super) roles: Roles,
    /// Namespace, then subject; the empty namespace's bindings count everywhere.
    grants: HashMap<Box<str>, BySubject>,
    /// What each binding put into `grants`, to take it out again, and the role that it binds to.
    bindings: HashMap<Place, (Vec<Subject>, At)>,
}

/// Two maps, so that looking a name up copies nothing.
#[derive(Default)]
struct BySubject {
    users: HashMap<Box<str>, Vec<Grant>>,
    groups: HashMap<Box<str>, Vec<Grant>>,
}

impl BySubject {
    fn of(&mut self, subject: &Subject) -> (&mut HashMap<Box<str>, Vec<Grant>>, Box<str>) {
        match subject {
            Subject::User(name) => (&mut self.users, name.clone()),
            Subject::Group(name) => (&mut self.groups, name.clone()),
        }
    }

    fn is_empty(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty()
    }
}

/// Whom a binding binds. Service accounts are users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    User(Box<str>),
    Group(Box<str>),
}

/// A role, bound to a subject.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    binding: Box<str>,
    pub(super) role: At,
    /// What an access review says.
    pub(super) reason: Arc<str>,
}

impl Index {
    /// What is bound to a user: in the whole cluster first, then in the namespace.
    pub(super) fn grants<'a>(&'a self, user: &'a User, namespace: &str) -> impl Iterator<Item = &'a Grant> {
        let here = if namespace.is_empty() { None } else { self.grants.get(namespace) };
        let places = [self.grants.get(""), here].into_iter().flatten();
        places.flat_map(move |bindings| {
            let own = bindings.users.get(user.name.as_str()).into_iter().flatten();
            let groups = user.groups.iter().filter_map(|group| bindings.groups.get(group.as_str()));
            own.chain(groups.flatten())
        })
    }

    pub(super) fn set_role(&mut self, place: Place, role: Option<&Value>) {
        let reference = RoleRef::new(place.0.is_empty(), &place.0, &place.1);
        self.roles.set(reference, role.map(|role| Rule::read_all(role).into()));
    }

    pub(super) fn set_binding(&mut self, place: Place, binding: Option<&Value>) {
        self.unbind(&place);
        let Some(binding) = binding else { return };
        let (namespace, name) = &place;
        let role = binding.get("roleRef").cloned().unwrap_or_default();
        let role_kind = role.text_at(&["kind"]);
        let role_ref = RoleRef::new(role_kind == "ClusterRole", namespace, role.text_at(&["name"]));
        let what = if namespace.is_empty() {
            format!("ClusterRoleBinding \"{name}\"")
        } else {
            format!("RoleBinding \"{name}/{namespace}\"")
        };
        let role_name = role_ref.name().to_owned();
        let role = self.roles.bind(role_ref);
        let here = self.grants.entry(namespace.clone()).or_default();
        let mut subjects = Vec::new();
        for subject in binding.get("subjects").and_then(Value::as_array).into_iter().flatten() {
            let Some((subject, whom)) = subject_of(subject, namespace) else { continue };
            let reason = format!("RBAC: allowed by {what} of {role_kind} \"{role_name}\" to {whom}").into();
            let grant = Grant { binding: name.clone(), role, reason };
            let (grants, name) = here.of(&subject);
            grants.entry(name).or_default().push(grant);
            subjects.push(subject);
        }
        self.bindings.insert(place, (subjects, role));
    }

    fn unbind(&mut self, place: &Place) {
        let Some((subjects, role)) = self.bindings.remove(place) else { return };
        self.roles.unbind(role);
        let Some(here) = self.grants.get_mut(&place.0) else { return };
        for subject in subjects {
            let (grants, name) = here.of(&subject);
            if let Some(own) = grants.get_mut(&name) {
                own.retain(|grant| grant.binding != place.1);
                if own.is_empty() {
                    grants.remove(&name);
                }
            }
        }
        if here.is_empty() {
            self.grants.remove(&place.0);
        }
    }

    /// Forgets the roles or bindings for which `keep` says no.
    pub(super) fn retain_roles(&mut self, mut keep: impl FnMut(&str, &str) -> bool) {
        self.roles.retain(|role| keep(role.namespace(), role.name()));
    }

    pub(super) fn retain_bindings(&mut self, mut keep: impl FnMut(&str, &str) -> bool) {
        let gone: Vec<Place> =
            self.bindings.keys().filter(|place| !keep(&place.0, &place.1)).cloned().collect();
        for place in gone {
            self.unbind(&place);
        }
    }
}

/// A binding's subject, and how reviews print it.
fn subject_of(subject: &Value, binding_namespace: &str) -> Option<(Subject, String)> {
    let name = subject.text_at(&["name"]);
    match subject.text_at(&["kind"]) {
        "User" => Some((Subject::User(name.into()), format!("User \"{name}\""))),
        "Group" => Some((Subject::Group(name.into()), format!("Group \"{name}\""))),
        "ServiceAccount" => {
            let named = subject.text_at(&["namespace"]);
            let namespace = if named.is_empty() { binding_namespace } else { named };
            if namespace.is_empty() {
                return None;
            }
            let user = format!("system:serviceaccount:{namespace}:{name}");
            Some((Subject::User(user.into()), format!("ServiceAccount \"{name}/{namespace}\"")))
        }
        _ => None,
    }
}
