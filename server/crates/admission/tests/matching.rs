//! What webhooks and policies match.
#![allow(missing_docs)]

mod support;

use std::sync::Arc;

use apiwright_admission::matching::Criteria;
use apiwright_admission::{
    Annotations, Attributes, Objects, OneForm, Operation, Reinvocation, User, Warnings,
};
use apiwright_meta::GroupVersionKind;
use apiwright_registry::resource::Verb;
use apiwright_registry::{Kind, Resource, Store, Subresource, SubresourceKind, WriteOptions};
use apiwright_schema::Ref;
use apiwright_storage::Storage;
use apiwright_storage_embedded::{Embedded, Options};
use support::{parsed, resource};

/// What a request is about.
struct Request {
    operation: Operation,
    resource: Resource,
    subresource: &'static str,
    namespace: &'static str,
    object: &'static str,
}

impl Request {
    fn new(group: &'static str, plural: &'static str, kind: &'static str, namespace: &'static str) -> Self {
        Self {
            operation: Operation::Create,
            resource: with_status(resource(group, plural, kind, !namespace.is_empty())),
            subresource: "",
            namespace,
            object: "{}",
        }
    }

    fn doing(self, operation: Operation) -> Self {
        Self { operation, ..self }
    }

    fn on(self, subresource: &'static str) -> Self {
        Self { subresource, ..self }
    }

    fn with(self, object: &'static str) -> Self {
        Self { object, ..self }
    }

    /// As which group and version it matches, `-` for not, else the refusal.
    async fn matched(&self, criteria: &Criteria, objects: &Objects, versions: &[Arc<Resource>]) -> String {
        let kind = GroupVersionKind {
            group: (*self.resource.group).into(),
            version: (*self.resource.version).into(),
            kind: (*self.resource.kind).into(),
        };
        let (warnings, reinvocation) = (Warnings::default(), Reinvocation::default());
        let request = Attributes {
            operation: self.operation,
            resource: &self.resource,
            kind: &kind,
            subresource: self.subresource,
            namespace: self.namespace,
            name: "x",
            user: User::default(),
            dry_run: false,
            deadline: None,
            options: None,
            warnings: &warnings,
            annotations: &Annotations::default(),
            versions,
            forms: &OneForm,
            reinvocation: &reinvocation,
        };
        let object = parsed(self.object);
        match criteria.matches(&request, Some(&object), None, objects).await {
            Ok(None) => "-".into(),
            Ok(Some(matched)) => {
                let kind = matched.kind();
                format!("{}/{}.{}", kind.group, &*matched.resource().version, kind.kind)
            }
            Err(status) => status.message,
        }
    }
}

fn with_status(resource: Resource) -> Resource {
    let status = Subresource {
        name: Ref::Static("status"),
        does: SubresourceKind::Status,
        kind: Kind {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
        },
        verbs: Ref::Static(&[Verb::Get]),
    };
    Resource { subresources: Ref::Shared(Arc::from(vec![status])), ..resource }
}

async fn namespaces() -> Objects {
    let storage: Arc<dyn Storage> = Arc::new(Embedded::memory(Options::default()));
    let kind = resource("", "namespaces", "Namespace", false);
    let objects = Objects::new([Store::new(Arc::new(kind), storage)]);
    let store = objects.store("", "namespaces").unwrap();
    for json in [r#"{"metadata":{"name":"shop","labels":{"team":"blue"}}}"#, r#"{"metadata":{"name":"lab"}}"#]
    {
        store.create(&WriteOptions::default(), "", parsed(json), &support::Yes).await.unwrap();
    }
    objects
}

#[tokio::test]
async fn rules_and_selectors() {
    let objects = namespaces().await;
    let rule = |operations: &str, group: &str, resources: &str| {
        format!(
            r#"{{"operations":[{operations}],"apiGroups":["{group}"],"apiVersions":["v1"],"resources":[{resources}]}}"#
        )
    };
    let hook = |rule: String, more: &str| format!(r#"{{"matchPolicy":"Exact","rules":[{rule}]{more}}}"#);
    let pods = || Request::new("", "pods", "Pod", "shop");
    let nodes = || Request::new("", "nodes", "Node", "");
    let own =
        |labels| Request { namespace: "new", ..Request::new("", "namespaces", "Namespace", "").with(labels) };
    let any_pod = || rule("\"*\"", "", "\"pods\"");
    let scoped =
        |scope: &str| any_pod().replace('}', &format!(",\"scope\":\"{scope}\"}}")).replace("pods", "*");
    let blue = r#","namespaceSelector":{"matchLabels":{"team":"blue"}}"#;
    let red = r#","objectSelector":{"matchLabels":{"colour":"red"}}"#;
    for (name, hook, request, want) in vec![
        ("any operation", hook(any_pod(), ""), pods(), "/v1.Pod"),
        ("another operation", hook(rule("\"UPDATE\"", "", "\"pods\""), ""), pods(), "-"),
        (
            "one of two",
            hook(rule("\"UPDATE\",\"DELETE\"", "", "\"pods\""), ""),
            pods().doing(Operation::Delete),
            "/v1.Pod",
        ),
        ("another group", hook(rule("\"*\"", "apps", "\"pods\""), ""), pods(), "-"),
        ("any group", hook(rule("\"*\"", "*", "\"pods\""), ""), pods(), "/v1.Pod"),
        ("not the subresource", hook(any_pod(), ""), pods().on("status"), "-"),
        ("this subresource", hook(rule("\"*\"", "", "\"pods/status\""), ""), pods().on("status"), "/v1.Pod"),
        ("any subresource", hook(rule("\"*\"", "", "\"pods/*\""), ""), pods().on("status"), "/v1.Pod"),
        ("and the resource", hook(rule("\"*\"", "", "\"pods/*\""), ""), pods(), "/v1.Pod"),
        ("of any resource", hook(rule("\"*\"", "", "\"*/status\""), ""), pods().on("status"), "/v1.Pod"),
        ("all resources are no subresources", hook(rule("\"*\"", "", "\"*\""), ""), pods().on("status"), "-"),
        ("in namespaces", hook(scoped("Namespaced"), ""), pods(), "/v1.Pod"),
        ("not in namespaces", hook(scoped("Namespaced"), ""), nodes(), "-"),
        ("of the cluster", hook(scoped("Cluster"), ""), nodes(), "/v1.Node"),
        ("not of the cluster", hook(scoped("Cluster"), ""), pods(), "-"),
        ("a namespace is of the cluster", hook(scoped("Cluster"), ""), own("{}"), "/v1.Namespace"),
        ("a namespace that is selected", hook(any_pod(), blue), pods(), "/v1.Pod"),
        ("one that is not", hook(any_pod(), blue), Request { namespace: "lab", ..pods() }, "-"),
        (
            "one that is absent",
            hook(any_pod(), blue),
            Request { namespace: "void", ..pods() },
            "namespaces \"void\" not found",
        ),
        ("what is in none", hook(any_pod().replace("pods", "*"), blue), nodes(), "/v1.Node"),
        (
            "a namespace by its own labels",
            hook(scoped("*"), blue),
            own(r#"{"metadata":{"labels":{"team":"blue"}}}"#),
            "/v1.Namespace",
        ),
        ("without them", hook(scoped("*"), blue), own(r#"{"metadata":{}}"#), "-"),
        (
            "an object that is selected",
            hook(any_pod(), red),
            pods().with(r#"{"metadata":{"labels":{"colour":"red"}}}"#),
            "/v1.Pod",
        ),
        (
            "one that is not",
            hook(any_pod(), red),
            pods().with(r#"{"metadata":{"labels":{"colour":"blue"}}}"#),
            "-",
        ),
        ("no rule", r#"{"rules":[]}"#.to_owned(), pods(), "-"),
    ] {
        let criteria = Criteria::of_webhook(&parsed(&hook));
        assert_eq!(request.matched(&criteria, &objects, &[]).await, want, "{name}");
    }
}

#[tokio::test]
async fn equivalent_versions_match_where_that_is_asked_for() {
    let objects = namespaces().await;
    let other = Resource { version: Ref::Static("v2"), ..resource("shop", "carts", "Cart", true) };
    let versions = [Arc::new(with_status(other.clone()))];
    let bare = [Arc::new(other)];
    let hook = |policy: &str| {
        let rule =
            r#"{"operations":["*"],"apiGroups":["shop"],"apiVersions":["v2"],"resources":["carts/*"]}"#;
        Criteria::of_webhook(&parsed(&format!(r#"{{"matchPolicy":"{policy}","rules":[{rule}]}}"#)))
    };
    let cart = || Request::new("shop", "carts", "Cart", "shop");
    assert_eq!(cart().matched(&hook("Exact"), &objects, &versions).await, "-");
    assert_eq!(cart().matched(&hook("Equivalent"), &objects, &versions).await, "shop/v2.Cart");
    let status = cart().on("status");
    assert_eq!(status.matched(&hook("Equivalent"), &objects, &versions).await, "shop/v2.Cart");
    assert_eq!(status.matched(&hook("Equivalent"), &objects, &bare).await, "-", "it has no status there");
}

#[tokio::test]
async fn policies_exclude_and_name() {
    let objects = namespaces().await;
    let rule = |more: &str| {
        format!(r#"{{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["pods"]{more}}}"#)
    };
    let names = |names: &str| rule(&format!(r#","resourceNames":[{names}]"#));
    for (resources, want) in [
        ("{}".to_owned(), "/v1.Pod"),
        (format!(r#"{{"resourceRules":[{}]}}"#, names("\"x\"")), "/v1.Pod"),
        (format!(r#"{{"resourceRules":[{}]}}"#, names("\"y\"")), "-"),
        (format!(r#"{{"excludeResourceRules":[{}]}}"#, names("\"y\"")), "/v1.Pod"),
        (format!(r#"{{"resourceRules":[{0}],"excludeResourceRules":[{0}]}}"#, rule("")), "-"),
    ] {
        let criteria = Criteria::of_match_resources(&parsed(&resources));
        let matched = Request::new("", "pods", "Pod", "shop").matched(&criteria, &objects, &[]).await;
        assert_eq!(matched, want, "{resources}");
    }
}
