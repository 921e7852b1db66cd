//! One rule of a role, and what it allows.

use apiwright_chain::RequestInfo;
use apiwright_json::{Object, Str, Value};

/// A `PolicyRule`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// Verbs, or `*`.
    pub verbs: Vec<Str>,
    /// API groups, or `*`.
    pub api_groups: Vec<Str>,
    /// Resources, `resource/subresource`, `*/subresource` or `*`.
    pub resources: Vec<Str>,
    /// Names; empty for all.
    pub resource_names: Vec<Str>,
    /// Paths; a `*` at the end stands for anything.
    pub non_resource_urls: Vec<Str>,
}

impl Rule {
    /// Reads a `PolicyRule`; what has another form than it should counts as absent.
    pub fn read(rule: &Value) -> Self {
        let list = |key| -> Vec<Str> {
            let items = rule.get(key).and_then(Value::as_array);
            items.into_iter().flatten().filter_map(|item| item.as_str().map(Str::from)).collect()
        };
        Self {
            verbs: list("verbs"),
            api_groups: list("apiGroups"),
            resources: list("resources"),
            resource_names: list("resourceNames"),
            non_resource_urls: list("nonResourceURLs"),
        }
    }

    /// The rules of a Role or `ClusterRole`.
    pub fn read_all(role: &Value) -> Vec<Self> {
        role.get("rules").and_then(Value::as_array).into_iter().flatten().map(Self::read).collect()
    }

    /// The `PolicyRule`.
    pub fn to_value(&self) -> Value {
        let lists = [
            ("verbs", &self.verbs),
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ];
        let mut rule = Object::default();
        for (name, list) in lists {
            if !list.is_empty() || name == "verbs" {
                rule.insert(name, list.iter().cloned().map(Value::String).collect::<Vec<_>>());
            }
        }
        rule.into()
    }

    /// Whether the rule allows a request.
    pub fn allows(&self, what: &RequestInfo) -> bool {
        has(&self.verbs, &what.verb)
            && if what.is_resource {
                has(&self.api_groups, &what.group)
                    && self.covers_resource(&what.resource, &what.subresource)
                    && (self.resource_names.is_empty()
                        || self.resource_names.iter().any(|name| *name == what.name))
            } else {
                self.non_resource_urls.iter().any(|url| covers_path(url, &what.path))
            }
    }

    fn covers_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|covered| {
            covered == "*"
                || if subresource.is_empty() {
                    covered == resource
                } else {
                    covered.split_once('/').is_some_and(|(covered, its_subresource)| {
                        its_subresource == subresource && (covered == "*" || covered == resource)
                    })
                }
        })
    }
}

fn has(list: &[Str], wanted: &str) -> bool {
    list.iter().any(|item| item == "*" || item == wanted)
}

fn covers_path(url: &str, path: &str) -> bool {
    url == "*" || url == path || (url.ends_with('*') && path.starts_with(url.trim_end_matches('*')))
}
