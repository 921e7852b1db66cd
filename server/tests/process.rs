//! The life of the process: what it says, how it stops, what it keeps for the next start.

mod support;

use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use support::process::Server;
use tempfile::TempDir;

#[tokio::test(flavor = "multi_thread")]
async fn it_says_one_line_and_ends_well() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &[]);
    assert_eq!(server.line, "kubectl --kubeconfig .apiwright/kubeconfig get namespaces\n");
    assert_eq!(server.text("/readyz").await, (200, "ok".into()));
    let watch = server.get("/api/v1/namespaces?watch=1").await;
    assert_eq!(watch.status(), 200);
    server.signal();
    let watched = tokio::time::timeout(Duration::from_secs(10), watch.into_body().collect()).await;
    assert!(watched.expect("the watch ends").is_ok(), "the watch was cut");
    let (status, complaints) = server.end();
    assert!(status.success() && complaints.is_empty(), "{status} {complaints}");
}

/// A control plane's servers are counted by their leases.
#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_an_identity_lease() {
    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=\
                          apiserver.kubernetes.io%2Fidentity%3Dkube-apiserver";
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &["--storage=memory"]);
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    loop {
        let (code, text) = server.text(LEASES).await;
        assert_eq!(code, 200, "{text}");
        if text.contains(r#""name":"apiserver-"#) && text.contains(r#""leaseDurationSeconds":3600"#) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The checks that kube-apiserver's own tests, and operators' probes, ask for by name.
#[tokio::test(flavor = "multi_thread")]
async fn its_health_has_the_names_that_others_know() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &["--storage=memory"]);
    let hooks = [
        "start-apiserver-admission-initializer",
        "generic-apiserver-start-informers",
        "start-apiextensions-informers",
        "start-apiextensions-controllers",
        "crd-informer-synced",
        "start-system-namespaces-controller",
        "start-cluster-authentication-info-controller",
        "start-service-ip-repair-controllers",
        "rbac/bootstrap-roles",
        "scheduling/bootstrap-system-priority-classes",
        "priority-and-fairness-config-producer",
        "bootstrap-controller",
        "start-kube-aggregator-informers",
        "apiservice-status-local-available-controller",
        "apiservice-status-remote-available-controller",
        "apiservice-registration-controller",
        "kube-apiserver-autoregistration",
        "apiservice-openapi-controller",
    ];
    for probe in ["healthz", "livez", "readyz"] {
        let (code, text) = server.text(&format!("/{probe}?verbose")).await;
        assert_eq!(code, 200, "{text}");
        let checks: Vec<&str> = text.lines().collect();
        for hook in hooks {
            assert!(checks.contains(&format!("[+]poststarthook/{hook} ok").as_str()), "{hook}: {text}");
        }
        assert!(checks.contains(&"[+]autoregister-completion ok"), "{text}");
    }
    assert_eq!(server.text("/livez/poststarthook/rbac/bootstrap-roles").await, (200, "ok".into()));
    server.signal();
    server.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn it_serves_on_while_others_notice_and_goes_at_the_second_signal() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &["--shutdown-delay-duration=60s", "--storage=memory"]);
    server.signal();
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let (code, text) = server.text("/readyz").await;
        if code == 500 {
            assert!(text.contains("[-]shutdown failed: reason withheld"), "{text}");
            break;
        }
        assert!(Instant::now() < deadline, "it stays ready");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.text("/livez").await.0, 200);
    server.signal();
    let (status, _) = server.end();
    assert_eq!(status.code(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_start_finds_everything() {
    let home = TempDir::new().expect("a folder");
    let files = ["pki/ca.crt", "pki/apiserver.crt", "pki/sa.key"];
    let read = || files.map(|file| std::fs::read(home.path().join(".apiwright").join(file)).expect("a file"));
    let uid = async |server: &Server| {
        let (code, text) = server.text("/api/v1/namespaces/default").await;
        assert_eq!(code, 200, "{text}");
        let (_, after) = text.split_once("\"uid\":\"").expect("a uid");
        after.split('"').next().expect("a uid").to_owned()
    };
    let first = Server::start(home.path(), &[]);
    let (kept, its_uid) = (read(), uid(&first).await);
    first.signal();
    assert!(first.end().0.success());
    let second = Server::start(home.path(), &[]);
    assert!(read() == kept, "certificates were made anew");
    assert_eq!(uid(&second).await, its_uid);
    second.signal();
    assert!(second.end().0.success());
}
