//! The embedded engine across restarts: kill -9, expiry meanwhile, one process per directory, and
//! directories that cannot be used.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use apiwright_storage::{At, Change, Error, Event, Expect, Key, Outcome, Range, Storage};
use apiwright_storage_embedded::{Embedded, OpenError, Options};
use apiwright_storage_testing::random::{Random, seeds};
use bytes::Bytes;
use futures::StreamExt;

/// Where the process to be killed writes; set only in that process.
const VICTIM_DIR: &str = "APIWRIGHT_VICTIM_DIR";
const KILLS: usize = 8;
const WRITERS: usize = 4;

async fn put(engine: &Embedded, key: &str, expect: Expect, value: &str, ttl_seconds: Option<u32>) -> u64 {
    let change = Change::Put { value: Bytes::copy_from_slice(value.as_bytes()), ttl_seconds };
    match engine.commit(Key::from(key), expect, change).await.expect("a write works") {
        Outcome::Done { revision, .. } => revision,
        Outcome::Mismatch { current, .. } => panic!("{key} is {current:?}"),
    }
}

fn open(dir: &Path) -> Embedded {
    Embedded::open(dir, Options::default()).expect("the directory opens")
}

/// Counts in several keys and prints what was acknowledged, until it is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn victim() {
    let Ok(dir) = std::env::var(VICTIM_DIR) else { return };
    let engine = Arc::new(open(Path::new(&dir)));
    let writers = (0..WRITERS).map(|writer| {
        let engine = engine.clone();
        tokio::spawn(async move {
            let key = format!("/registry/counters/{writer}");
            let (_, entry) = engine.get(&key, At::Latest).await.expect("a read works");
            let mut count: u64 = entry.as_ref().map_or(0, |entry| number(&entry.value));
            let mut expect = entry.map_or(Expect::Absent, |entry| Expect::Revision(entry.mod_revision));
            loop {
                count += 1;
                let value = format!("{count} {}", "x".repeat((count % 50) as usize * 100));
                let revision = put(&engine, &key, expect, &value, None).await;
                expect = Expect::Revision(revision);
                println!("ACK {writer} {count} {revision}");
            }
        })
    });
    futures::future::join_all(writers.collect::<Vec<_>>()).await;
}

fn number(value: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(value);
    text.split(' ').next().and_then(|number| number.parse().ok()).expect("a counter")
}

#[tokio::test]
async fn kill_9_loses_nothing_acknowledged() {
    let dir = tempfile::tempdir().expect("a directory");
    let seed = seeds("APIWRIGHT_FAULT_SEED", 1)[0];
    println!("APIWRIGHT_FAULT_SEED={seed}");
    let mut random = Random::new(seed);
    let mut acknowledged: HashMap<usize, u64> = HashMap::new();
    let mut newest = 0;
    for _ in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "victim", "--nocapture"])
            .env(VICTIM_DIR, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts again");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut left = 1 + random.below(400);
        for line in lines.map_while(Result::ok) {
            // What was printed before the kill counts too.
            let Some(numbers) = line.split("ACK ").nth(1) else { continue };
            let numbers: Vec<u64> = numbers.split(' ').filter_map(|number| number.parse().ok()).collect();
            let [writer, count, revision] = numbers[..] else { continue };
            acknowledged.insert(writer as usize, count);
            newest = newest.max(revision);
            left = left.saturating_sub(1);
            if left == 0 {
                child.kill().expect("it can be killed");
            }
        }
        child.wait().expect("it ends");
        assert_eq!(left, 0, "the victim ended by itself");

        let engine = open(dir.path());
        let revision = engine.revision().await.expect("a revision");
        assert!(revision >= newest, "{revision} after {newest}");
        for (writer, count) in &mut acknowledged {
            let (_, entry) =
                engine.get(&format!("/registry/counters/{writer}"), At::Latest).await.expect("a read");
            let found = number(&entry.expect("it was acknowledged").value);
            // One more may have become durable without the news getting out.
            assert!(found == *count || found == *count + 1, "{writer} is at {found}, and was at {count}");
            *count = found;
        }
    }
}

#[tokio::test]
async fn everything_is_there_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut want = Vec::new();
    for round in 0..3 {
        let engine = open(dir.path());
        for number in 0..50 {
            let key = format!("/registry/pods/{round}-{number:03}");
            let revision = put(&engine, &key, Expect::Absent, &key, None).await;
            want.push((key, revision));
        }
        let (key, revision) = want.remove(7);
        engine.commit(key.into(), Expect::Revision(revision), Change::Delete).await.expect("a delete works");
        let before = engine.revision().await.expect("a revision");
        if round == 1 {
            engine.close().await.expect("it closes");
        }
        drop(engine);
        let engine = open(dir.path());
        assert_eq!(engine.revision().await, Ok(before));
        let range = Range { prefix: "/registry/pods/", after: None, limit: 0, at: At::Latest };
        let page = engine.range(range).await.expect("a range");
        let got: Vec<_> =
            page.entries.iter().map(|entry| (entry.key.to_string(), entry.mod_revision)).collect();
        want.sort();
        assert_eq!(got, want);
        assert!(page.entries.iter().all(|entry| entry.value == entry.key.as_bytes()));
        // The past does not outlive a restart; the present can be resumed from.
        let oldest = Err(Error::Compacted { requested: before - 1, oldest: before });
        assert_eq!(engine.get("/registry/pods/x", At::Revision(before - 1)).await.map(drop), oldest.clone());
        assert_eq!(engine.watch("/registry/pods/", before - 1).await.map(drop), oldest);
        let mut watch = engine.watch("/registry/", before).await.expect("a watch");
        let next = put(&engine, &format!("/registry/next-{round}"), Expect::Absent, "v", None).await;
        assert_eq!(next, before + 1);
        while !matches!(watch.next().await, Some(Ok(Event::Put { entry, .. })) if entry.mod_revision == next)
        {
        }
    }
}

#[tokio::test]
async fn time_to_live_goes_on_while_stopped() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = open(dir.path());
    put(&engine, "/registry/events/a", Expect::Absent, "v", Some(1)).await;
    put(&engine, "/registry/events/b", Expect::Absent, "v", Some(3600)).await;
    let revision = put(&engine, "/registry/events/c", Expect::Absent, "v", Some(1)).await;
    put(&engine, "/registry/events/c", Expect::Revision(revision), "v", None).await;
    drop(engine);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let engine = open(dir.path());
    for _ in 0..500 {
        if engine.get("/registry/events/a", At::Latest).await.expect("a read").1.is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let range = Range { prefix: "/registry/events/", after: None, limit: 0, at: At::Latest };
    let page = engine.range(range).await.expect("a range");
    let keys: Vec<_> = page.entries.iter().map(|entry| &*entry.key).collect();
    assert_eq!(keys, ["/registry/events/b", "/registry/events/c"]);
}

#[tokio::test]
async fn one_engine_per_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = open(dir.path());
    let error = Embedded::open(dir.path(), Options::default()).expect_err("it is in use");
    let want = format!(
        "another apiwright (pid {}) uses the data directory {}; stop it or choose another directory",
        std::process::id(),
        dir.path().display()
    );
    assert_eq!(error.to_string(), want);
    engine.close().await.expect("it closes");
    open(dir.path());
    drop(engine);
    open(dir.path());
}

#[test]
fn unusable_directories_say_why() {
    type Spoil = fn(&Path);
    let cases: [(&str, Spoil, &str); 4] = [
        (
            "foreign",
            |dir| std::fs::write(dir.join("store.redb"), vec![7; 100_000]).expect("a write"),
            " is corrupt: ",
        ),
        (
            "cut",
            |dir| {
                let file =
                    std::fs::OpenOptions::new().write(true).open(dir.join("store.redb")).expect("a file");
                file.set_len(5000).expect("a cut");
            },
            " is corrupt: ",
        ),
        ("empty", |dir| std::fs::write(dir.join("store.redb"), "").expect("a write"), " is corrupt: "),
        (
            "no file",
            |dir| {
                std::fs::remove_file(dir.join("store.redb")).expect("a removal");
                std::fs::create_dir(dir.join("store.redb")).expect("a directory");
            },
            "cannot use ",
        ),
    ];
    for (name, spoil, want) in cases {
        let dir = tempfile::tempdir().expect("a directory");
        drop(open(dir.path()));
        spoil(dir.path());
        let error = Embedded::open(dir.path(), Options::default()).expect_err(name).to_string();
        assert!(error.contains(want) && error.contains("store.redb"), "{name}: {error}");
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    let error = Embedded::open(file.path(), Options::default()).expect_err("a file is no directory");
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
}
