//! What is stored survives: kill -9, a full disk, damage, the move to another directory.
//!
//! `APIWRIGHT_KILLS=200` kills that many times; a failure prints its seed, and
//! `APIWRIGHT_FAULT_SEED=<seed>` runs it again.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use apiwright_json::Value;
use http::Method;
use http_body_util::BodyExt;
use support::process::{Client, Server};
use tempfile::TempDir;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WRITERS: usize = 4;

fn config_map(name: &str, bytes: usize) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"a":"{}"}}}}"#,
        "x".repeat(bytes)
    )
}

fn decode(text: &str) -> Value {
    apiwright_json::decode(text.as_bytes()).expect("JSON").0
}

fn number(value: &Value, path: &[&str]) -> u64 {
    value.text_at(path).parse().expect("a resourceVersion")
}

/// Every ConfigMap of the namespace with its resourceVersion, and that of the list.
async fn list(client: &Client) -> (u64, BTreeMap<String, u64>) {
    let (code, text) = client.call(Method::GET, CONFIG_MAPS, "").await.expect("an answer");
    assert_eq!(code, 200, "{text}");
    let list = decode(&text);
    let items = list.get("items").and_then(Value::as_array).expect("items");
    let named = items.iter().map(|item| {
        (item.text_at(&["metadata", "name"]).to_owned(), number(item, &["metadata", "resourceVersion"]))
    });
    (number(&list, &["metadata", "resourceVersion"]), named.collect())
}

/// Creates ConfigMaps until the server is gone; gives those that were acknowledged.
async fn create_until_gone(client: Client, prefix: String) -> Vec<(String, u64)> {
    let mut acknowledged = Vec::new();
    for at in 0.. {
        let name = format!("{prefix}-{at}");
        match client.call(Method::POST, CONFIG_MAPS, &config_map(&name, at % 50 * 100)).await {
            Ok((201, text)) => {
                acknowledged.push((name, number(&decode(&text), &["metadata", "resourceVersion"])));
            }
            Ok((code, text)) => panic!("{code} {text}"),
            Err(_) => break,
        }
    }
    acknowledged
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_kill_9() {
    let home = TempDir::new().expect("a folder");
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let seed = variable("APIWRIGHT_FAULT_SEED", clock >> 1);
    println!("APIWRIGHT_FAULT_SEED={seed}");
    let mut acknowledged: BTreeMap<String, u64> = BTreeMap::new();
    for round in 0..variable("APIWRIGHT_KILLS", 3) {
        let server = Server::start(home.path(), &[]);
        let client = server.client().await;
        assert_kept(&client, &acknowledged).await;
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| tokio::spawn(create_until_gone(client.clone(), format!("kept-{round}-{writer}"))))
            .collect();
        let delay = 100 + seed.wrapping_mul(2 * round + 1) % 700;
        tokio::time::sleep(Duration::from_millis(delay)).await;
        server.kill();
        for writer in writers {
            acknowledged.extend(writer.await.expect("a writer does not panic"));
        }
    }
    assert!(!acknowledged.is_empty(), "nothing was written before the kills");
    let server = Server::start(home.path(), &[]);
    assert_kept(&server.client().await, &acknowledged).await;
    server.signal();
    assert!(server.end().0.success(), "the server ends well when asked");
    let server = Server::start(home.path(), &[]);
    assert_kept(&server.client().await, &acknowledged).await;
}

async fn assert_kept(client: &Client, acknowledged: &BTreeMap<String, u64>) {
    let (revision, found) = list(client).await;
    for (name, version) in acknowledged {
        assert_eq!(found.get(name), Some(version), "{name} was acknowledged");
        assert!(revision >= *version, "the list is at {revision}, {name} at {version}");
    }
}

fn apiwright(home: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_apiwright"))
        .current_dir(home)
        .args(arguments)
        .output()
        .expect("the binary runs");
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_moves_everything_to_another_directory() {
    let home = TempDir::new().expect("a folder");
    let run = |arguments: &[&str]| apiwright(home.path(), arguments);
    let server = Server::start(home.path(), &[]);
    let client = server.client().await;
    for at in 0..20 {
        let body = config_map(&format!("kept-{at}"), at * 1000);
        assert_eq!(client.call(Method::POST, CONFIG_MAPS, &body).await.expect("an answer").0, 201);
    }
    let (revision, kept) = list(&client).await;
    let (done, said) = run(&["snapshot", "save", "online.snapshot"]);
    assert!(done && said.starts_with("saved online.snapshot\nformat 1, revision "), "{said}");
    // Whoever may not read the path is refused, and leaves no file behind.
    let nobody = std::fs::read_to_string(home.path().join(".apiwright/kubeconfig")).expect("a file");
    let nobody = nobody.replace("    client-certificate-data", "    client-nothing");
    std::fs::write(home.path().join("nobody"), nobody).expect("a file");
    let (done, said) = run(&["snapshot", "save", "stolen", "--kubeconfig", "nobody"]);
    assert!(!done && said.contains("403 Forbidden") && said.contains("/apiwright/snapshot"), "{said}");
    assert!(!home.path().join("stolen.part").exists() && !home.path().join("stolen").exists());

    let body = config_map("late", 1);
    let (_, late) = client.call(Method::POST, CONFIG_MAPS, &body).await.expect("an answer");
    let late = number(&decode(&late), &["metadata", "resourceVersion"]);
    server.signal();
    assert!(server.end().0.success());
    let (done, offline) = run(&["snapshot", "save", "offline.snapshot"]);
    assert!(done, "{offline}");
    let (done, said) = run(&["snapshot", "status", "offline.snapshot"]);
    assert!(done && offline.ends_with(&said), "{said} {offline}");
    let (done, said) = run(&["snapshot", "status", "online.snapshot", "-o", "json"]);
    let status = decode(&said);
    assert!(done && status.get("revision").and_then(Value::as_i64) == Some(revision as i64), "{said}");

    let (done, said) = run(&["snapshot", "restore", "online.snapshot"]);
    assert!(!done && said.contains("has a store already"), "{said}");
    std::fs::rename(home.path().join(".apiwright/store"), home.path().join("old")).expect("it moves");
    let (done, said) = run(&["snapshot", "restore", "online.snapshot"]);
    assert!(done && said.contains("goes on at revision 1000"), "{said}");
    let server = Server::start(home.path(), &[]);
    let client = server.client().await;
    let (restored, found) = list(&client).await;
    assert_eq!(found, kept);
    assert!(restored > late, "clients that saw {late} would be told of {restored} as the past");
    let watch = format!("{CONFIG_MAPS}?watch=1&resourceVersion={late}");
    let (code, said) = client.call(Method::GET, &watch, "").await.expect("an answer");
    assert!(said.contains("\"code\":410"), "{code} {said}");

    let damaged = home.path().join("damaged");
    let mut bytes = std::fs::read(home.path().join("online.snapshot")).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&damaged, bytes).expect("a file");
    let (done, said) = run(&["snapshot", "restore", "damaged", "--data-dir", "new"]);
    assert!(!done && said.contains("cannot use the snapshot damaged: "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_said_in_one_line() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &[]);
    let client = server.client().await;
    for at in 0..20 {
        let body = config_map(&format!("kept-{at}"), 5000);
        assert_eq!(client.call(Method::POST, CONFIG_MAPS, &body).await.expect("an answer").0, 201);
    }
    server.signal();
    assert!(server.end().0.success());
    let file = home.path().join(".apiwright/store/log.00000001");
    let mut bytes = std::fs::read(&file).expect("a store");
    let place = bytes.windows(100).position(|part| part.iter().all(|byte| *byte == b'x')).expect("a value");
    bytes[place] = b'y';
    std::fs::write(&file, bytes).expect("a file");
    let (started, said) = apiwright(home.path(), &["--secure-port", "0"]);
    assert!(!started && said.lines().count() == 1, "{said}");
    assert!(
        said.contains("log is corrupt: log.00000001: the record at ")
            && said.contains("apiwright snapshot restore"),
        "{said}"
    );
}

/// Starts a server whose files may get so long; its signal for longer ones is ignored, so that it gets errors.
fn start_limited(home: &Path, bytes: u64) -> Server {
    let mut command = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -S -f {}; exec \"$0\" \"$@\"", bytes / 512);
    command.args(["-c", &script, env!("CARGO_BIN_EXE_apiwright")]);
    Server::spawn(home, command)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_writes_and_nothing_else() {
    let home = TempDir::new().expect("a folder");
    // The files of an empty store fit, and not much more.
    let server = start_limited(home.path(), 2 << 20);
    let client = server.client().await;
    let mut kept = BTreeMap::new();
    let mut watch = client.send(Method::GET, &format!("{CONFIG_MAPS}?watch=1"), "").await.expect("a watch");
    let refusal = loop {
        let name = format!("kept-{}", kept.len());
        let (code, text) =
            client.call(Method::POST, CONFIG_MAPS, &config_map(&name, 50_000)).await.expect("an answer");
        match code {
            201 => kept.insert(name, number(&decode(&text), &["metadata", "resourceVersion"])),
            _ => break (code, text),
        };
        assert!(kept.len() < 1000, "it never gets full");
    };
    let status = decode(&refusal.1);
    assert_eq!((refusal.0, status.get("code").and_then(Value::as_i64)), (507, Some(507)), "{}", refusal.1);
    assert!(status.text_at(&["message"]).starts_with("the storage is full"), "{}", refusal.1);
    // Reads go on, and nobody takes the server for sick.
    assert_eq!(list(&client).await.1, kept);
    assert_eq!(server.text("/readyz").await, (200, "ok".into()));
    let (code, text) =
        client.call(Method::DELETE, &format!("{CONFIG_MAPS}/kept-0"), "").await.expect("an answer");
    assert_eq!(code, 507, "{text}");

    // There is space again: no restart, no loss.
    let raised =
        Command::new("prlimit").args(["--pid", &server.id().to_string(), "--fsize=unlimited"]).status();
    assert!(raised.expect("prlimit runs").success());
    let mut left = 100;
    loop {
        let (code, text) =
            client.call(Method::POST, CONFIG_MAPS, &config_map("after", 50_000)).await.expect("an answer");
        if code == 201 {
            kept.insert("after".into(), number(&decode(&text), &["metadata", "resourceVersion"]));
            break;
        }
        assert!(code == 507 && left > 0, "{code} {text}");
        left -= 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(list(&client).await.1, kept);
    // The watch saw each of them once, and none that was refused.
    let mut seen = String::new();
    while seen.matches("\"type\":\"ADDED\"").count() < kept.len() {
        let frame = watch.body_mut().frame().await.expect("the watch goes on").expect("it is fine");
        seen.push_str(&String::from_utf8_lossy(frame.data_ref().expect("data")));
    }
    for name in kept.keys() {
        assert_eq!(seen.matches(&format!("\"name\":\"{name}\"")).count(), 1, "{name}");
    }
    server.kill();
    let server = Server::start(home.path(), &[]);
    assert_eq!(list(&server.client().await).await.1, kept);
}
