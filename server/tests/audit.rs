//! The audit log of a whole server: what plugins note is in it, and long events lose their objects.

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use apiwright_json::Value;
use http::Method;
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
