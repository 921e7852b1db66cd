//! Admission webhooks that answer, deny, patch and fail, over HTTPS.
#![allow(missing_docs)]

#[path = "../../admission/tests/support/mod.rs"]
mod support;

use std::sync::{Arc, Mutex};

use apiwright_admission::{
    Admission, Annotations, Attributes, Objects, OneForm, Operation, Reinvocation, User, Wanted, Warnings,
};
use apiwright_chain::{Authorizer, Decision, RequestInfo, drain};
use apiwright_json::{Value, to_string};
use apiwright_meta::GroupVersionKind;
use apiwright_meta::status::Result;
use apiwright_registry::Resource;
use apiwright_remote::{Backends, Host, Resolver, ServiceReference};
use apiwright_storage::{Change, Expect, Storage};
use apiwright_storage_embedded::{Embedded, Options};
use apiwright_webhook::{AdmissionWebhooks, Clients};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::future::BoxFuture;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use support::{parsed, resource};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Plays all webhooks: `/allow`, `/deny`, `/garbage`, and `/paint/NAME`, which puts NAME into the data.
struct Backend {
    port: u16,
    /// Base64 of the PEM.
    authority: String,
    /// The paths that were called.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Backend {
    async fn start() -> Self {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], secret)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, seen) = (acceptor.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut text = String::new();
                    while let Some(request) = next(&mut stream, &mut text).await {
                        let (path, body) = request;
                        let answer = answer(&path, &body);
                        seen.lock().unwrap().push(path);
                        let head = format!(
                            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                            answer.len()
                        );
                        let _ = stream.write_all((head + &answer).as_bytes()).await;
                    }
                });
            }
        });
        Self { port, authority: BASE64_STANDARD.encode(certificate.pem()), seen }
    }

    /// A webhook for configmaps at a path; `more` are its other members.
    fn hook(&self, name: &str, path: &str, more: &str) -> String {
        let (port, authority) = (self.port, &self.authority);
        format!(
            r#"{{"name":"{name}","clientConfig":{{"url":"https://localhost:{port}{path}","caBundle":"{authority}"}},"rules":[{{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}}],"sideEffects":"None","timeoutSeconds":10,"admissionReviewVersions":["v1"]{more}}}"#
        )
    }

    fn take_seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

/// The path and the body of the next request of a connection.
async fn next(stream: &mut (impl AsyncReadExt + Unpin), text: &mut String) -> Option<(String, Value)> {
    let mut buffer = vec![0; 65536];
    loop {
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
            if let Some(body) = rest.get(..length.trim().parse().ok()?) {
                let path = head.split(' ').nth(1)?.split('?').next()?.to_owned();
                let (body, left) = (parsed(body), rest[body.len()..].to_owned());
                *text = left;
                return Some((path, body));
            }
        }
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
}

fn answer(path: &str, review: &Value) -> String {
    let uid = review.text_at(&["request", "uid"]);
    let response = match path {
        "/garbage" => return "hello".into(),
        "/deny" => r#""allowed":false,"status":{"message":"not today","code":418}"#.to_owned(),
        "/allow" => {
            r#""allowed":true,"warnings":["mind the gap"],"auditAnnotations":{"b":"2","a":"1","a b":"x"}"#
                .to_owned()
        }
        path => {
            let name = path.trim_start_matches("/paint/");
            let patch = format!(r#"[{{"op":"add","path":"/data/{name}","value":"yes"}}]"#);
            format!(r#""allowed":true,"patchType":"JSONPatch","patch":"{}""#, BASE64_STANDARD.encode(patch))
        }
    };
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{{"uid":"{uid}",{response}}}}}"#
    )
}

/// There are no Services.
struct Nowhere;

impl Resolver for Nowhere {
    fn resolve<'a>(
        &'a self,
        service: &'a ServiceReference,
    ) -> BoxFuture<'a, std::result::Result<Host, String>> {
        Box::pin(async move { Err(format!("service {:?} not found", service.name)) })
    }
}

/// Nobody may do anything.
struct Nobody;

impl Authorizer for Nobody {
    fn authorize<'a>(&'a self, _: &'a apiwright_chain::User, _: &'a RequestInfo) -> BoxFuture<'a, Decision> {
        Box::pin(async { Decision::NoOpinion(String::new()) })
    }
}

struct Cluster {
    storage: Arc<dyn Storage>,
    webhooks: AdmissionWebhooks,
    admission: Admission,
    resource: Resource,
    kind: GroupVersionKind,
    annotations: Annotations,
}

impl Cluster {
    fn new() -> Self {
        let clients = Clients::new(Arc::new(Backends::new(Arc::new(Nowhere), None)));
        let webhooks = AdmissionWebhooks::new(&clients);
        let authorizer: Arc<dyn Authorizer> = Arc::new(Nobody);
        let admission = Admission::of(webhooks.plugins(&Objects::default(), &authorizer).into());
        let kind = GroupVersionKind { group: "".into(), version: "v1".into(), kind: "ConfigMap".into() };
        Self {
            storage: Arc::new(Embedded::memory(Options::default())),
            webhooks,
            admission,
            resource: resource("", "configmaps", "ConfigMap", true),
            kind,
            annotations: Annotations::new(Wanted::Objects),
        }
    }

    async fn configure(&self, plural: &str, name: &str, hooks: &[String]) {
        let json = format!(r#"{{"metadata":{{"name":"{name}"}},"webhooks":[{}]}}"#, hooks.join(","));
        let key = format!("/registry/{plural}/{name}").into();
        let change = Change::Put { value: json.into_bytes().into(), ttl_seconds: None };
        self.storage.commit(key, Expect::Absent, change).await.unwrap();
    }

    /// Creates a ConfigMap; gives it and the warnings.
    async fn create(&self, dry_run: bool) -> Result<(Value, Vec<String>)> {
        let mut object =
            parsed(r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"data":{}}"#);
        let (warnings, reinvocation) = (Warnings::default(), Reinvocation::default());
        let request = Attributes {
            operation: Operation::Create,
            resource: &self.resource,
            kind: &self.kind,
            subresource: "",
            namespace: "ns",
            name: "x",
            user: User::default(),
            dry_run,
            deadline: None,
            options: None,
            warnings: &warnings,
            annotations: &self.annotations,
            versions: &[],
            forms: &OneForm,
            reinvocation: &reinvocation,
        };
        self.admission.mutate(&request, Some(&mut object), None).await?;
        self.admission.validate(&request, Some(&object), None).await?;
        Ok((object, warnings.take()))
    }
}

const MUTATING: &str = "mutatingwebhookconfigurations";
const VALIDATING: &str = "validatingwebhookconfigurations";

#[tokio::test]
async fn nobody_gets_past_webhooks_that_were_not_read() {
    let cluster = Cluster::new();
    let refusal = cluster.create(false).await.unwrap_err();
    assert_eq!(refusal.message, "configmaps \"x\" is forbidden: not yet ready to handle request");
}

#[tokio::test]
async fn mutating_webhooks_take_turns() {
    let (backend, cluster) = (Backend::start().await, Cluster::new());
    let again = r#","reinvocationPolicy":"IfNeeded""#;
    cluster.configure(MUTATING, "b", &[backend.hook("late.example.com", "/paint/late", "")]).await;
    let first = [
        backend.hook("early.example.com", "/paint/early", again),
        backend.hook("quiet.example.com", "/allow", again),
    ];
    cluster.configure(MUTATING, "a", &first).await;
    let (_drainer, drain) = drain();
    cluster.webhooks.start(&cluster.storage, &drain).await.unwrap();
    let (object, warnings) = cluster.create(false).await.unwrap();
    assert_eq!(to_string(object.get("data").unwrap()), r#"{"early":"yes","late":"yes"}"#);
    assert_eq!(warnings, ["mind the gap"]);
    // By the names of their configurations; then, because the last one changed the object, who wants
    // to know of that.
    let order = ["/paint/early", "/allow", "/paint/late", "/paint/early", "/allow"];
    assert_eq!(backend.take_seen(), order);
    let notes = cluster.annotations.take();
    let notes: Vec<(&str, &str)> = notes.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let patch = |configuration: &str, name: &str| {
        format!(
            r#"{{"configuration":"{configuration}","webhook":"{name}.example.com","patch":[{{"op":"add","path":"/data/{name}","value":"yes"}}],"patchType":"JSONPatch"}}"#
        )
    };
    let mutation = |configuration: &str, name: &str, mutated: bool| {
        format!(r#"{{"configuration":"{configuration}","webhook":"{name}.example.com","mutated":{mutated}}}"#)
    };
    #[rustfmt::skip]
    let expected = [
        ("patch.webhook.admission.k8s.io/round_0_index_0", &*patch("a", "early")),
        ("mutation.webhook.admission.k8s.io/round_0_index_0", &*mutation("a", "early", true)),
        ("quiet.example.com/a", "1"),
        ("quiet.example.com/b", "2"),
        ("mutation.webhook.admission.k8s.io/round_0_index_1", &*mutation("a", "quiet", false)),
        ("patch.webhook.admission.k8s.io/round_0_index_2", &*patch("b", "late")),
        ("mutation.webhook.admission.k8s.io/round_0_index_2", &*mutation("b", "late", true)),
        ("patch.webhook.admission.k8s.io/round_1_index_0", &*patch("a", "early")),
        ("mutation.webhook.admission.k8s.io/round_1_index_0", &*mutation("a", "early", false)),
        ("mutation.webhook.admission.k8s.io/round_1_index_1", &*mutation("a", "quiet", false)),
    ];
    assert_eq!(notes, expected);
}

#[tokio::test]
async fn refusals_of_validating_webhooks() {
    for (path, more, dry_run, want) in [
        ("/allow", "", false, None),
        (
            "/deny",
            r#","matchConditions":[{"name":"a","expression":"'missing' in object.data"}]"#,
            false,
            None,
        ),
        (
            "/allow",
            r#","matchConditions":[{"name":"a","expression":"object.data.a == 'b'"}]"#,
            false,
            Some((
                403,
                "configmaps \"x\" is forbidden: expression 'object.data.a == 'b'' resulted in error: no such key: a",
            )),
        ),
        (
            "/deny",
            "",
            false,
            Some((418, "admission webhook \"w.example.com\" denied the request: not today")),
        ),
        (
            "/deny",
            r#","failurePolicy":"Ignore""#,
            false,
            Some((418, "admission webhook \"w.example.com\" denied the request: not today")),
        ),
        (
            "/garbage",
            "",
            false,
            Some((
                500,
                "Internal error occurred: failed calling webhook \"w.example.com\": failed to call webhook: couldn't get version/kind",
            )),
        ),
        ("/garbage", r#","failurePolicy":"Ignore""#, false, None),
        (
            "/paint/x",
            "",
            false,
            Some((
                500,
                "Internal error occurred: failed calling webhook \"w.example.com\": received invalid webhook response: validating webhook may not return response.patch",
            )),
        ),
        (
            "/allow",
            r#","sideEffects":"Some""#,
            true,
            Some((400, "admission webhook \"w.example.com\" does not support dry run")),
        ),
        (
            "/allow",
            r#","admissionReviewVersions":["v9"]"#,
            false,
            Some((
                500,
                "Internal error occurred: failed calling webhook \"w.example.com\": could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
            )),
        ),
    ] {
        let (backend, cluster) = (Backend::start().await, Cluster::new());
        // Of members that are there twice, the last one counts.
        let hook = backend.hook("w.example.com", path, more);
        cluster.configure(VALIDATING, "a", &[hook]).await;
        let (_drainer, drain) = drain();
        cluster.webhooks.start(&cluster.storage, &drain).await.unwrap();
        let refusal = cluster.create(dry_run).await.err();
        let got = refusal.as_ref().map(|status| (status.code, status.message.as_str()));
        match (got, want) {
            (None, None) => {
                let failed = path == "/garbage";
                let note =
                    ("failed-open.validating.webhook.admission.k8s.io/round_0_index_0", "w.example.com");
                let notes = cluster.annotations.take();
                assert_eq!(notes.iter().any(|(key, value)| (key.as_str(), value.as_str()) == note), failed);
            }
            (Some((code, text)), Some((want, begins))) => {
                assert!(code == want && text.starts_with(begins), "{path} {more}: {code} {text}");
            }
            (got, want) => panic!("{path} {more}: {got:?} instead of {want:?}"),
        }
    }
}

#[tokio::test]
async fn configurations_take_effect_and_lose_it() {
    let (backend, cluster) = (Backend::start().await, Cluster::new());
    let (_drainer, drain) = drain();
    cluster.webhooks.start(&cluster.storage, &drain).await.unwrap();
    assert!(cluster.create(false).await.is_ok());
    cluster.configure(VALIDATING, "a", &[backend.hook("w.example.com", "/deny", "")]).await;
    let refused = async {
        while cluster.create(false).await.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), refused).await.expect("a refusal");
    let key: Arc<str> = format!("/registry/{VALIDATING}/a").into();
    let (_, entry) = cluster.storage.get(&key, apiwright_storage::At::Latest).await.unwrap();
    let expect = Expect::Revision(entry.unwrap().mod_revision);
    cluster.storage.commit(key, expect, Change::Delete).await.unwrap();
    let allowed = async {
        while cluster.create(false).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), allowed).await.expect("no refusal any more");
}
