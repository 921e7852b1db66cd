//! What is stored survives: kill -9, a full disk, damage, the move to another directory; and many
//! watchers are no burden.
//!
//! `APIWRIGHT_KILLS=200` kills that many times, `APIWRIGHT_SOAK_SECONDS=3600` watches for an hour,
//! `APIWRIGHT_PODS=50000` makes that many pods. A failure prints its seed, and
//! `APIWRIGHT_FAULT_SEED=<seed>` kills at the same moments again.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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
    // One who watches, over all lives of the server, and only ever resumes.
    let (mut seen, mut watched): (BTreeMap<String, u64>, u64) = (BTreeMap::new(), 1);
    for round in 0..variable("APIWRIGHT_KILLS", 3) {
        let server = Server::start(home.path(), &[]);
        let client = server.client().await;
        assert_kept(&client, &acknowledged).await;
        watched = catch_up(&client, watched, &mut seen).await;
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
    let client = server.client().await;
    assert_kept(&client, &acknowledged).await;
    catch_up(&client, watched, &mut seen).await;
    assert_eq!(seen, list(&client).await.1, "the watch has a gap");
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

/// Resumes a watch and takes all that there is; gives where to resume it next time.
async fn catch_up(client: &Client, after: u64, seen: &mut BTreeMap<String, u64>) -> u64 {
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={after}&timeoutSeconds=1");
    let (code, text) = client.call(Method::GET, &path, "").await.expect("an answer");
    assert_eq!(code, 200, "{text}");
    let mut newest = after;
    for line in text.lines() {
        let event = decode(line);
        assert_eq!(event.text_at(&["type"]), "ADDED", "{line}");
        let version = number(&event, &["object", "metadata", "resourceVersion"]);
        assert!(version > newest, "{version} after {newest}");
        newest = version;
        let twice = seen.insert(event.text_at(&["object", "metadata", "name"]).to_owned(), version);
        assert_eq!(twice, None, "{line} came twice");
    }
    newest
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
    let nobody = nobody
        .replace("    client-certificate-data", "    nothing")
        .replace("    client-key-data", "    nor-this");
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
    // Controllers write, too, and would have their share of the room.
    command.args(["-c", &script, env!("CARGO_BIN_EXE_apiwright"), "--controllers=-*"]);
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
    let server = Server::start(home.path(), &["--controllers=-*"]);
    assert_eq!(list(&server.client().await).await.1, kept);
}

/// The resident memory of a process, in bytes.
fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// Makes a ConfigMap and replaces it again and again; the number of the last time is in it.
async fn replace(client: Client, name: String, bytes: usize, ends: impl Fn(u64) -> bool) -> u64 {
    for count in 1.. {
        let data = format!("{count} {}", "x".repeat(bytes));
        let body = config_map(&name, 0).replace(r#""a":"""#, &format!(r#""a":"{data}""#));
        let (method, path) = match count {
            1 => (Method::POST, CONFIG_MAPS.to_owned()),
            _ => (Method::PUT, format!("{CONFIG_MAPS}/{name}")),
        };
        let (code, text) = client.call(method, &path, &body).await.expect("an answer");
        assert!(code < 300, "{text}");
        if ends(count) {
            return count;
        }
    }
    0
}

/// Follows one ConfigMap until it has seen the last replacement of it.
async fn follow(client: Client, name: String, mut last: tokio::sync::watch::Receiver<Option<u64>>) {
    let path = format!("{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3D{name}");
    let mut watch = client.send(Method::GET, &path, "").await.expect("a watch");
    let (mut text, mut seen) = (String::new(), 0);
    while last.borrow().is_none_or(|last| seen < last) {
        let frame = tokio::select! {
            frame = watch.body_mut().frame() => frame,
            _ = last.changed() => continue,
        };
        let frame = frame.expect("the watch goes on").expect("it is fine");
        text.push_str(&String::from_utf8_lossy(frame.data_ref().expect("data")));
        while let Some((event, rest)) = text.split_once('\n') {
            let event = decode(event);
            let count = event.text_at(&["object", "data", "a"]).split(' ').next().unwrap_or_default();
            seen += 1;
            assert_eq!(count, seen.to_string(), "the watch has a gap or repeats itself");
            text = rest.to_owned();
        }
    }
}

/// `APIWRIGHT_SOAK_SECONDS=3600` makes it an hour.
#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_watchers_are_no_burden() {
    const WATCHERS: usize = 100;
    const BIG: usize = 900_000;
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &[]);
    let client = server.client().await;
    // Half of them follow small objects; the others never read a word of big ones.
    let (said, last) = tokio::sync::watch::channel(None);
    let mut followers = Vec::new();
    let mut sleepers = Vec::new();
    for at in 0..WATCHERS {
        if at % 25 == 0 {
            followers.push((server.client().await, Vec::new()));
            sleepers.push((server.client().await, Vec::new()));
        }
        let (client, tasks) = followers.last_mut().expect("a connection");
        tasks.push(tokio::spawn(follow(client.clone(), "small".into(), last.clone())));
        let (client, watches) = sleepers.last_mut().expect("a connection");
        let path = format!("{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3Dbig");
        watches.push(client.send(Method::GET, &path, "").await.expect("a watch"));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = resident(server.id());
    let until = Instant::now() + Duration::from_secs(variable("APIWRIGHT_SOAK_SECONDS", 3));
    let small = tokio::spawn(replace(client.clone(), "small".into(), 1000, move |_| Instant::now() > until));
    let big = replace(client.clone(), "big".into(), BIG, |count| count >= 200 && Instant::now() > until);
    let written = big.await * BIG as u64;
    said.send_replace(Some(small.await.expect("a writer does not panic")));
    for follower in followers.into_iter().flat_map(|(_, tasks)| tasks) {
        tokio::time::timeout(Duration::from_secs(30), follower)
            .await
            .expect("it gets there")
            .expect("all of it");
    }
    let grown = resident(server.id()).saturating_sub(before);
    // The window of changes has 64 MiB; the rest is what sockets and streams hold.
    assert!(grown < 200 << 20, "{written} bytes written, and it has grown by {grown}");
    drop(sleepers);
    server.kill();
}

/// Makes every eighth of some pods of 4 KiB.
async fn make_pods(client: Client, first: u64, count: u64) {
    let note = "n".repeat(3600);
    for at in (first..count).step_by(8) {
        let pod = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{at}","labels":{{"app":"a{}"}},
            "annotations":{{"note":"{note}"}}}},"spec":{{"nodeName":"node-{}","containers":[{{"name":"web",
            "image":"registry.example.com/web:1","ports":[{{"containerPort":80}}],"env":[{{"name":"A","value":"b"}}]}}]}}}}"#,
            at % 100,
            at % 1000
        );
        let path = "/api/v1/namespaces/default/pods";
        let (code, text) = client.call(Method::POST, path, &pod).await.expect("an answer");
        assert_eq!(code, 201, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_take_little_more_memory_than_their_bytes() {
    let home = TempDir::new().expect("a folder");
    let pods = variable("APIWRIGHT_PODS", 400);
    let arguments = ["--disable-admission-plugins=ServiceAccount"];
    let server = Server::start(home.path(), &arguments);
    let empty = resident(server.id());
    let client = server.client().await;
    let makers: Vec<_> = (0..8).map(|first| tokio::spawn(make_pods(client.clone(), first, pods))).collect();
    for maker in makers {
        maker.await.expect("a maker does not panic");
    }
    let full = resident(server.id());
    let (done, said) = apiwright(home.path(), &["snapshot", "save", "all"]);
    assert!(done, "{said}");
    let encoded = std::fs::metadata(home.path().join("all")).expect("a file").len();
    server.signal();
    assert!(server.end().0.success());
    let began = Instant::now();
    let server = Server::start(home.path(), &arguments);
    let took = began.elapsed();
    let again = resident(server.id());
    let mib = |bytes: u64| bytes >> 20;
    println!(
        "{pods} pods of {} MiB: {} MiB resident of which {} when empty, {} after a restart of {took:.1?}",
        mib(encoded),
        mib(full),
        mib(empty),
        mib(again)
    );
    let limit = 2 * encoded + (60 << 20);
    assert!(full - empty < limit && again.saturating_sub(empty) < limit, "the limit is {} MiB", mib(limit));
}
