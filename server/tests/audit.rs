//! The audit log of a whole server: what plugins note is in it, and long events lose their objects.

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use apiwright_json::Value;
use http::Method;
use http_body_util::BodyExt;
use support::process::{Client, Server};
use tempfile::TempDir;

const POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [create]
  resources: [{group: '', resources: [configmaps, pods]}]
- level: None
";

const NAMESPACE: &str = r#"{"metadata":{"name":"n","labels":{
    "pod-security.kubernetes.io/enforce":"baseline","pod-security.kubernetes.io/audit":"restricted"}}}"#;

const ADMISSION_POLICY: &str = r#"{"metadata":{"name":"sizes.example.com"},"spec":{
    "matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},
    "validations":[{"expression":"true"},{"expression":"size(object.data) > 1","message":"too few"}],
    "auditAnnotations":[{"key":"count","valueExpression":"'there are ' + string(size(object.data))"},{"key":"none","valueExpression":"null"}]}}"#;

const BINDING: &str = r#"{"metadata":{"name":"everywhere"},"spec":{"policyName":"sizes.example.com","validationActions":["Warn","Audit"]}}"#;

async fn post(client: &Client, path: &str, body: &str) -> (u16, String) {
    client.call(Method::POST, path, body).await.expect("an answer")
}

/// The events of objects of a name, once there are any.
async fn events(log: &Path, name: &str) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let text = std::fs::read_to_string(log).expect("a log");
        let all = text.lines().map(|line| apiwright_json::decode(line.as_bytes()).expect("JSON").0);
        let found: Vec<Value> = all.filter(|event| event.text_at(&["objectRef", "name"]) == name).collect();
        if !found.is_empty() {
            return found;
        }
        assert!(Instant::now() < deadline, "no event of {name} in {text}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn events_have_the_annotations_of_admission() {
    let dir = TempDir::new().expect("a folder");
    let home = dir.path();
    std::fs::write(home.join("policy.yaml"), POLICY).expect("a file");
    let server = Server::start(
        home,
        &[
            "--audit-policy-file=policy.yaml",
            "--audit-log-path=audit.log",
            "--audit-log-mode=batch",
            "--audit-log-truncate-enabled",
            "--audit-log-truncate-max-event-size=4096",
        ],
    );
    let client = server.client().await;
    let admission = "/apis/admissionregistration.k8s.io/v1";
    for (path, body) in [
        ("/api/v1/namespaces".to_owned(), NAMESPACE),
        (format!("{admission}/validatingadmissionpolicies"), ADMISSION_POLICY),
        (format!("{admission}/validatingadmissionpolicybindings"), BINDING),
    ] {
        let (code, text) = post(&client, &path, body).await;
        assert_eq!(code, 201, "{text}");
    }
    let log = home.join("audit.log");
    let path = "/api/v1/namespaces/n/configmaps";
    // Policies take effect when they have been read.
    let deadline = Instant::now() + Duration::from_secs(10);
    for at in 0.. {
        let name = format!("small-{at}");
        let body = format!(r#"{{"metadata":{{"name":"{name}"}},"data":{{"a":"b"}}}}"#);
        assert_eq!(post(&client, path, &body).await.0, 201);
        let event = events(&log, &name).await.remove(0);
        let note = |key: &str| event.text_at(&["annotations", key]).to_owned();
        if note("sizes.example.com/count") == "there are 1" {
            assert_eq!(
                note("validation.policy.admission.k8s.io/validation_failure"),
                r#"[{"message":"too few","policy":"sizes.example.com","binding":"everywhere","expressionIndex":1,"validationActions":["Warn","Audit"]}]"#
            );
            assert_eq!(note("sizes.example.com/none"), "");
            assert_eq!(note("authorization.k8s.io/decision"), "allow");
            assert_eq!(event.text_at(&["requestObject", "data", "a"]), "b");
            break;
        }
        assert!(Instant::now() < deadline, "the policy takes no effect");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    let long = format!(r#"{{"metadata":{{"name":"long"}},"data":{{"a":"{}","b":""}}}}"#, "x".repeat(10_000));
    assert_eq!(post(&client, path, &long).await.0, 201);
    let event = events(&log, "long").await.remove(0);
    assert_eq!(event.text_at(&["annotations", "audit.k8s.io/truncated"]), "true");
    assert_eq!(event.text_at(&["annotations", "sizes.example.com/count"]), "there are 2");
    assert!(event.get("requestObject").is_none());

    for (name, spec, code) in [
        ("plain", r#"{"containers":[{"name":"c","image":"i"}]}"#, 201),
        ("host", r#"{"hostNetwork":true,"containers":[{"name":"c","image":"i"}]}"#, 403),
    ] {
        let body = format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{spec}}}"#);
        let (found, text) = post(&client, "/api/v1/namespaces/n/pods", &body).await;
        assert_eq!(found, code, "{text}");
        let event = events(&log, name).await.remove(0);
        let note = |key: &str| event.text_at(&["annotations", key]).to_owned();
        assert_eq!(note("pod-security.kubernetes.io/enforce-policy"), "baseline:latest");
        let violations = note("pod-security.kubernetes.io/audit-violations");
        assert!(
            violations.starts_with("would violate PodSecurity \"restricted:latest\": ")
                && violations.contains("allowPrivilegeEscalation != false"),
            "{violations}"
        );
    }
    let (_, metrics) = client.call(Method::GET, "/metrics", "").await.expect("an answer");
    for line in ["apiserver_audit_level_total{level=\"Request\"}", "apiserver_audit_event_total"] {
        assert!(metrics.lines().any(|its| its.starts_with(line)), "{line}");
    }
}

/// A server outside that is told of events; the first time it refuses. Gives its address, its certificate and what it
/// was told.
async fn listener() -> (u16, String, Arc<Mutex<Vec<Value>>>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("a pair");
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = socket.local_addr().expect("an address").port();
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&told);
    let refused = Arc::new(AtomicBool::new(false));
    tokio::spawn(async move {
        loop {
            let (stream, _) = socket.accept().await.expect("a connection");
            let (acceptor, kept, refused) = (acceptor.clone(), Arc::clone(&kept), Arc::clone(&refused));
            tokio::spawn(async move {
                let stream = acceptor.accept(stream).await.expect("a handshake");
                let service =
                    hyper::service::service_fn(move |request: http::Request<hyper::body::Incoming>| {
                        let (kept, refused) = (Arc::clone(&kept), Arc::clone(&refused));
                        async move {
                            let bearer = request.headers().get("authorization").cloned();
                            assert_eq!(bearer.expect("credentials"), "Bearer letmein");
                            let body = request.into_body().collect().await?.to_bytes();
                            let list = apiwright_json::decode(&body).expect("JSON").0;
                            let mut answer = http::Response::new(String::new());
                            if refused.swap(true, Ordering::Relaxed) {
                                kept.lock().expect("a lock").push(list);
                            } else {
                                *answer.status_mut() = http::StatusCode::BAD_GATEWAY;
                            }
                            Ok::<_, hyper::Error>(answer)
                        }
                    });
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(hyper_util::rt::TokioIo::new(stream), service);
                let _ = connection.await;
            });
        }
    });
    (port, made.cert.pem(), told)
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_posted_to_a_webhook() {
    for mode in ["batch", "blocking"] {
        let (port, certificate, told) = listener().await;
        let dir = TempDir::new().expect("a folder");
        let home = dir.path();
        std::fs::write(home.join("policy.yaml"), POLICY).expect("a file");
        std::fs::write(home.join("ca.crt"), certificate).expect("a file");
        let kubeconfig = format!(
            "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
             clusters: [{{name: c, cluster: {{server: 'https://localhost:{port}/events', certificate-authority: ca.crt}}}}], \
             users: [{{name: u, user: {{token: letmein}}}}]}}"
        );
        std::fs::write(home.join("webhook.yaml"), kubeconfig).expect("a file");
        let mode = format!("--audit-webhook-mode={mode}");
        let server = Server::start(
            home,
            &[
                "--audit-policy-file=policy.yaml",
                "--audit-webhook-config-file=webhook.yaml",
                "--audit-webhook-initial-backoff=50ms",
                "--audit-webhook-batch-max-wait=200ms",
                &mode,
            ],
        );
        let client = server.client().await;
        for name in ["a", "b"] {
            let body = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
            assert_eq!(post(&client, "/api/v1/namespaces/default/configmaps", &body).await.0, 201);
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let lists = told.lock().expect("a lock").clone();
            let items = lists.iter().filter_map(|list| list.get("items").and_then(Value::as_array)).flatten();
            let names: Vec<&str> = items.map(|event| event.text_at(&["objectRef", "name"])).collect();
            if names == ["a", "b"] {
                assert!(lists.iter().all(|list| list.text_at(&["kind"]) == "EventList"));
                assert_eq!(lists.len(), if mode.ends_with("batch") { 1 } else { 2 });
                break;
            }
            assert!(Instant::now() < deadline, "{mode}: {names:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        server.signal();
        assert!(server.end().0.success());
    }
}
