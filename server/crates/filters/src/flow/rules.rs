//! One rule of a flow schema, and the requests that it is about.

use apiwright_chain::{RequestInfo, User};
use apiwright_json::Value;

/// A `PolicyRulesWithSubjects`.
pub(super) struct Rule {
    subjects: Vec<Subject>,
    resources: Vec<ResourceRule>,
    paths: Vec<PathRule>,
}

enum Subject {
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
}

struct ResourceRule {
    verbs: Vec<String>,
    groups: Vec<String>,
    resources: Vec<String>,
    cluster_scope: bool,
    namespaces: Vec<String>,
}

struct PathRule {
    verbs: Vec<String>,
    urls: Vec<String>,
}

impl Rule {
    /// Reads a rule; what has another form than it should counts as absent.
    pub(super) fn read(rule: &Value) -> Self {
        Self {
            subjects: items(rule, "subjects").filter_map(Subject::read).collect(),
            resources: items(rule, "resourceRules").map(ResourceRule::read).collect(),
            paths: items(rule, "nonResourceRules").map(PathRule::read).collect(),
        }
    }

    /// Whether a user's request is what the rule is about.
    pub(super) fn matches(&self, user: &User, info: &RequestInfo) -> bool {
        self.subjects.iter().any(|subject| subject.matches(user))
            && if info.is_resource {
                self.resources.iter().any(|rule| rule.matches(info))
            } else {
                self.paths.iter().any(|rule| rule.matches(info))
            }
    }
}

impl Subject {
    fn read(subject: &Value) -> Option<Self> {
        let text = |path: [&str; 2]| subject.text_at(&path).to_owned();
        match subject.text_at(&["kind"]) {
            "User" => Some(Self::User(text(["user", "name"]))),
            "Group" => Some(Self::Group(text(["group", "name"]))),
            "ServiceAccount" => Some(Self::ServiceAccount {
                namespace: text(["serviceAccount", "namespace"]),
                name: text(["serviceAccount", "name"]),
            }),
            _ => None,
        }
    }

    fn matches(&self, user: &User) -> bool {
        match self {
            Self::User(name) => name == "*" || *name == user.name,
            Self::Group(name) => name == "*" || user.in_group(name),
            Self::ServiceAccount { namespace, name } => {
                let rest = user.name.strip_prefix("system:serviceaccount:");
                let own = rest.and_then(|rest| rest.strip_prefix(namespace.as_str())?.strip_prefix(':'));
                own.is_some_and(|own| name == "*" || own == name)
            }
        }
    }
}

impl ResourceRule {
    fn read(rule: &Value) -> Self {
        Self {
            verbs: texts(rule, "verbs"),
            groups: texts(rule, "apiGroups"),
            resources: texts(rule, "resources"),
            cluster_scope: rule.get("clusterScope").and_then(Value::as_bool).unwrap_or_default(),
            namespaces: texts(rule, "namespaces"),
        }
    }

    fn matches(&self, info: &RequestInfo) -> bool {
        has(&self.verbs, &info.verb)
            && self.has_resource(&info.resource, &info.subresource)
            && has(&self.groups, &info.group)
            && if info.namespace.is_empty() {
                self.cluster_scope
            } else {
                has(&self.namespaces, &info.namespace)
            }
    }

    fn has_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|one| match one.split_once('/') {
            _ if one == "*" => true,
            Some((its, its_subresource)) => its == resource && its_subresource == subresource,
            None => one == resource && subresource.is_empty(),
        })
    }
}

impl PathRule {
    fn read(rule: &Value) -> Self {
        Self { verbs: texts(rule, "verbs"), urls: texts(rule, "nonResourceURLs") }
    }

    /// A path is about everything below it, too.
    fn matches(&self, info: &RequestInfo) -> bool {
        let covers = |url: &String| {
            let prefix = url.strip_suffix('*').unwrap_or(url);
            let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
            url == "*"
                || *url == info.path
                || info.path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
        };
        has(&self.verbs, &info.verb) && self.urls.iter().any(covers)
    }
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == "*" || item == wanted)
}

fn items<'a>(rule: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    rule.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn texts(rule: &Value, key: &str) -> Vec<String> {
    items(rule, key).filter_map(|item| item.as_str().map(str::to_owned)).collect()
}
