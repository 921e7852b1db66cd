//! Servers outside that know tokens and decide about requests, and the file that says who is asked in which order.

mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use apiwright_json::{Value, decode};
use support::api::Api;
use support::outside::{Asked, Outside};
use support::process::Server;
use tempfile::TempDir;

const DOWN: &str = "the server is currently unable to handle the request";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn object(asked: &Asked) -> Value {
    decode(asked.body.as_bytes()).expect("JSON").0
}

/// Knows jane's token and says who may read ConfigMaps; fails while it is told to.
async fn outside(fails: &Arc<AtomicBool>) -> Outside {
    let fails = Arc::clone(fails);
    Outside::start(move |asked| {
        let review = object(asked);
        if fails.load(Ordering::Relaxed) {
            return (503, "down".into());
        }
        let (kind, version) = (review.text_at(&["kind"]), review.text_at(&["apiVersion"]));
        let status = if kind == "TokenReview" {
            match review.text_at(&["spec", "token"]) {
                "janes" => r#"{"authenticated":true,"user":{"username":"jane","uid":"j","groups":["devs"],"extra":{"a":["b"]}}}"#,
                "odd" => r#"{"authenticated":false,"error":"I do not like it"}"#,
                _ => r#"{"authenticated":false}"#,
            }
        } else {
            match (review.text_at(&["spec", "user"]), review.text_at(&["spec", "resourceAttributes", "verb"])) {
                ("jane", "list") => r#"{"allowed":true,"reason":"she may"}"#,
                ("jane", "delete") => r#"{"allowed":false,"denied":true,"reason":"never"}"#,
                _ => r#"{"allowed":false,"reason":"who knows"}"#,
            }
        };
        (200, format!(r#"{{"kind":"{kind}","apiVersion":"{version}","status":{status}}}"#))
    })
    .await
}

async fn review(api: &Api, verb: &str) -> Value {
    let spec = format!(
        r#"{{"spec":{{"user":"jane","resourceAttributes":{{"verb":"{verb}","resource":"configmaps","namespace":"default"}}}}}}"#
    );
    let made = api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &spec).await.ok();
    made.get("status").cloned().expect("a status")
}

#[tokio::test(flavor = "multi_thread")]
async fn others_know_tokens_and_decide() {
    let (home, fails) = (TempDir::new().expect("a folder"), Arc::default());
    let outside = outside(&fails).await;
    let (tokens, access) = (home.path().join("tokens.yaml"), home.path().join("access.yaml"));
    outside.kubeconfig(&tokens, "/authenticate");
    outside.kubeconfig(&access, "/authorize");
    let server = Server::start(
        home.path(),
        &[
            "--storage=memory",
            "--authentication-token-webhook-config-file=tokens.yaml",
            "--authentication-token-webhook-version=v1",
            "--authorization-mode=RBAC,Webhook",
            "--authorization-webhook-config-file=access.yaml",
            "--authorization-webhook-cache-unauthorized-ttl=0s",
        ],
    );
    let client = server.client().await;
    let (admin, jane) = (Api(client.clone()), Api(client.bearing("janes")));
    for _ in 0..3 {
        jane.get(CONFIG_MAPS).await.ok();
    }
    let who = jane.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}").await.ok();
    assert_eq!(
        apiwright_json::to_string(who.at(&["status", "userInfo"]).expect("a user")),
        r#"{"username":"jane","uid":"j","groups":["devs","system:authenticated"],"extra":{"a":["b"]}}"#
    );
    let refused = jane.call(http::Method::DELETE, &format!("{CONFIG_MAPS}/x"), "").await;
    let why = "configmaps \"x\" is forbidden: User \"jane\" cannot delete resource \"configmaps\" in API group \"\" in the namespace \"default\": never";
    assert_eq!((refused.code, refused.object().text_at(&["message"])), (403, why));
    // Whoever is refused loses the connection, too.
    for token in ["odd", "nonsense"] {
        let nobody = Api(server.client().await.bearing(token));
        assert_eq!(nobody.get("/api").await.code, 401, "{token}");
    }
    let token = |token: &str| format!(r#"{{"spec":{{"token":"{token}"}}}}"#);
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    assert_eq!(
        admin.post(reviews, &token("odd")).await.ok().text_at(&["status", "error"]),
        "I do not like it"
    );
    // Each token and each question was asked once, and as it should be.
    let asked = outside.asked();
    let of = |path: &str, text: &str| {
        asked.iter().filter(|one| one.path.starts_with(path) && one.body.contains(text)).count()
    };
    assert_eq!((of("/authenticate", "janes"), of("/authorize", "\"verb\":\"list\"")), (1, 1));
    assert!(
        asked.iter().all(|one| one.path.ends_with("?timeout=30s") && one.authorization == "Bearer secret")
    );
    let first = asked.iter().find(|one| one.path.starts_with("/authorize")).expect("a question");
    let question = r#"{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1beta1","metadata":{},"spec":{"resourceAttributes":{"namespace":"default","verb":"list","version":"v1","resource":"configmaps"},"user":"jane","group":["devs","system:authenticated"],"extra":{"a":["b"]},"uid":"j"},"status":{"allowed":false}}"#;
    assert_eq!(first.body, question);
    // Who is out of reach decides nothing, and lets others be.
    fails.store(true, Ordering::Relaxed);
    let status = review(&admin, "get").await;
    assert_eq!(status.text_at(&["evaluationError"]), DOWN);
    let failed = jane.get(&format!("{CONFIG_MAPS}/y")).await;
    let expected = format!("Internal Server Error: \"{CONFIG_MAPS}/y\": {DOWN}\n");
    assert_eq!((failed.code, failed.text()), (500, expected));
    admin.get(CONFIG_MAPS).await.ok();
    jane.get(CONFIG_MAPS).await.ok();
    let nobody = Api(server.client().await.bearing("unknown"));
    assert_eq!(nobody.get("/api").await.code, 401);
}

fn write_configuration(file: &Path, kubeconfig: &Path, failure_policy: &str, condition: &str) {
    let text = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n\
         - type: Webhook\n  name: outside\n  webhook:\n    timeout: 3s\n    subjectAccessReviewVersion: v1\n\
        \x20   matchConditionSubjectAccessReviewVersion: v1\n    failurePolicy: {failure_policy}\n\
        \x20   cacheAuthorizedRequests: false\n    cacheUnauthorizedRequests: false\n\
        \x20   connectionInfo: {{type: KubeConfigFile, kubeConfigFile: {}}}\n\
        \x20   matchConditions: [{{expression: {condition:?}}}]\n\
         - {{type: RBAC, name: rbac}}\n",
        kubeconfig.display()
    );
    std::fs::write(file, text).expect("a file");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_says_who_decides_and_may_change() {
    let (home, fails) = (TempDir::new().expect("a folder"), Arc::default());
    let outside = outside(&fails).await;
    let (kubeconfig, file) = (home.path().join("access.yaml"), home.path().join("authorization.yaml"));
    outside.kubeconfig(&kubeconfig, "/");
    write_configuration(&file, &kubeconfig, "NoOpinion", "request.user == 'nobody'");
    let server =
        Server::start(home.path(), &["--storage=memory", "--authorization-config=authorization.yaml"]);
    let admin = Api(server.client().await);
    let allowed = async |verb: &str| {
        let status = review(&admin, verb).await;
        (
            status.get("allowed").and_then(Value::as_bool).expect("an answer"),
            status.get("denied").and_then(Value::as_bool).unwrap_or_default(),
            status.text_at(&["evaluationError"]).to_owned(),
        )
    };
    assert_eq!(allowed("list").await, (false, false, String::new()));
    assert!(outside.asked().is_empty(), "it is not asked about jane");
    let until = async |expected: (bool, bool, &str)| {
        let mut found = allowed("list").await;
        for _ in 0..100 {
            if (found.0, found.1, found.2.as_str()) == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            found = allowed("list").await;
        }
        panic!("{found:?} is not {expected:?}");
    };
    write_configuration(&file, &kubeconfig, "NoOpinion", "request.user == 'jane'");
    until((true, false, "")).await;
    assert_eq!(allowed("delete").await, (false, true, String::new()));
    // What is wrong is not taken.
    std::fs::write(&file, "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n")
        .expect("a file");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(allowed("list").await, (true, false, String::new()));
    fails.store(true, Ordering::Relaxed);
    until((false, false, DOWN)).await;
    write_configuration(&file, &kubeconfig, "Deny", "request.user == 'jane'");
    until((false, true, DOWN)).await;
    write_configuration(
        &file,
        &kubeconfig,
        "Deny",
        "request.resourceAttributes.namespace == request.nonResourceAttributes.path",
    );
    let error = "cel evaluation error: expression 'request.resourceAttributes.namespace == request.nonResourceAttributes.path' resulted in error: no such key: nonResourceAttributes";
    until((false, true, error)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_says_what_is_wrong() {
    let home = TempDir::new().expect("a folder");
    std::fs::write(home.path().join("a.yaml"), "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: RBAC, name: x}]\n").expect("a file");
    for (flags, expected) in [
        (&["--authorization-config=a.yaml"][..], "expected name rbac for authorizer RBAC instead of x"),
        (
            &["--authorization-config=a.yaml", "--authorization-mode=RBAC"],
            "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined",
        ),
        (
            &["--authorization-mode=Webhook"],
            "authorization-mode Webhook's authorization config file not passed",
        ),
        (
            &["--authorization-webhook-config-file=x"],
            "cannot specify --authorization-webhook-config-file without mode Webhook",
        ),
        (
            &["--authentication-token-webhook-config-file=none.yaml"],
            "cannot use the kubeconfig none.yaml: No such file or directory (os error 2)",
        ),
    ] {
        let server = Server::start(home.path(), &[&["--storage=memory"], flags].concat());
        let (status, complaints) = server.end();
        assert!(!status.success() && complaints.contains(expected), "{flags:?}: {complaints}");
    }
}
