//! The embedded engine across restarts: kill -9, expiry meanwhile, one process per directory, and
//! directories that cannot be used.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use apiwright_storage::{At, Change, Error, Event, Expect, Key, Outcome, Range, Storage};
use apiwright_storage_embedded::{Clock, Embedded, OpenError, Options};
use apiwright_storage_testing::random::{Random, seeds};
use bytes::Bytes;
use futures::StreamExt;
use redb::ReadableTable;

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
        engine
            .commit(key.as_str().into(), Expect::Revision(revision), Change::Delete)
            .await
            .expect("a delete works");
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
        // Watches go on, and the past can be read, as if nothing had been.
        let mut watch = engine.watch("/registry/", before - 10).await.expect("a watch");
        let next = put(&engine, &format!("/registry/next-{round}"), Expect::Absent, "v", None).await;
        assert_eq!(next, before + 1);
        let mut seen = Vec::new();
        while seen.last() != Some(&next) {
            match watch.next().await.expect("the watch goes on").expect("it is fine") {
                Event::Progress(_) => {}
                event => seen.push(event.revision()),
            }
        }
        assert_eq!(seen, (before - 9..=next).collect::<Vec<_>>());
        let deleted = engine.get(&key, At::Revision(before - 1)).await.expect("a read of the past").1;
        assert_eq!(deleted.expect("it was there").mod_revision, revision);
        assert!(engine.get(&key, At::Revision(before)).await.expect("a read of the past").1.is_none());
    }
}

/// An engine that takes the older part of its log to the table all the time.
fn short_log() -> Options {
    Options { checkpoint_bytes: 1 << 20, log_bytes_max: 1 << 20, ..Options::default() }
}

/// A text that cannot be compressed.
fn noise(seed: u64, length: usize) -> String {
    let mut random = Random::new(seed);
    (0..length).map(|_| char::from(b'!' + (random.below(90)) as u8)).collect()
}

/// What the store takes on disk.
fn size(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).expect("the store").flatten();
    files.map(|file| file.metadata().map_or(0, |metadata| metadata.len())).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn constant_overwriting_takes_no_more_space_and_leaves_a_window() {
    const KEYS: usize = 500;
    const BYTES: usize = 8000;
    let dir = tempfile::tempdir().expect("a directory");
    let engine = Arc::new(Embedded::open(dir.path(), short_log()).expect("it opens"));
    let mut sizes = Vec::new();
    for round in 0..12 {
        let puts = (0..KEYS).map(|number| {
            let engine = engine.clone();
            async move {
                let key = format!("/registry/pods/{number}");
                let (_, entry) = engine.get(&key, At::Latest).await.expect("a read works");
                let expect = entry.map_or(Expect::Absent, |entry| Expect::Revision(entry.mod_revision));
                put(&engine, &key, expect, &noise(round, BYTES), None).await;
            }
        });
        futures::stream::iter(puts).for_each_concurrent(64, |put| put).await;
        sizes.push(size(dir.path()));
    }
    let live = (KEYS * BYTES) as u64;
    assert!(sizes.iter().all(|size| *size < 6 * live), "{sizes:?} for {live}");
    let newest = engine.revision().await.expect("a revision");
    drop(engine);

    let engine = Embedded::open(dir.path(), short_log()).expect("it opens");
    let oldest = match engine.watch("", 2).await.map(drop) {
        Err(Error::Compacted { requested: 2, oldest }) => oldest,
        other => panic!("{other:?}"),
    };
    // Half of a mebibyte in changes of 8000 bytes.
    assert!(newest - oldest > 60, "{oldest}..{newest}");
    let mut watch = engine.watch("", oldest).await.expect("a watch");
    for revision in oldest + 1..=newest {
        match watch.next().await.expect("the watch goes on").expect("it is fine") {
            Event::Put { entry, previous: Some(previous) } => {
                assert_eq!((entry.mod_revision, entry.version), (revision, previous.version + 1));
            }
            event => panic!("{event:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_deleted_gives_its_space_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = Embedded::open(dir.path(), short_log()).expect("it opens");
    let large = noise(0, 1 << 20);
    let mut revisions = Vec::new();
    for number in 0..24 {
        revisions.push(put(&engine, &format!("/large/{number}"), Expect::Absent, &large, None).await);
    }
    let full = size(dir.path());
    for (number, revision) in revisions.into_iter().enumerate() {
        let key = format!("/large/{number}").into();
        engine.commit(key, Expect::Revision(revision), Change::Delete).await.expect("a delete works");
    }
    let mut expect = Expect::Absent;
    let mut left = 2000;
    while size(dir.path()) > full / 4 {
        assert!(left > 0, "{} of {full} bytes are still taken", size(dir.path()));
        left -= 1;
        let revision = put(&engine, "/small", expect, &large[..10_000], None).await;
        expect = Expect::Revision(revision);
    }
    let newest = engine.revision().await;
    drop(engine);
    assert_eq!(open(dir.path()).revision().await, newest);
}

#[tokio::test]
async fn a_store_of_the_first_format_is_upgraded() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = || Options { checkpoint_bytes: 0, log_bytes_max: 0, ..Options::default() };
    let engine = Embedded::open(dir.path(), options()).expect("it opens");
    for number in 0..3 {
        put(&engine, &format!("/registry/pods/{number}"), Expect::Absent, "v", None).await;
    }
    // Whoever comes next waits until the table has it all.
    engine.backup().await.expect("a backup");
    engine.close().await.expect("it closes");
    drop(engine);
    // The first format had no log, and a state without the log's beginning.
    for file in std::fs::read_dir(dir.path()).expect("the store").flatten() {
        if file.file_name().to_string_lossy().starts_with("log.") {
            std::fs::remove_file(file.path()).expect("it goes");
        }
    }
    let table = redb::TableDefinition::<&str, &[u8]>::new("meta");
    let database = redb::Database::open(dir.path().join("store.redb")).expect("the table");
    let transaction = database.begin_write().expect("a transaction");
    {
        let mut meta = transaction.open_table(table).expect("a table");
        let mut state = meta.get("state").expect("a read").expect("a state").value()[..32].to_vec();
        state[4..8].copy_from_slice(&1_u32.to_le_bytes());
        let sum = crc32fast::hash(&state[4..]);
        state[..4].copy_from_slice(&sum.to_le_bytes());
        meta.insert("state", &state[..]).expect("a write");
    }
    transaction.commit().expect("a commit");
    drop(database);
    for _ in 0..2 {
        let engine = open(dir.path());
        assert_eq!(engine.revision().await, Ok(4));
        let range = Range { prefix: "", after: None, limit: 0, at: At::Latest };
        assert_eq!(engine.range(range).await.expect("a range").entries.len(), 3);
    }
}

#[tokio::test]
async fn clocks_may_jump() {
    const START: u64 = 1_700_000_000_000;
    const DAY: u64 = 86_400_000;
    let dir = tempfile::tempdir().expect("a directory");
    let time = Arc::new(AtomicU64::new(START));
    let open = || {
        let time = time.clone();
        let clock = Clock::new(move || time.load(Ordering::Relaxed));
        Embedded::open(dir.path(), Options { clock, ..Options::default() }).expect("it opens")
    };
    // Whether it is there when the clock has gone on.
    let is_there = async |engine: &Embedded, key: &str, seconds: u64| {
        time.fetch_add(seconds * 1000, Ordering::Relaxed);
        // Whoever asks the writer wakes it up.
        engine.backup().await.expect("a backup");
        engine.backup().await.expect("a backup");
        engine.get(key, At::Latest).await.expect("a read").1.is_some()
    };
    let engine = open();
    put(&engine, "/a", Expect::Absent, "v", Some(60)).await;
    assert!(is_there(&engine, "/a", 59).await);
    assert!(!is_there(&engine, "/a", 2).await);
    put(&engine, "/b", Expect::Absent, "v", Some(60)).await;
    put(&engine, "/c", Expect::Absent, "v", Some(60)).await;
    drop(engine);
    // A clock that was a day ahead has been put right: nobody lives a day longer.
    time.fetch_sub(DAY, Ordering::Relaxed);
    let engine = open();
    assert!(is_there(&engine, "/b", 59).await);
    assert!(!is_there(&engine, "/b", 2).await);
    put(&engine, "/d", Expect::Absent, "v", Some(60)).await;
    drop(engine);
    // A clock that was a day behind: what was to live for a minute is gone.
    time.fetch_add(DAY, Ordering::Relaxed);
    assert!(!is_there(&open(), "/d", 0).await);
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
