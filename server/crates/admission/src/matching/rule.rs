//! One rule: operations, groups, versions, resources, scope, and of policies names.

use apiwright_json::Value;
use apiwright_registry::Resource;

use crate::attributes::{Attributes, Operation};

/// `RuleWithOperations`, and `NamedRuleWithOperations` where it has names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// `None` for all.
    operations: Option<Vec<Operation>>,
    groups: Vec<Box<str>>,
    versions: Vec<Box<str>>,
    /// Resource and subresource.
    resources: Vec<(Box<str>, Box<str>)>,
    scope: RuleScope,
    /// None for all.
    names: Vec<Box<str>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RuleScope {
    #[default]
    All,
    Cluster,
    Namespaced,
}

impl Rule {
    /// Reads a rule in normal form.
    pub fn read(rule: &Value) -> Self {
        let operations = texts(rule, "operations");
        Self {
            operations: (!has(&operations, "*"))
                .then(|| operations.iter().filter_map(|one| operation(one)).collect()),
            groups: texts(rule, "apiGroups"),
            versions: texts(rule, "apiVersions"),
            resources: texts(rule, "resources")
                .iter()
                .map(|one| {
                    let (resource, subresource) = one.split_once('/').unwrap_or((one, ""));
                    (resource.into(), subresource.into())
                })
                .collect(),
            scope: match rule.text_at(&["scope"]) {
                "Cluster" => RuleScope::Cluster,
                "Namespaced" => RuleScope::Namespaced,
                _ => RuleScope::All,
            },
            names: texts(rule, "resourceNames"),
        }
    }

    /// Whether it is about a request, if that came to this resource.
    pub(super) fn matches(&self, request: &Attributes<'_>, resource: &Resource) -> bool {
        self.operations.as_ref().is_none_or(|all| all.contains(&request.operation))
            && any_of(&self.groups, &resource.group)
            && any_of(&self.versions, &resource.version)
            && self.resources.iter().any(|(plural, subresource)| {
                is(plural, &resource.plural) && is(subresource, request.subresource)
            })
            && self.is_in_scope(request, resource)
            && (self.names.is_empty() || has(&self.names, request.name))
    }

    /// A namespace's object is of the cluster, though a request for it has itself as namespace.
    fn is_in_scope(&self, request: &Attributes<'_>, resource: &Resource) -> bool {
        let of_cluster = || {
            let is_namespace =
                resource.group.is_empty() && *resource.version == *"v1" && *resource.plural == *"namespaces";
            is_namespace || request.namespace.is_empty()
        };
        match self.scope {
            RuleScope::All => true,
            RuleScope::Cluster => of_cluster(),
            RuleScope::Namespaced => !of_cluster(),
        }
    }
}

fn operation(text: &str) -> Option<Operation> {
    let all = [Operation::Create, Operation::Update, Operation::Delete, Operation::Connect];
    all.into_iter().find(|one| one.as_str() == text)
}

fn is(wanted: &str, it: &str) -> bool {
    wanted == "*" || wanted == it
}

fn any_of(wanted: &[Box<str>], it: &str) -> bool {
    wanted.iter().any(|one| is(one, it))
}

fn has(list: &[Box<str>], text: &str) -> bool {
    list.iter().any(|one| **one == *text)
}

fn texts(rule: &Value, member: &str) -> Vec<Box<str>> {
    let items = rule.get(member).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(Into::into).collect()
}
