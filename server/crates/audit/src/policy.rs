//! `--audit-policy-file`: which requests are audited, and how deep.

use apiwright_chain::trail::Depth;
use apiwright_chain::{RequestInfo, User};
use apiwright_json::{Value, yaml};

use crate::event::Stage;

/// A `Policy` of audit.k8s.io/v1.
#[derive(Debug)]
pub struct Policy {
    rules: Vec<Rule>,
    rest: Orders,
}

/// What is to be done about a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// How deep; `None` for not at all.
    pub depth: Option<Depth>,
    /// Whether objects are noted without their managedFields.
    pub omit_managed_fields: bool,
    omitted: u8,
}

#[derive(Debug, Default)]
struct Rule {
    orders: Orders,
    users: Vec<String>,
    groups: Vec<String>,
    verbs: Vec<String>,
    resources: Vec<Resources>,
    namespaces: Vec<String>,
    urls: Vec<String>,
}

#[derive(Debug, Default)]
struct Resources {
    group: String,
    plurals: Vec<String>,
    names: Vec<String>,
}

impl Orders {
    /// Whether no event is wanted of this stage.
    pub fn omits(&self, stage: Stage) -> bool {
        self.omitted & stage.bit() != 0
    }
}

impl Policy {
    /// Reads a policy file's text.
    ///
    /// # Errors
    /// What is wrong with it, all at once, one line each.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let (object, _) = yaml::decode(text).map_err(|why| why.to_string())?;
        let (version, kind) = (object.text_at(&["apiVersion"]), object.text_at(&["kind"]));
        if (version, kind) != ("audit.k8s.io/v1", "Policy") {
            return Err(format!(
                "this is a {kind:?} of {version:?}; an audit policy is a \"Policy\" of \"audit.k8s.io/v1\""
            ));
        }
        let mut faults = Faults::default();
        faults.unknown(
            &object,
            "",
            &["apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"],
        );
        let omitted = stages(&object, "", &mut faults);
        let rest = Orders { depth: None, omit_managed_fields: flag(&object).unwrap_or(false), omitted };
        let rules = items(&object, "rules").enumerate();
        let rules: Vec<Rule> =
            rules.map(|(at, rule)| Rule::read(rule, &format!("rules[{at}]"), rest, &mut faults)).collect();
        if rules.is_empty() {
            faults.0.push("rules: there must be at least one".into());
        }
        if faults.0.is_empty() { Ok(Self { rules, rest }) } else { Err(faults.0.join("\n")) }
    }

    /// What is to be done about a user's request: the first rule that is about it says.
    pub fn orders(&self, user: &User, info: &RequestInfo) -> Orders {
        let rule = self.rules.iter().find(|rule| rule.matches(user, info));
        rule.map_or(self.rest, |rule| rule.orders)
    }
}

impl Rule {
    fn read(rule: &Value, at: &str, rest: Orders, faults: &mut Faults) -> Self {
        #[rustfmt::skip]
        faults.unknown(rule, at, &[
            "level", "users", "userGroups", "verbs", "resources", "namespaces", "nonResourceURLs", "omitStages",
            "omitManagedFields",
        ]);
        let depth = match rule.text_at(&["level"]) {
            "None" => None,
            "Metadata" => Some(Depth::Metadata),
            "Request" => Some(Depth::Request),
            "RequestResponse" => Some(Depth::RequestResponse),
            "" => {
                faults.0.push(format!("{at}.level: Required value"));
                None
            }
            other => {
                faults.0.push(format!(
                    "{at}.level: Unsupported value: {other:?}: supported values: \"None\", \"Metadata\", \"Request\", \"RequestResponse\""
                ));
                None
            }
        };
        let resources = items(rule, "resources").enumerate().map(|(number, one)| {
            let at = format!("{at}.resources[{number}]");
            faults.unknown(one, &at, &["group", "resources", "resourceNames"]);
            let read = Resources {
                group: one.text_at(&["group"]).to_owned(),
                plurals: texts(one, "resources"),
                names: texts(one, "resourceNames"),
            };
            if read.group.contains('/') {
                faults.0.push(format!("{at}.group: Invalid value: {:?}: a group has no version", read.group));
            }
            if !read.names.is_empty() && read.plurals.is_empty() {
                faults
                    .0
                    .push(format!("{at}.resourceNames: using resourceNames requires at least one resource"));
            }
            read
        });
        let resources: Vec<Resources> = resources.collect();
        let urls = texts(rule, "nonResourceURLs");
        for (number, url) in urls.iter().enumerate().filter(|(_, url)| *url != "*") {
            let at = format!("{at}.nonResourceURLs[{number}]: Invalid value: {url:?}");
            if !url.starts_with('/') {
                faults.0.push(format!("{at}: non-resource URL rules must begin with a '/' character"));
            }
            if url.strip_suffix('*').unwrap_or(url).contains('*') {
                faults.0.push(format!(
                    "{at}: non-resource URL wildcards '*' must be the final character of the rule"
                ));
            }
        }
        let namespaces = texts(rule, "namespaces");
        let about_resources = !resources.is_empty() || !namespaces.is_empty();
        if !urls.is_empty() && about_resources {
            faults.0.push(format!(
                "{at}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs"
            ));
        }
        let orders = Orders {
            depth,
            omit_managed_fields: flag(rule).unwrap_or(rest.omit_managed_fields),
            omitted: rest.omitted | stages(rule, at, faults),
        };
        Self {
            orders,
            users: texts(rule, "users"),
            groups: texts(rule, "userGroups"),
            verbs: texts(rule, "verbs"),
            resources,
            namespaces,
            urls,
        }
    }

    fn matches(&self, user: &User, info: &RequestInfo) -> bool {
        let open = |list: &[String], has: &dyn Fn(&String) -> bool| list.is_empty() || list.iter().any(has);
        if !open(&self.users, &|name| *name == user.name)
            || !open(&self.groups, &|group| user.in_group(group))
            || !open(&self.verbs, &|verb| *verb == info.verb)
        {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return info.is_resource
                && open(&self.namespaces, &|namespace| *namespace == info.namespace)
                && (self.resources.is_empty() || self.resources.iter().any(|one| one.matches(info)));
        }
        self.urls.is_empty() || (!info.is_resource && self.urls.iter().any(|url| covers(url, &info.path)))
    }
}

impl Resources {
    fn matches(&self, info: &RequestInfo) -> bool {
        if self.group != "*" && self.group != info.group {
            return false;
        }
        if self.plurals.is_empty() {
            return true;
        }
        if !self.names.is_empty() && !self.names.contains(&info.name) {
            return false;
        }
        self.plurals.iter().any(|resource| match resource.split_once('/') {
            None if resource == "*" => true,
            None => *resource == info.resource && info.subresource.is_empty(),
            Some((its, "*")) => its == info.resource,
            Some(("*", its)) => !info.subresource.is_empty() && its == info.subresource,
            Some((its, subresource)) => its == info.resource && subresource == info.subresource,
        })
    }
}

fn covers(url: &str, path: &str) -> bool {
    url == "*" || url == path || url.strip_suffix('*').is_some_and(|prefix| path.starts_with(prefix))
}

/// What is wrong.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn unknown(&mut self, value: &Value, at: &str, known: &[&str]) {
        let Some(object) = value.as_object() else {
            self.0.push(format!("{at}: must be a mapping"));
            return;
        };
        let dot = if at.is_empty() { "" } else { "." };
        let unknown = object.iter().map(|(name, _)| name).filter(|name| !known.contains(&name.as_str()));
        self.0.extend(unknown.map(|name| format!("{at}{dot}{}: unknown field", name.as_str())));
    }
}

fn stages(value: &Value, at: &str, faults: &mut Faults) -> u8 {
    let dot = if at.is_empty() { "" } else { "." };
    let mut bits = 0;
    for (number, name) in texts(value, "omitStages").iter().enumerate() {
        match Stage::ALL.into_iter().find(|stage| stage.as_str() == name) {
            Some(stage) => bits |= stage.bit(),
            None => faults.0.push(format!(
                "{at}{dot}omitStages[{number}]: Invalid value: {name:?}: allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic"
            )),
        }
    }
    bits
}

fn flag(value: &Value) -> Option<bool> {
    value.get("omitManagedFields").and_then(Value::as_bool)
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    items(value, key).filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    const POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: None, users: [system:kube-proxy], verbs: [watch]}
- {level: None, nonResourceURLs: [/healthz*, /version]}
- {level: Metadata, resources: [{group: "", resources: [secrets, configmaps, pods/log]}], omitStages: [Panic]}
- {level: Request, resources: [{group: apps, resources: ["*/scale", "deployments/*"]}], omitManagedFields: false}
- {level: RequestResponse, namespaces: [kube-system], userGroups: [devs]}
- {level: Request, resources: [{group: "", resources: [nodes], resourceNames: [n1]}]}
"#;

    #[test]
    fn the_first_rule_that_matches_says() {
        let policy = Policy::read(POLICY.as_bytes()).unwrap();
        let user = |name: &str, groups: &[&str]| User {
            name: name.into(),
            groups: groups.iter().map(ToString::to_string).collect(),
            ..User::default()
        };
        let (bob, dev, proxy) = (user("bob", &[]), user("dev", &["devs"]), user("system:kube-proxy", &[]));
        for (user, method, path, depth) in [
            (&proxy, Method::GET, "/api/v1/watch/pods", None),
            (&bob, Method::GET, "/healthz/ping", None),
            (&bob, Method::GET, "/version/x", None),
            (&bob, Method::GET, "/api/v1/secrets", Some(Depth::Metadata)),
            (&bob, Method::GET, "/api/v1/namespaces/n/pods/p/log", Some(Depth::Metadata)),
            (&bob, Method::GET, "/api/v1/namespaces/n/pods/p", None),
            (&bob, Method::PUT, "/apis/apps/v1/namespaces/n/replicasets/r/scale", Some(Depth::Request)),
            (&bob, Method::PUT, "/apis/apps/v1/namespaces/n/deployments/d", Some(Depth::Request)),
            (&dev, Method::GET, "/api/v1/namespaces/kube-system/pods", Some(Depth::RequestResponse)),
            (&dev, Method::GET, "/api/v1/namespaces/other/pods", None),
            (&bob, Method::GET, "/api/v1/nodes/n1", Some(Depth::Request)),
            (&bob, Method::GET, "/api/v1/nodes/n2", None),
        ] {
            let info = RequestInfo::parse(&method, path, "").unwrap();
            let orders = policy.orders(user, &info);
            assert_eq!(orders.depth, depth, "{path}");
            assert!(orders.omits(Stage::RequestReceived) && !orders.omits(Stage::ResponseComplete));
            assert_eq!(orders.omits(Stage::Panic), depth == Some(Depth::Metadata), "{path}");
        }
    }

    #[test]
    fn all_faults_are_told_at_once() {
        let text = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [Never]
rules:
- {level: Everything, user: [x]}
- {nonResourceURLs: [healthz, "/a*b"], resources: [{group: apps/v1, resourceNames: [x]}]}
"#;
        let faults = Policy::read(text.as_bytes()).unwrap_err();
        #[rustfmt::skip]
        let expected = [
            "omitStages[0]: Invalid value: \"Never\": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic",
            "rules[0].user: unknown field",
            "rules[0].level: Unsupported value: \"Everything\": supported values: \"None\", \"Metadata\", \"Request\", \"RequestResponse\"",
            "rules[1].level: Required value",
            "rules[1].resources[0].group: Invalid value: \"apps/v1\": a group has no version",
            "rules[1].resources[0].resourceNames: using resourceNames requires at least one resource",
            "rules[1].nonResourceURLs[0]: Invalid value: \"healthz\": non-resource URL rules must begin with a '/' character",
            "rules[1].nonResourceURLs[1]: Invalid value: \"/a*b\": non-resource URL wildcards '*' must be the final character of the rule",
            "rules[1].nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs",
        ];
        assert_eq!(faults.lines().collect::<Vec<_>>(), expected);
        for text in ["kind: Policy", "[", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []"] {
            assert!(Policy::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
