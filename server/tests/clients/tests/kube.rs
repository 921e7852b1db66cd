//! kube-rs against a server: what operators in Rust are made of.

#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use apiwright::config::Config as ServerConfig;
use apiwright::flags::{Flags, Outcome};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, PropagationPolicy, WatchEvent,
    WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, CustomResource, CustomResourceExt, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_mins(1);
const FINALIZER: &str = "kitchen.example.com/washed";

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "kitchen.example.com",
    version = "v1",
    kind = "Mug",
    namespaced,
    status = "MugStatus",
    shortname = "mg",
    scale(spec_replicas_path = ".spec.count", status_replicas_path = ".status.washed"),
    printcolumn(name = "Colour", type_ = "string", json_path = ".spec.colour")
)]
struct MugSpec {
    colour: String,
    #[serde(default = "one")]
    count: i32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct MugStatus {
    washed: i32,
}

fn one() -> i32 {
    1
}

/// A server of this process, and a client of it as its administrator.
async fn server(home: &TempDir) -> Client {
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let data = home.path().join("data");
    let arguments = [
        "--storage=memory".to_owned(),
        format!("--secure-port={port}"),
        format!("--data-dir={}", data.display()),
    ];
    let Ok(Outcome::Start(flags)) = Flags::read(arguments) else { panic!("good flags") };
    let config = ServerConfig::prepare(*flags).expect("a configuration");
    tokio::spawn(apiwright::run::run(config));
    let file = data.join("kubeconfig");
    let client = async {
        loop {
            if let Ok(known) = Kubeconfig::read_from(&file)
                && let Ok(config) =
                    kube::Config::from_custom_kubeconfig(known, &KubeConfigOptions::default()).await
                && let Ok(client) = Client::try_from(config)
                && client.apiserver_version().await.is_ok()
            {
                return client;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, client).await.expect("a server in time")
}

fn map(name: &str, data: &[(&str, &str)]) -> ConfigMap {
    let pairs: BTreeMap<String, String> =
        data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            labels: Some([("app".to_owned(), "shop".to_owned())].into()),
            ..Default::default()
        },
        data: Some(pairs),
        ..Default::default()
    }
}

#[tokio::test]
async fn objects_are_made_changed_watched_and_deleted() {
    let home = TempDir::new().expect("a folder");
    let client = server(&home).await;
    assert_eq!(client.apiserver_version().await.expect("a version").minor, "36");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let made = maps.create(&PostParams::default(), &map("one", &[("a", "1")])).await.expect("created");
    let again = maps.create(&PostParams::default(), &map("one", &[])).await.expect_err("it exists");
    assert!(matches!(&again, kube::Error::Api(status) if status.is_already_exists()), "{again}");

    let merge = Patch::Merge(json!({"data": {"b": "2"}}));
    maps.patch("one", &PatchParams::default(), &merge).await.expect("merged");
    let strategic = Patch::Strategic(json!({"data": {"a": null, "c": "3"}}));
    maps.patch("one", &PatchParams::default(), &strategic).await.expect("merged");
    let found = maps.get("one").await.expect("there").data.expect("data");
    assert_eq!(found, [("b".to_owned(), "2".to_owned()), ("c".to_owned(), "3".to_owned())].into());

    // An apply of what another manager owns is a conflict, until it is forced.
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"b": "mine"}});
    let apply = PatchParams::apply("kitchen");
    let conflict = maps.patch("one", &apply, &Patch::Apply(&wanted)).await.expect_err("owned");
    assert!(matches!(&conflict, kube::Error::Api(status) if status.is_conflict()), "{conflict}");
    let forced = maps.patch("one", &apply.force(), &Patch::Apply(&wanted)).await.expect("forced");
    assert_eq!(forced.data.expect("data")["b"], "mine");
    assert!(forced.metadata.managed_fields.expect("managers").iter().any(|one| {
        one.manager.as_deref() == Some("kitchen") && one.operation.as_deref() == Some("Apply")
    }));

    // A write on top of an old version is a conflict as well.
    let stale = maps.replace("one", &PostParams::default(), &made).await.expect_err("stale");
    assert!(matches!(&stale, kube::Error::Api(status) if status.is_conflict()), "{stale}");

    let events = maps.watch(&WatchParams::default().labels("app=shop"), "0").await.expect("a watch");
    let mut events = events.boxed();
    maps.create(&PostParams::default(), &map("two", &[])).await.expect("created");
    maps.delete("two", &DeleteParams::background()).await.expect("deleted");
    let mut seen = Vec::new();
    while seen.len() < 4 {
        let event =
            tokio::time::timeout(PATIENCE, events.try_next()).await.expect("in time").expect("an event");
        seen.push(match event.expect("no end") {
            WatchEvent::Added(one) => format!("+{}", one.name_any()),
            WatchEvent::Deleted(one) => format!("-{}", one.name_any()),
            WatchEvent::Bookmark(_) => continue,
            other => panic!("{other:?}"),
        });
        if seen == ["+one", "+two", "-two"] {
            break;
        }
    }
    assert_eq!(seen, ["+one", "+two", "-two"]);

    let page = maps.list(&ListParams::default().limit(1)).await.expect("a page");
    assert_eq!(page.items.len(), 1);
    assert!(page.metadata.continue_.is_some());
    let names = maps.list_metadata(&ListParams::default().labels("app=shop")).await.expect("metadata");
    assert_eq!(names.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["one"]);
    maps.delete_collection(&DeleteParams::default(), &ListParams::default().labels("app=shop"))
        .await
        .expect("deleted");
    assert!(maps.get_opt("one").await.expect("an answer").is_none());
}

/// What a controller of mugs was called for.
#[derive(Default)]
struct Sink {
    client: Option<Client>,
    washed: AtomicUsize,
    broken: AtomicUsize,
}

async fn wash(
    mug: Arc<Mug>,
    sink: Arc<Sink>,
) -> Result<Action, kube::runtime::finalizer::Error<kube::Error>> {
    let mugs: Api<Mug> = Api::default_namespaced(sink.client.clone().expect("a client"));
    finalizer(&mugs.clone(), FINALIZER, mug, |event| async {
        match event {
            Event::Apply(mug) => {
                let status = json!({"status": {"washed": mug.spec.count}});
                mugs.patch_status(&mug.name_any(), &PatchParams::default(), &Patch::Merge(status)).await?;
                sink.washed.fetch_add(1, Ordering::Relaxed);
            }
            Event::Cleanup(_) => {
                sink.broken.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(Action::await_change())
    })
    .await
}

#[tokio::test]
async fn a_controller_keeps_custom_resources() {
    let home = TempDir::new().expect("a folder");
    let client = server(&home).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let applied = Patch::Apply(Mug::crd());
    definitions
        .patch("mugs.kitchen.example.com", &PatchParams::apply("kitchen"), &applied)
        .await
        .expect("applied");
    let established =
        await_condition(definitions, "mugs.kitchen.example.com", conditions::is_crd_established());
    tokio::time::timeout(PATIENCE, established).await.expect("in time").expect("established");

    let mugs: Api<Mug> = Api::default_namespaced(client.clone());
    let sink = Arc::new(Sink { client: Some(client.clone()), ..Sink::default() });
    let (reader, writer) = reflector::store();
    let reflected = reflector(writer, watcher(mugs.clone(), watcher::Config::default()));
    tokio::spawn(reflected.applied_objects().for_each(|_| async {}));
    let controller = Controller::new(mugs.clone(), watcher::Config::default().streaming_lists());
    let running =
        controller.run(wash, |_, _, _| Action::requeue(Duration::from_millis(100)), Arc::clone(&sink));
    tokio::spawn(running.for_each(|_| async {}));

    let mug = Mug::new("blue", MugSpec { colour: "blue".into(), count: 2 });
    mugs.create(&PostParams::default(), &mug).await.expect("created");
    let washed = await_condition(mugs.clone(), "blue", |mug: Option<&Mug>| {
        mug.and_then(|mug| mug.status.as_ref()).is_some_and(|status| status.washed == 2)
    });
    tokio::time::timeout(PATIENCE, washed).await.expect("in time").expect("washed");
    let found = mugs.get("blue").await.expect("there");
    assert_eq!(found.finalizers(), [FINALIZER]);

    let scale = mugs.get_scale("blue").await.expect("a scale");
    assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(2));
    let more = Patch::Merge(json!({"spec": {"replicas": 5}}));
    mugs.patch_scale("blue", &PatchParams::default(), &more).await.expect("scaled");
    let washed = await_condition(mugs.clone(), "blue", |mug: Option<&Mug>| {
        mug.and_then(|mug| mug.status.as_ref()).is_some_and(|status| status.washed == 5)
    });
    tokio::time::timeout(PATIENCE, washed).await.expect("in time").expect("washed again");

    // What was derived is enforced, defaults included.
    let wrong = Patch::Merge(json!({"spec": {"colour": 1}}));
    let refused = mugs.patch("blue", &PatchParams::default(), &wrong).await.expect_err("no colour");
    assert!(matches!(&refused, kube::Error::Api(status) if status.is_invalid()), "{refused}");
    reader.wait_until_ready().await.expect("ready");
    assert_eq!(reader.state().iter().map(|mug| mug.name_any()).collect::<Vec<_>>(), ["blue"]);

    let options =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Foreground), ..Default::default() };
    mugs.delete("blue", &options).await.expect("deleted");
    let uid = found.uid().expect("a uid");
    let gone = await_condition(mugs.clone(), "blue", conditions::is_deleted(&uid));
    tokio::time::timeout(PATIENCE, gone).await.expect("in time").expect("gone");
    assert!(sink.washed.load(Ordering::Relaxed) >= 2);
    assert_eq!(sink.broken.load(Ordering::Relaxed), 1);
}
