//! The endpoints of the service `kubernetes`, as servers come and go.

#![allow(missing_docs)]

mod support;

use std::time::{Duration, Instant};

use apiwright_json::Value;
use http::Method;
use support::api::Api;
use support::process::Server;
use tempfile::TempDir;

const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints/kubernetes";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

/// What the objects say: the addresses of both, with the port's name and number.
async fn told(api: &Api) -> String {
    let (endpoints, slices) = (api.get(ENDPOINTS).await, api.get(SLICES).await.ok());
    let items = |of: Option<&Value>| of.and_then(Value::as_array).cloned().unwrap_or_default();
    let mut told = Vec::new();
    if endpoints.code == 200 {
        for subset in items(endpoints.object().get("subsets")) {
            for address in items(subset.get("addresses")) {
                let port = &items(subset.get("ports"))[0];
                told.push(format!("{} {}", address.text_at(&["ip"]), port.text_at(&["name"])));
            }
        }
    }
    told.push("/".to_owned());
    for slice in items(slices.get("items")) {
        for endpoint in items(slice.get("endpoints")) {
            let port = &items(slice.get("ports"))[0];
            let address = items(endpoint.get("addresses"))[0].as_str().unwrap_or_default().to_owned();
            told.push(format!("{address} {}", port.text_at(&["name"])));
        }
    }
    told.join(" ")
}

/// Waits until the objects say this.
async fn becomes(api: &Api, within: Duration, expected: &str) {
    let deadline = Instant::now() + within;
    loop {
        let told = told(api).await;
        if told == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{told}, not {expected}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

const SOON: Duration = Duration::from_secs(10);

async fn start(home: &std::path::Path, arguments: &[&str]) -> (Server, Api) {
    let (home, arguments) =
        (home.to_owned(), arguments.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
    let start = move || Server::start(&home, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let server = tokio::task::spawn_blocking(start).await.expect("it starts");
    let api = Api(server.client().await);
    (server, api)
}

async fn stop(server: Server) {
    server.signal();
    let (status, complaints) = tokio::task::spawn_blocking(move || server.end()).await.expect("it ends");
    assert!(status.success(), "{complaints}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_server_keeps_its_own() {
    let home = TempDir::new().expect("a folder");
    let arguments = ["--advertise-address", "192.0.2.7", "--controllers=-*"];
    let (server, api) = start(home.path(), &arguments).await;
    let told = "192.0.2.7 https / 192.0.2.7 https";
    becomes(&api, SOON, told).await;
    let endpoints = api.get(ENDPOINTS).await.ok();
    assert_eq!(
        endpoints.at(&["metadata", "labels", "endpointslice.kubernetes.io/skip-mirror"]),
        Some(&"true".into())
    );
    assert_eq!(
        endpoints.at(&["metadata", "managedFields"]).and_then(|all| all.as_array()?[0].get("manager")),
        Some(&"kube-apiserver".into())
    );

    api.delete(ENDPOINTS).await.ok();
    api.delete(&format!("{SLICES}/kubernetes")).await.ok();
    let stray = r#"{"metadata":{"name":"stray","labels":{"kubernetes.io/service-name":"kubernetes"}},
        "addressType":"IPv6","endpoints":[{"addresses":["2001:db8::1"]}],"ports":[{"name":"https","port":443}]}"#;
    api.post(SLICES, stray).await.ok();
    becomes(&api, SOON, told).await;
    let patched = api.get(ENDPOINTS).await.text().replace("192.0.2.7", "192.0.2.8");
    api.call(Method::PUT, ENDPOINTS, &patched).await.ok();
    becomes(&api, SOON, told).await;
    assert_eq!(
        api.get("/api/v1/namespaces/default/endpoints")
            .await
            .ok()
            .at(&["items"])
            .and_then(Value::as_array)
            .map(Vec::len),
        Some(1)
    );

    drop(api);
    stop(server).await;
    let (server, api) = start(home.path(), &["--endpoint-reconciler-type=none", "--controllers=-*"]).await;
    becomes(&api, SOON, "/").await;
    drop(api);
    stop(server).await;
    let counted = ["--endpoint-reconciler-type=master-count", "--apiserver-count=2"];
    for (address, expected) in [
        ("192.0.2.1", "192.0.2.1 https / 192.0.2.1 https"),
        ("192.0.2.2", "192.0.2.1 https 192.0.2.2 https / 192.0.2.1 https 192.0.2.2 https"),
        ("192.0.2.3", "192.0.2.2 https 192.0.2.3 https / 192.0.2.2 https 192.0.2.3 https"),
    ] {
        let (server, api) =
            start(home.path(), &[&counted[..], &["--advertise-address", address]].concat()).await;
        becomes(&api, SOON, expected).await;
        // It is killed, so nobody takes its address out.
        server.kill();
    }
}

#[cfg(feature = "etcd")]
#[tokio::test(flavor = "multi_thread")]
async fn servers_over_one_store_name_each_other() {
    use apiwright_storage_testing::etcd::{Member, available};
    if !available() {
        return;
    }
    let member = Member::start();
    let url = member.url();
    let homes = [
        TempDir::new().expect("a folder"),
        TempDir::new().expect("a folder"),
        TempDir::new().expect("a folder"),
    ];
    let start_at = async |at: usize| {
        let address = format!("192.0.2.{}", at + 1);
        start(homes[at].path(), &["--etcd-servers", &url, "--advertise-address", &address]).await
    };
    let ((one, api), (two, other)) = tokio::join!(start_at(0), start_at(1));
    let both = "192.0.2.1 https 192.0.2.2 https / 192.0.2.1 https 192.0.2.2 https";
    becomes(&api, SOON, both).await;
    becomes(&other, SOON, both).await;
    let (three, third) = start_at(2).await;
    becomes(
        &third,
        SOON,
        "192.0.2.1 https 192.0.2.2 https 192.0.2.3 https / 192.0.2.1 https 192.0.2.2 https 192.0.2.3 https",
    )
    .await;
    drop(third);
    stop(three).await;
    // Who leaves takes its address out, who dies has it taken out by the others once its lease has run out.
    assert_eq!(told(&api).await, both);
    drop(other);
    two.kill();
    becomes(&api, Duration::from_mins(1), "192.0.2.1 https / 192.0.2.1 https").await;
    drop(api);
    stop(one).await;
}
