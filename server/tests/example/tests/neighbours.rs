//! Broken neighbours: each is its own problem.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use apiwright_json::Value;
use http::Method;
use support::{API_SERVICES, INSECURE, Main, Manner, condition, free_port, misbehave};

const JSON: &str = "application/json";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// What any request to the main server may take while neighbours are broken.
const SOON: Duration = Duration::from_secs(3);

fn resources(group: &str) -> String {
    format!(
        r#"{{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"{group}/v1","resources":[
        {{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["get","list"]}}]}}"#
    )
}

/// A server of one group, with legacy discovery only.
fn honest(group: &'static str) -> Manner {
    Arc::new(move |path| {
        let own = format!("/apis/{group}/v1");
        match path {
            path if path == own => Some((200, JSON, resources(group))),
            path if path.starts_with(&own) => Some((200, JSON, r#"{"kind":"WidgetList"}"#.into())),
            _ => Some((404, "text/plain", "no".into())),
        }
    })
}

/// The versions of a group in aggregated discovery.
async fn versions(main: &Main, group: &str) -> Vec<Value> {
    let list = main.aggregated().await;
    let items = list.at(&["items"]).and_then(Value::as_array).cloned().unwrap_or_default();
    let found = items.into_iter().find(|item| item.text_at(&["metadata", "name"]) == group);
    found.and_then(|item| item.at(&["versions"]).and_then(Value::as_array).cloned()).unwrap_or_default()
}

async fn until_fresh(main: &Main, group: &str, freshness: &str) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let versions = versions(main, group).await;
        if versions.first().is_some_and(|one| one.text_at(&["freshness"]) == freshness) {
            return versions;
        }
        assert!(Instant::now() < deadline, "{group} does not become {freshness}: {versions:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_neighbours_are_their_own_problem() {
    let main = Main::start(&[]).await;
    for name in ["dead", "slow", "lying", "moody", "fine"] {
        main.service(name).await;
    }
    let (slow, _slow) = misbehave(0, Duration::from_secs(30), honest("slow.example")).await;
    let lies: Manner = Arc::new(|path| match path {
        "/apis" => {
            Some((200, AGGREGATED, r#"{"kind":"APIGroupDiscoveryList","items":[{"versions":7}]}"#.into()))
        }
        "/openapi/v3" => Some((
            200,
            JSON,
            r#"{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=X"}}}"#.into(),
        )),
        "/apis/lying.example/v1" => Some((200, JSON, "surprise".into())),
        _ => None,
    });
    let (lying, _lying) = misbehave(0, Duration::ZERO, lies).await;
    let up = Arc::new(AtomicBool::new(true));
    let (is_up, fine) = (Arc::clone(&up), honest("moody.example"));
    let moods: Manner = Arc::new(move |path| match is_up.load(Ordering::SeqCst) {
        true => fine(path),
        false => Some((500, "text/plain", "not now".into())),
    });
    let (moody, _moody) = misbehave(0, Duration::ZERO, moods).await;
    let (fine, _fine) = misbehave(0, Duration::ZERO, honest("fine.example")).await;
    let dead = free_port();
    for (name, port) in [("dead", dead), ("slow", slow), ("lying", lying), ("moody", moody), ("fine", fine)] {
        main.register((&format!("{name}.example"), "v1"), name, port, INSECURE).await;
    }
    main.reason("v1.fine.example", "Passed").await;
    main.reason("v1.moody.example", "Passed").await;

    // Whoever is fine is told of and answers at once, whatever the others do.
    let told = until_fresh(&main, "fine.example", "Current").await;
    let first = told[0].at(&["resources"]).and_then(Value::as_array).expect("resources")[0].clone();
    assert_eq!(first.text_at(&["resource"]), "widgets");
    assert_eq!(first.text_at(&["scope"]), "Namespaced");
    for path in ["/apis/fine.example/v1/widgets", "/apis", "/openapi/v3", "/api/v1/namespaces"] {
        let begun = Instant::now();
        assert_eq!(main.get(path).await.0, 200, "{path}");
        assert!(begun.elapsed() < SOON, "{path} took {:?}", begun.elapsed());
    }
    for group in ["dead.example", "slow.example", "lying.example"] {
        let told = until_fresh(&main, group, "Stale").await;
        assert!(told[0].at(&["resources"]).is_none(), "{group}: {told:?}");
        assert_eq!(main.get(&format!("/apis/{group}")).await.0, 200, "{group} stays listed");
    }
    // A liar's documents do not take the place of ours.
    let index = main.get("/openapi/v3").await.1;
    assert_ne!(index.text_at(&["paths", "api/v1", "serverRelativeURL"]), "/openapi/v3/api/v1?hash=X");
    let (code, body) = main.get("/apis/lying.example/v1/hang-up").await;
    assert_eq!((code, body.as_str()), (503, Some("error trying to reach service: EOF\n")));

    let slow = main.reason("v1.slow.example", "FailedDiscoveryCheck").await;
    let message = condition(&slow).text_at(&["message"]).to_owned();
    assert!(message.ends_with("(Client.Timeout exceeded while awaiting headers)"), "{message}");

    // Moods change conditions, and the way back is found without anybody touching anything.
    up.store(false, Ordering::SeqCst);
    main.must(
        Method::PATCH,
        &format!("{API_SERVICES}/v1.moody.example"),
        r#"{"metadata":{"labels":{"a":"b"}}}"#,
    )
    .await;
    let down = main.reason("v1.moody.example", "FailedDiscoveryCheck").await;
    let message = condition(&down).text_at(&["message"]).to_owned();
    let url = format!("https://127.0.0.1:{moody}/apis/moody.example/v1");
    assert_eq!(message, format!("failing or missing response from {url}: bad status from {url}: 500"));
    up.store(true, Ordering::SeqCst);
    main.reason("v1.moody.example", "Passed").await;
    until_fresh(&main, "moody.example", "Current").await;

    // A namespace goes while they are as they are.
    main.must(Method::POST, "/api/v1/namespaces", r#"{"metadata":{"name":"going"}}"#).await;
    let path = "/api/v1/namespaces/going/configmaps";
    main.must(Method::POST, path, r#"{"metadata":{"name":"content"}}"#).await;
    main.must(Method::DELETE, "/api/v1/namespaces/going", "").await;
    main.until("/api/v1/namespaces/going", |code, _| code == 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_are_registered() {
    let main = Main::start(&[]).await;
    main.service("many").await;
    let all: Manner = Arc::new(|path| {
        let group = path.strip_prefix("/apis/").and_then(|rest| rest.split('/').next());
        match group {
            Some(group) if path.ends_with("/v1") => Some((200, JSON, resources(group))),
            _ => Some((404, "text/plain", "no".into())),
        }
    });
    let (port, _many) = misbehave(0, Duration::ZERO, all).await;
    let begun = Instant::now();
    for number in 0..200 {
        main.register((&format!("g{number}.example"), "v1"), "many", port, INSECURE).await;
    }
    for number in 0..200 {
        main.reason(&format!("v1.g{number}.example"), "Passed").await;
    }
    for number in [0, 99, 199] {
        until_fresh(&main, &format!("g{number}.example"), "Current").await;
        assert_eq!(main.get(&format!("/apis/g{number}.example/v1")).await.0, 200);
    }
    assert!(begun.elapsed() < Duration::from_mins(1), "it took {:?}", begun.elapsed());
    for number in 0..200 {
        main.must(Method::DELETE, &format!("{API_SERVICES}/v1.g{number}.example"), "").await;
    }
    main.until("/apis/g199.example/v1", |code, _| code == 404).await;
    assert!(versions(&main, "g0.example").await.is_empty());
}
