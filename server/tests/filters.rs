//! What stands before the chain: the audit log, and fairness under overload.

mod support;

use apiwright_json::{Value, decode};
use http::Method;
use support::process::Server;
use tempfile::TempDir;

const POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: RequestResponse, resources: [{group: "", resources: [configmaps]}]}
- {level: Metadata, resources: [{group: "", resources: [secrets]}]}
"#;

fn events(log: &str) -> Vec<Value> {
    log.lines().map(|line| decode(line.as_bytes()).expect("a line of JSON").0).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_policy_asks_for_is_in_the_log() {
    let home = TempDir::new().expect("a folder");
    std::fs::write(home.path().join("policy.yaml"), POLICY).expect("a file");
    let server = Server::start(
        home.path(),
        &["--storage=memory", "--audit-policy-file=policy.yaml", "--audit-log-path=logs/audit.log"],
    );
    let client = server.client().await;
    let path = "/api/v1/namespaces/default/configmaps";
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"b"}}"#;
    for (method, path, body, expected) in [
        (Method::POST, path, object, 201),
        (Method::POST, path, object, 409),
        (Method::GET, "/api/v1/namespaces/default/secrets/none", "", 404),
        (Method::GET, "/api/v1/namespaces/default/pods", "", 200),
    ] {
        let (code, text) = client.call(method, path, body).await.expect("an answer");
        assert_eq!(code, expected, "{text}");
    }
    server.signal();
    assert!(server.end().0.success());
    let log = std::fs::read_to_string(home.path().join("logs/audit.log")).expect("a log");
    let own = |event: &Value| event.text_at(&["user", "username"]) == "admin";
    let events: Vec<Value> = events(&log).into_iter().filter(own).collect();
    assert_eq!(events.len(), 3, "{log}");
    let [created, refused, missing] = [&events[0], &events[1], &events[2]];
    for event in &events {
        assert_eq!(event.text_at(&["stage"]), "ResponseComplete");
        assert_eq!(event.text_at(&["annotations", "authorization.k8s.io/decision"]), "allow");
    }
    let code = |event: &Value| event.at(&["responseStatus", "code"]).and_then(Value::as_i64);
    assert_eq!((code(created), code(refused), code(missing)), (Some(201), Some(409), Some(404)));
    assert_eq!(created.text_at(&["requestObject", "data", "a"]), "b");
    assert_eq!(created.text_at(&["responseObject", "metadata", "name"]), "c");
    assert!(created.at(&["responseObject", "metadata", "managedFields"]).is_none());
    assert_eq!(created.text_at(&["objectRef", "name"]), "c");
    assert_eq!(refused.text_at(&["responseStatus", "reason"]), "AlreadyExists");
    assert_eq!(missing.text_at(&["level"]), "Metadata");
    assert!(missing.at(&["responseObject"]).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_with_faults_keeps_the_server_from_starting() {
    let home = TempDir::new().expect("a folder");
    std::fs::write(home.path().join("policy.yaml"), "apiVersion: audit.k8s.io/v1\nkind: Policy\n")
        .expect("a file");
    let server = Server::start(home.path(), &["--audit-policy-file=policy.yaml", "--audit-log-path=-"]);
    let (status, complaints) = server.end();
    assert!(!status.success());
    assert!(
        complaints.contains("--audit-policy-file=policy.yaml: rules: there must be at least one"),
        "{complaints}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn levels_are_told() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &["--storage=memory"]);
    let (code, text) = server.text("/metrics").await;
    assert_eq!(code, 200);
    let line = "apiserver_flowcontrol_nominal_limit_seats{priority_level=\"workload-low\"}";
    assert!(text.contains(line), "{text}");
    let answer = server.get("/api/v1/namespaces").await;
    assert!(answer.headers().contains_key("x-kubernetes-pf-flowschema-uid"));
}
