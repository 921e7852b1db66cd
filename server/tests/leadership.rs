//! Two servers over one etcd: the controllers that run once run in one of them, and go on in the other when that
//! is gone.
#![cfg(feature = "etcd")]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use apiwright_json::Value;
use apiwright_storage_testing::etcd::{Member, available};
use support::api::Api;
use support::process::Server;
use tempfile::TempDir;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/apiwright-controllers";
const CONTROLLER: &str = "/apiwright/controllers/serviceaccount-controller";
/// How long a lease holds that nobody renews, and a few tries to take it over.
const LEASE_SECONDS: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_mins(1);

async fn start(home: &Path, url: String) -> (Server, Api) {
    let home = home.to_owned();
    let start = move || Server::start(&home, &["--etcd-servers", &url]);
    let server = tokio::task::spawn_blocking(start).await.expect("it starts");
    let api = Api(server.client().await);
    (server, api)
}

/// Whether a server's controllers are at work; they are not where it is gone.
async fn works(api: &Api) -> bool {
    let Ok((200, text)) = api.0.call(http::Method::GET, CONTROLLER, "").await else { return false };
    let (told, _) = apiwright_json::decode(text.as_bytes()).expect("JSON");
    told.text_at(&["state"]) != "standing aside"
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A namespace whose default service account comes as soon as somebody's controllers work.
async fn namespace(api: &Api, name: &str) {
    api.post("/api/v1/namespaces", &format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)).await.ok();
}

async fn has_account(api: &Api, namespace: &str) -> bool {
    api.get(&format!("/api/v1/namespaces/{namespace}/serviceaccounts/default")).await.code == 200
}

fn number(lease: &Value, member: &str) -> Option<i64> {
    lease.at(&["spec", member]).and_then(Value::as_i64)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_leads_and_another_takes_over() {
    if !available() {
        return;
    }
    let member = Member::start();
    let homes = [(); 3].map(|()| TempDir::new().expect("a folder"));
    let (first, second) =
        tokio::join!(start(homes[0].path(), member.url()), start(homes[1].path(), member.url()));
    let (leader, other) = {
        let mut which = None;
        until("somebody leads", async || {
            which = match (works(&first.1).await, works(&second.1).await) {
                (true, false) => Some(true),
                (false, true) => Some(false),
                (true, true) => panic!("both are at work"),
                (false, false) => None,
            };
            which.is_some()
        })
        .await;
        if which == Some(true) { (first, second) } else { (second, first) }
    };
    namespace(&other.1, "before").await;
    until("the leader's controllers work", async || has_account(&other.1, "before").await).await;
    let lease = other.1.get(LEASE).await.ok();
    let holder = lease.text_at(&["spec", "holderIdentity"]).to_owned();
    assert!(holder.split_once('_').is_some_and(|(host, id)| !host.is_empty() && id.len() == 36), "{holder}");
    assert_eq!(
        (number(&lease, "leaseDurationSeconds"), number(&lease, "leaseTransitions")),
        (Some(15), Some(0))
    );
    let acquired = lease.text_at(&["spec", "acquireTime"]).to_owned();
    assert!(acquired.len() == "2006-01-02T15:04:05.000000Z".len() && acquired.ends_with('Z'), "{acquired}");

    // Somebody watches that no two work at a time, all the while.
    let over = Arc::new(AtomicBool::new(false));
    let (clients, stop) = ([leader.1.clone(), other.1.clone()], Arc::clone(&over));
    let watched = tokio::spawn(async move {
        while !stop.load(Ordering::Relaxed) {
            let both = works(&clients[0]).await && works(&clients[1]).await && works(&clients[0]).await;
            assert!(!both, "both are at work");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let renewed = lease.text_at(&["spec", "renewTime"]).to_owned();
    until("the lease is renewed", async || {
        other.1.get(LEASE).await.ok().text_at(&["spec", "renewTime"]) > renewed.as_str()
    })
    .await;

    // The leader dies. What it held has to run out first.
    leader.0.kill();
    let died = Instant::now();
    namespace(&other.1, "after").await;
    until("the other works", async || works(&other.1).await).await;
    // It was renewed two seconds before at most, and seen when it was.
    assert!(died.elapsed() > LEASE_SECONDS.saturating_sub(Duration::from_secs(5)), "{:?}", died.elapsed());
    until("the other's controllers work", async || has_account(&other.1, "after").await).await;
    let lease = other.1.get(LEASE).await.ok();
    assert_ne!(lease.text_at(&["spec", "holderIdentity"]), holder);
    assert_eq!(number(&lease, "leaseTransitions"), Some(1));
    assert!(lease.text_at(&["spec", "acquireTime"]) > acquired.as_str(), "{lease:?}");

    // A leader that stops gives it back: nobody waits for it to run out.
    let (third, third_api) = start(homes[2].path(), member.url()).await;
    assert!(!works(&third_api).await, "it stands by");
    let since = Instant::now();
    other.0.signal();
    until("the third works", async || works(&third_api).await).await;
    assert!(since.elapsed() < LEASE_SECONDS.saturating_sub(Duration::from_secs(4)), "{:?}", since.elapsed());
    let lease = third_api.get(LEASE).await.ok();
    assert_eq!(number(&lease, "leaseTransitions"), Some(2));
    over.store(true, Ordering::Relaxed);
    watched.await.expect("no two worked at a time");
    third.signal();
    let (status, complaints) = tokio::task::spawn_blocking(move || third.end()).await.expect("it ends");
    assert!(status.success(), "{complaints}");
}
