//! Several servers over one etcd: what one does, the others show; nobody overwrites anybody.
#![cfg(feature = "etcd")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_storage_testing::etcd::{Member, available};
use http::Method;
use tempfile::TempDir;

use support::api::{Api, Events};
use support::process::Server;

/// A server on the cluster, and a connection to it.
struct Replica {
    process: Server,
    api: Api,
    _home: TempDir,
}

impl Replica {
    async fn start(member: &Member, arguments: &[&str]) -> Self {
        let home = TempDir::new().expect("a folder");
        let mut all = vec!["--etcd-servers".to_owned(), member.url()];
        all.extend(arguments.iter().map(|&argument| argument.to_owned()));
        let path = home.path().to_owned();
        let start = move || Server::start(&path, &all.iter().map(String::as_str).collect::<Vec<_>>());
        let process = tokio::task::spawn_blocking(start).await.expect("it starts");
        let api = Api(process.client().await);
        Self { process, api, _home: home }
    }
}

/// Two servers, started at the same time on an empty cluster.
async fn two(member: &Member, arguments: &[&str]) -> [Replica; 2] {
    let (one, other) = tokio::join!(Replica::start(member, arguments), Replica::start(member, arguments));
    [one, other]
}

fn revision(value: &Value) -> u64 {
    object::resource_version(value).parse().expect("a number")
}

fn config_map(name: &str, count: u32, version: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","resourceVersion":"{version}"}},"data":{{"count":"{count}"}}}}"#
    )
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WRITERS: usize = 4;
const ROUNDS: u32 = 25;

/// Follows a list by its watch until an object of this name has come, reconnecting now and then; gives the
/// events as type, name and version, and what an informer then holds.
async fn inform(clients: [Api; 2], until: &str) -> (Vec<String>, BTreeMap<String, u64>) {
    let list = clients[0].get(MAPS).await.ok();
    let mut seen = revision(&list);
    let mut held = BTreeMap::new();
    for item in list.at(&["items"]).and_then(Value::as_array).expect("items") {
        held.insert(object::name(item).to_owned(), revision(item));
    }
    let mut told = Vec::new();
    for turn in 0.. {
        // The next connection goes to the other server, whose cache may be behind or ahead.
        let client = &clients[turn % 2];
        let mut events: Events = client.watch(&format!("{MAPS}?watch=1&resourceVersion={seen}")).await;
        for _ in 0..17 {
            let event = events.next().await.expect("the watch goes on");
            let item = event.at(&["object"]).expect("an object");
            let (kind, name, version) = (event.text_at(&["type"]), object::name(item), revision(item));
            assert!(version > seen, "{kind} {name} {version} after {seen}");
            seen = version;
            let known = held.contains_key(name);
            assert_eq!(known, kind != "ADDED", "{kind} {name} {version}");
            match kind {
                "DELETED" => held.remove(name),
                _ => held.insert(name.to_owned(), version),
            };
            told.push(format!("{kind} {name} {version}"));
            if name == until {
                return (told, held);
            }
        }
    }
    unreachable!("it goes on until the last event")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_and_informers_on_two_servers_agree() {
    if !available() {
        return;
    }
    let member = Member::start();
    let [one, other] = two(&member, &[]).await;
    let clients = || [one.api.clone(), other.api.clone()];
    one.api.post(MAPS, &config_map("shared", 0, "")).await.ok();
    let informers: Vec<_> = (0..4)
        .map(|turn| {
            let [first, second] = clients();
            let order = if turn % 2 == 0 { [first, second] } else { [second, first] };
            tokio::spawn(inform(order, "zzz"))
        })
        .collect();
    // They have listed before anything is written.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let client = clients()[writer % 2].clone();
            tokio::spawn(async move {
                let shared = format!("{MAPS}/shared");
                for round in 0..ROUNDS {
                    let own = format!("own-{writer}-{}", round % 3);
                    let created = client.post(MAPS, &config_map(&own, round, "")).await;
                    assert!(matches!(created.code, 201 | 409), "{}", created.code);
                    if round % 5 == 4 {
                        client.delete(&format!("{MAPS}/{own}")).await.ok();
                        // Whoever deleted it does not find it any more.
                        assert_eq!(client.get(&format!("{MAPS}/{own}")).await.code, 404);
                    }
                    loop {
                        let current = client.get(&shared).await.ok();
                        let count: u32 = current.text_at(&["data", "count"]).parse().expect("a number");
                        let next = config_map("shared", count + 1, object::resource_version(&current));
                        match client.call(Method::PUT, &shared, &next).await.code {
                            200 => break,
                            code => assert_eq!(code, 409),
                        }
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer ends well");
    }
    let shared = other.api.get(&format!("{MAPS}/shared")).await.ok();
    assert_eq!(shared.text_at(&["data", "count"]), (WRITERS as u32 * ROUNDS).to_string());
    let last = revision(&one.api.post(MAPS, &config_map("zzz", 0, "")).await.ok());

    let mut results = Vec::new();
    for informer in informers {
        results.push(informer.await.expect("an informer ends well"));
    }
    let list = other.api.get(&format!("{MAPS}?resourceVersion={last}")).await.ok();
    let items = list.at(&["items"]).and_then(Value::as_array).expect("items");
    let held: BTreeMap<_, _> =
        items.iter().map(|item| (object::name(item).to_owned(), revision(item))).collect();
    for (told, state) in &results {
        assert_eq!(*state, held);
        assert_eq!(*told, results[0].0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_address_is_given_twice() {
    if !available() {
        return;
    }
    let member = Member::start();
    let [one, other] = two(&member, &["--service-cluster-ip-range=10.9.0.0/27"]).await;
    // 30 addresses, of which the kubernetes service has one.
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let client = [&one, &other][number % 2].api.clone();
            tokio::spawn(async move {
                let service =
                    format!(r#"{{"metadata":{{"name":"s{number}"}},"spec":{{"ports":[{{"port":80}}]}}}}"#);
                client.post("/api/v1/namespaces/default/services", &service).await
            })
        })
        .collect();
    let (mut addresses, mut refused) = (BTreeSet::new(), 0);
    for task in tasks {
        let answer = task.await.expect("an answer");
        if answer.code == 201 {
            let service = answer.ok();
            let address = service.text_at(&["spec", "clusterIP"]).to_owned();
            assert!(addresses.insert(address.clone()), "{address} was given twice");
        } else {
            let why = answer.text();
            assert!(why.contains("range is full"), "{} {why}", answer.code);
            refused += 1;
        }
    }
    assert_eq!((addresses.len(), refused), (29, 11));
    // What one gives back, the other can give.
    let freed = addresses.first().expect("an address").clone();
    let list = one.api.get("/api/v1/namespaces/default/services").await.ok();
    let items = list.at(&["items"]).and_then(Value::as_array).expect("items");
    let holder = items.iter().find(|item| item.text_at(&["spec", "clusterIP"]) == freed).expect("its holder");
    let path = format!("/api/v1/namespaces/default/services/{}", object::name(holder));
    one.api.delete(&path).await.ok();
    let service = format!(
        r#"{{"metadata":{{"name":"again"}},"spec":{{"clusterIP":"{freed}","ports":[{{"port":80}}]}}}}"#
    );
    let again = other.api.post("/api/v1/namespaces/default/services", &service).await.ok();
    assert_eq!(again.text_at(&["spec", "clusterIP"]), freed);
}

const SERVICES: &str = "/api/v1/namespaces/default/services";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_node_port_is_given_twice() {
    if !available() {
        return;
    }
    let member = Member::start();
    let [one, other] = two(&member, &["--service-node-port-range=30000-30019"]).await;
    let service = |name: &str, port: &str| {
        let port = format!(r#"{{"port":80{port}}}"#);
        format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"type":"NodePort","ports":[{port}]}}}}"#)
    };
    let port_of = |service: &Value| {
        let ports = service.at(&["spec", "ports"]).and_then(Value::as_array).expect("ports");
        ports[0].get("nodePort").and_then(Value::as_i64).expect("a node port")
    };
    // Two for each port there is.
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let client = [&one, &other][number % 2].api.clone();
            let service = service(&format!("s{number}"), "");
            tokio::spawn(async move { client.post(SERVICES, &service).await })
        })
        .collect();
    let (mut ports, mut refused) = (BTreeMap::new(), 0);
    for task in tasks {
        let answer = task.await.expect("an answer");
        if answer.code == 201 {
            let service = answer.ok();
            let (name, port) = (object::name(&service).to_owned(), port_of(&service));
            assert!(ports.insert(port, name).is_none(), "{port} was given twice");
        } else {
            let why = answer.text();
            assert!(why.contains("failed to allocate a nodePort: range is full"), "{} {why}", answer.code);
            refused += 1;
        }
    }
    assert_eq!((ports.len(), refused), (20, 20));
    // What one has, the other refuses; what one gives back, the other can give.
    let (freed, holder) = ports.pop_first().expect("a port");
    let named = service("again", &format!(r#","nodePort":{freed}"#));
    let answer = other.api.post(SERVICES, &named).await;
    assert!(answer.code == 422 && answer.text().contains("provided port is already allocated"));
    one.api.delete(&format!("{SERVICES}/{holder}")).await.ok();
    assert_eq!(port_of(&other.api.post(SERVICES, &named).await.ok()), freed);
    // A service that becomes internal gives its port up.
    let (freed, holder) = ports.pop_first().expect("a port");
    let path = format!("{SERVICES}/{holder}");
    one.api.patch(&path, r#"{"spec":{"type":"ClusterIP","ports":[{"port":80}]}}"#).await.ok();
    let named = service("third", &format!(r#","nodePort":{freed}"#));
    assert_eq!(port_of(&other.api.post(SERVICES, &named).await.ok()), freed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_definition_is_served_by_all() {
    if !available() {
        return;
    }
    let member = Member::start();
    let [one, other] = two(&member, &[]).await;
    let definition = r#"{"metadata":{"name":"pots.tea.example.com"},"spec":{"group":"tea.example.com",
        "scope":"Namespaced","names":{"plural":"pots","singular":"pot","kind":"Pot","listKind":"PotList"},
        "versions":[{"name":"v1","served":true,"storage":true,
        "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    one.api.post(definitions, definition).await.ok();
    let pots = "/apis/tea.example.com/v1/namespaces/default/pots";
    let deadline = Instant::now() + Duration::from_secs(20);
    while other.api.get(pots).await.code != 200 {
        assert!(Instant::now() < deadline, "the definition is not served");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let pot = r#"{"apiVersion":"tea.example.com/v1","kind":"Pot","metadata":{"name":"brown"}}"#;
    other.api.post(pots, pot).await.ok();
    assert_eq!(object::name(&one.api.get(&format!("{pots}/brown")).await.ok()), "brown");
    other.api.delete(&format!("{definitions}/pots.tea.example.com")).await.ok();
    while one.api.get(pots).await.code != 404 || other.api.get(pots).await.code != 404 {
        assert!(Instant::now() < deadline, "the definition does not go");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Whoever saw at one server that a definition is established never gets a 404 from the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_established_is_served_by_all_at_once() {
    if !available() {
        return;
    }
    let member = Member::start();
    let [one, other] = two(&member, &[]).await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let is_established = |definition: &Value| {
        let conditions = definition.at(&["status", "conditions"]).and_then(Value::as_array);
        conditions
            .into_iter()
            .flatten()
            .any(|one| one.text_at(&["type"]) == "Established" && one.text_at(&["status"]) == "True")
    };
    for number in 0..30 {
        // They take turns.
        let (here, there) = if number % 2 == 0 { (&one.api, &other.api) } else { (&other.api, &one.api) };
        let name = format!("pots{number}.tea.example.com");
        let definition = format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"group":"tea.example.com","scope":"Namespaced",
            "names":{{"plural":"pots{number}","kind":"Pot{number}"}},"versions":[{{"name":"v1","served":true,"storage":true,
            "schema":{{"openAPIV3Schema":{{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}]}}}}"#
        );
        here.post(definitions, &definition).await.ok();
        let began = Instant::now();
        while !is_established(&here.get(&format!("{definitions}/{name}")).await.ok()) {
            assert!(began.elapsed() < Duration::from_secs(4), "{name} takes as long as upstream's");
        }
        let pots = format!("/apis/tea.example.com/v1/namespaces/default/pots{number}");
        let pot = format!(
            r#"{{"apiVersion":"tea.example.com/v1","kind":"Pot{number}","metadata":{{"name":"brown"}}}}"#
        );
        let answer = there.post(&pots, &pot).await;
        assert_eq!(answer.code, 201, "{name} after {:?}: {}", began.elapsed(), answer.text());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_etcd_it_says_so_and_shows_what_it_has() {
    if !available() {
        return;
    }
    let mut member = Member::start();
    let replica = Replica::start(&member, &["--etcd-healthcheck-timeout=500ms"]).await;
    let client = replica.api.clone();
    let made = client.post(MAPS, &config_map("kept", 1, "")).await.ok();
    let mut events =
        client.watch(&format!("{MAPS}?watch=1&resourceVersion={}", object::resource_version(&made))).await;
    client.get(MAPS).await.ok();
    member.kill();

    let ready = client.get("/readyz?verbose").await;
    let text = ready.text();
    assert!(ready.code == 500 && text.contains("[-]etcd failed: reason withheld"), "{} {text}", ready.code);
    for (method, path, body) in [
        (Method::GET, MAPS.to_owned(), String::new()),
        (Method::GET, format!("{MAPS}/kept"), String::new()),
        (Method::POST, MAPS.to_owned(), config_map("lost", 1, "")),
        (Method::DELETE, format!("{MAPS}/kept"), String::new()),
    ] {
        let answer = client.call(method.clone(), &path, &body).await;
        let status = answer.object();
        assert_eq!(
            (answer.code, status.text_at(&["reason"])),
            (503, "ServiceUnavailable"),
            "{method} {path}: {}",
            answer.text()
        );
        assert_eq!(answer.headers.get("retry-after").and_then(|value| value.to_str().ok()), Some("1"));
    }
    let list = client.get(&format!("{MAPS}?resourceVersion=0")).await.ok();
    let items = list.at(&["items"]).and_then(Value::as_array).expect("items");
    assert!(items.iter().any(|item| object::name(item) == "kept"));
    assert_eq!(client.get(&format!("{MAPS}/kept?resourceVersion=0")).await.code, 200);

    let mut others = client.watch(&format!("{MAPS}?watch=1")).await;
    let first = others.next().await.expect("what is at hand");
    assert_eq!(first.text_at(&["type"]), "ADDED");
    drop(others);

    member.restart();
    let deadline = Instant::now() + Duration::from_secs(30);
    while client.get("/readyz").await.code != 200 {
        assert!(Instant::now() < deadline, "the server does not recover");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    client.post(MAPS, &config_map("found", 1, "")).await.ok();
    let event = events.next().await.expect("the watch goes on");
    assert_eq!(event.text_at(&["object", "metadata", "name"]), "found");
    replica.process.signal();
    drop(client);
    assert!(replica.process.end().0.success(), "it ends well");
}
