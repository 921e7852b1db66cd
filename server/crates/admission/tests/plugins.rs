//! The built-in plugins over objects in memory.
#![allow(missing_docs)]

mod support;

use std::sync::Arc;

use apiwright_admission::{
    Admission, Annotations, Ask, Attributes, Objects, OneForm, Operation, Permits, Reinvocation, Tolerations,
    User, Warnings, built_in,
};
use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_meta::{GroupVersionKind, Status};
use apiwright_registry::{DeleteOptions, Freshness, Store, WriteOptions};
use apiwright_storage::Storage;
use apiwright_storage_embedded::{Embedded, Options};
use futures::FutureExt;
use futures::future::BoxFuture;
use support::{Yes, parsed, resource};

const RESOURCES: [(&str, &str, &str, bool); 8] = [
    ("", "namespaces", "Namespace", false),
    ("", "pods", "Pod", true),
    ("", "configmaps", "ConfigMap", true),
    ("", "resourcequotas", "ResourceQuota", true),
    ("", "serviceaccounts", "ServiceAccount", true),
    ("scheduling.k8s.io", "priorityclasses", "PriorityClass", false),
    ("node.k8s.io", "runtimeclasses", "RuntimeClass", false),
    ("authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview", true),
];

struct Cluster {
    objects: Objects,
    admission: Admission,
    reinvocation: Reinvocation,
    annotations: Annotations,
}

impl Cluster {
    /// With namespace `ns` and the plugins named.
    async fn new(plugins: &[&str]) -> Self {
        let storage: Arc<dyn Storage> = Arc::new(Embedded::memory(Options::default()));
        let objects = Objects::new(RESOURCES.map(|(group, plural, kind, namespaced)| {
            Store::new(Arc::new(resource(group, plural, kind, namespaced)), Arc::clone(&storage))
        }));
        let permits: Arc<dyn Permits> = Arc::new(Nothing);
        let order = plugins.iter().map(|name| (*name, true));
        let admission =
            Admission::choose(built_in(&objects, &permits, Tolerations::default()), order, &[], &[]).unwrap();
        let cluster = Self {
            objects,
            admission,
            reinvocation: Reinvocation::default(),
            annotations: Annotations::default(),
        };
        cluster.make("", "namespaces", r#"{"metadata":{"name":"ns"}}"#).await;
        cluster
    }

    async fn make(&self, group: &str, plural: &str, json: &str) {
        let store = self.objects.store(group, plural).unwrap();
        store.create(&WriteOptions::default(), "ns", parsed(json), &Yes).await.unwrap();
    }

    /// Mutates and validates a creation in namespace `ns`; gives the object.
    async fn create(&self, plural: &str, json: &str) -> Result<Value> {
        self.create_in("ns", plural, json).await
    }

    async fn create_in(&self, namespace: &str, plural: &str, json: &str) -> Result<Value> {
        let group = RESOURCES.iter().find(|one| one.1 == plural).unwrap().0;
        let mut object = parsed(json);
        let (kind, warnings) = (self.kind(group, plural), Warnings::default());
        let request = self.request(Operation::Create, group, plural, namespace, "", &kind, &warnings);
        self.admission.mutate(&request, Some(&mut object), None).await?;
        self.admission.validate(&request, Some(&object), None).await?;
        Ok(object)
    }

    async fn delete(&self, group: &str, plural: &str, name: &str) -> Result<()> {
        let (kind, warnings) = (self.kind(group, plural), Warnings::default());
        let request = self.request(Operation::Delete, group, plural, "", name, &kind, &warnings);
        self.admission.mutate(&request, None, None).await
    }

    fn kind(&self, group: &str, plural: &str) -> GroupVersionKind {
        let resource = &self.objects.store(group, plural).unwrap().resource;
        GroupVersionKind { group: group.into(), version: "v1".into(), kind: (*resource.kind).into() }
    }

    #[allow(clippy::too_many_arguments, reason = "a request has many parts")]
    fn request<'a>(
        &'a self,
        operation: Operation,
        group: &str,
        plural: &str,
        namespace: &'a str,
        name: &'a str,
        kind: &'a GroupVersionKind,
        warnings: &'a Warnings,
    ) -> Attributes<'a> {
        Attributes {
            operation,
            resource: &self.objects.store(group, plural).unwrap().resource,
            kind,
            subresource: "",
            namespace,
            name,
            user: User::default(),
            dry_run: false,
            deadline: None,
            options: None,
            warnings,
            annotations: &self.annotations,
            versions: &[],
            forms: &OneForm,
            reinvocation: &self.reinvocation,
        }
    }
}

/// Permits nothing.
struct Nothing;

impl Permits for Nothing {
    fn may<'a>(&'a self, _: User<'a>, _: Ask<'a>) -> BoxFuture<'a, bool> {
        async { false }.boxed()
    }
}

fn refusal(result: Result<Value>) -> (u16, String) {
    let status: Box<Status> = result.unwrap_err();
    (status.code, status.message)
}

#[tokio::test]
async fn namespaces_that_are_absent_or_going_away() {
    let cluster = Cluster::new(&["NamespaceLifecycle"]).await;
    let object = r#"{"metadata":{"name":"late"}}"#;
    cluster.create("configmaps", object).await.unwrap();
    let absent = cluster.create_in("absent", "configmaps", object).await;
    assert_eq!(refusal(absent), (404, "namespaces \"absent\" not found".into()));
    cluster.create_in("absent", "localsubjectaccessreviews", object).await.unwrap();

    cluster.make("", "namespaces", r#"{"metadata":{"name":"gone","finalizers":["x/y"]}}"#).await;
    let namespaces = cluster.objects.store("", "namespaces").unwrap();
    namespaces.delete(&WriteOptions::default(), "", "gone", &DeleteOptions::default(), &Yes).await.unwrap();
    let status = cluster.create_in("gone", "configmaps", object).await.unwrap_err();
    let want = "configmaps \"late\" is forbidden: unable to create new content in namespace gone because it is being terminated";
    assert_eq!((status.code, status.message.as_str()), (403, want));
    let cause = &status.details.unwrap().causes[0];
    assert_eq!(
        (cause.reason.as_str(), cause.message.as_str(), cause.field.as_str()),
        ("NamespaceTerminating", "namespace gone is being terminated", "metadata.namespace")
    );

    let status = cluster.delete("", "namespaces", "kube-system").await.unwrap_err();
    assert_eq!(status.message, "namespaces \"kube-system\" is forbidden: this namespace may not be deleted");
    cluster.delete("", "namespaces", "ns").await.unwrap();
}

#[tokio::test]
async fn priorities_come_from_classes() {
    let cluster = Cluster::new(&["Priority"]).await;
    let class = r#"{"metadata":{"name":"high"},"value":1000,"preemptionPolicy":"Never"}"#;
    cluster.make("scheduling.k8s.io", "priorityclasses", class).await;
    for (spec, want) in [
        (r#"{"priorityClassName":"high"}"#, Ok((1000, "Never"))),
        ("{}", Ok((0, "PreemptLowerPriority"))),
        (r#"{"priorityClassName":"none"}"#, Err("no PriorityClass with name none was found")),
        (
            r#"{"priorityClassName":"high","priority":5}"#,
            Err(
                "the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name",
            ),
        ),
        (
            r#"{"priorityClassName":"high","preemptionPolicy":"PreemptLowerPriority"}"#,
            Err(
                "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never from the given PriorityClass name",
            ),
        ),
    ] {
        let made = cluster.create("pods", &format!(r#"{{"metadata":{{"name":"box"}},"spec":{spec}}}"#)).await;
        match want {
            Ok((priority, policy)) => {
                let pod = made.unwrap();
                assert_eq!(pod.at(&["spec", "priority"]).and_then(Value::as_i64), Some(priority));
                assert_eq!(pod.text_at(&["spec", "preemptionPolicy"]), policy);
            }
            Err(why) => assert_eq!(refusal(made), (403, format!("pods \"box\" is forbidden: {why}"))),
        }
    }
    let default = r#"{"metadata":{"name":"usual"},"value":7,"globalDefault":true}"#;
    cluster.create("priorityclasses", default).await.unwrap();
    cluster.make("scheduling.k8s.io", "priorityclasses", default).await;
    let second =
        cluster.create("priorityclasses", r#"{"metadata":{"name":"second"},"globalDefault":true}"#).await;
    let want = "priorityclasses.scheduling.k8s.io \"second\" is forbidden: PriorityClass usual is already marked as default. Only one default can exist";
    assert_eq!(refusal(second), (403, want.into()));
    let pod = cluster.create("pods", r#"{"metadata":{"name":"box"},"spec":{}}"#).await.unwrap();
    assert_eq!(pod.text_at(&["spec", "priorityClassName"]), "usual");
}

#[tokio::test]
async fn runtime_classes_shape_pods() {
    let cluster = Cluster::new(&["RuntimeClass"]).await;
    let class = r#"{"metadata":{"name":"sandbox"},"overhead":{"podFixed":{"cpu":"100m"}},"scheduling":{"nodeSelector":{"sandbox":"yes"},"tolerations":[{"key":"sandbox","operator":"Exists"}]}}"#;
    cluster.make("node.k8s.io", "runtimeclasses", class).await;
    for (spec, want) in [
        (
            r#"{"runtimeClassName":"sandbox","nodeSelector":{"disk":"fast"}}"#,
            Ok(
                r#"{"runtimeClassName":"sandbox","nodeSelector":{"disk":"fast","sandbox":"yes"},"overhead":{"cpu":"100m"},"tolerations":[{"key":"sandbox","operator":"Exists"}]}"#,
            ),
        ),
        (
            r#"{"runtimeClassName":"sandbox","overhead":{"cpu":"0.1"}}"#,
            Ok(
                r#"{"runtimeClassName":"sandbox","nodeSelector":{"sandbox":"yes"},"overhead":{"cpu":"100m"},"tolerations":[{"key":"sandbox","operator":"Exists"}]}"#,
            ),
        ),
        (r#"{"runtimeClassName":"none"}"#, Err("pod rejected: RuntimeClass \"none\" not found")),
        (
            r#"{"runtimeClassName":"sandbox","nodeSelector":{"sandbox":"no"}}"#,
            Err(
                "conflict: runtimeClass.scheduling.nodeSelector[sandbox] = yes; pod.spec.nodeSelector[sandbox] = no",
            ),
        ),
        (
            r#"{"runtimeClassName":"sandbox","overhead":{"cpu":"1"}}"#,
            Err("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
        ),
        (
            r#"{"overhead":{"cpu":"1"}}"#,
            Err("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"),
        ),
    ] {
        let made = cluster.create("pods", &format!(r#"{{"metadata":{{"name":"box"}},"spec":{spec}}}"#)).await;
        match want {
            Ok(spec) => assert_eq!(*made.unwrap().get("spec").unwrap(), parsed(spec)),
            Err(why) => assert_eq!(refusal(made), (403, format!("pods \"box\" is forbidden: {why}"))),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pods_run_as_service_accounts() {
    let cluster = Cluster::new(&["ServiceAccount"]).await;
    let pod = r#"{"metadata":{"name":"box"},"spec":{"containers":[{"name":"c"}]}}"#;
    let missing = "pods \"box\" is forbidden: error looking up service account ns/default: serviceaccount \"default\" not found";
    assert_eq!(refusal(cluster.create("pods", pod).await), (403, missing.into()));
    cluster
        .make("", "serviceaccounts", r#"{"metadata":{"name":"default"},"imagePullSecrets":[{"name":"s"}]}"#)
        .await;
    let made = cluster.create("pods", pod).await.unwrap();
    assert_eq!(made.text_at(&["spec", "serviceAccountName"]), "default");
    assert_eq!(*made.at(&["spec", "imagePullSecrets"]).unwrap(), parsed(r#"[{"name":"s"}]"#));
    assert_eq!(made.at(&["spec", "volumes"]).and_then(Value::as_array).map(Vec::len), Some(1));
    let silent = r#"{"metadata":{"name":"box"},"spec":{"containers":[{"name":"c"}],"automountServiceAccountToken":false}}"#;
    assert!(cluster.create("pods", silent).await.unwrap().at(&["spec", "volumes"]).is_none());
}

#[tokio::test]
async fn quotas_are_charged() {
    let cluster = Cluster::new(&["ResourceQuota"]).await;
    let quota = r#"{"metadata":{"name":"q"},"status":{"hard":{"pods":"2","requests.cpu":"500m"},"used":{"pods":"0","requests.cpu":"0"}}}"#;
    cluster.make("", "resourcequotas", quota).await;
    let pod = |name: &str, cpu: &str| {
        format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"{cpu}"}}}}}}]}}}}"#
        )
    };
    for (json, want) in [
        (pod("a", "200m"), None),
        (
            r#"{"metadata":{"name":"b"},"spec":{"containers":[{"name":"c"}]}}"#.to_owned(),
            Some("pods \"b\" is forbidden: failed quota: q: must specify requests.cpu for: c"),
        ),
        (
            pod("b", "400m"),
            Some(
                "pods \"b\" is forbidden: exceeded quota: q, requested: requests.cpu=400m, used: requests.cpu=200m, limited: requests.cpu=500m",
            ),
        ),
        (pod("b", "100m"), None),
        (
            pod("d", "300m"),
            Some(
                "pods \"d\" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=300m, used: pods=2,requests.cpu=300m, limited: pods=2,requests.cpu=500m",
            ),
        ),
    ] {
        let made = cluster.create("pods", &json).await;
        match want {
            None => assert!(made.is_ok(), "{made:?}"),
            Some(why) => assert_eq!(refusal(made), (403, why.into())),
        }
    }
    let used = cluster.objects.get("", "resourcequotas", "ns", "q").await.unwrap().unwrap();
    assert_eq!(*used.at(&["status", "used"]).unwrap(), parsed(r#"{"pods":"2","requests.cpu":"300m"}"#));
}

#[tokio::test]
async fn charges_do_not_get_lost() {
    let cluster = Cluster::new(&["ResourceQuota"]).await;
    let quota =
        r#"{"metadata":{"name":"q"},"status":{"hard":{"configmaps":"30"},"used":{"configmaps":"0"}}}"#;
    cluster.make("", "resourcequotas", quota).await;
    let all = futures::future::join_all((0..40).map(|n| {
        let cluster = &cluster;
        async move { cluster.create("configmaps", &format!(r#"{{"metadata":{{"name":"c{n}"}}}}"#)).await }
    }));
    assert_eq!(all.await.iter().filter(|made| made.is_ok()).count(), 30);
    let store = cluster.objects.store("", "resourcequotas").unwrap();
    let entry = store.get("ns", "q", Freshness::Latest).await.unwrap();
    let used = store.decode(&entry).unwrap();
    assert_eq!(used.text_at(&["status", "used", "configmaps"]), "30");
}
