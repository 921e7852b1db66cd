//! Snapshots of the embedded engine: consistent while writers write, complete, and never restored
//! over something.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use apiwright_storage::{At, Change, Error, Expect, Key, Outcome, Page, Range, Revision, Storage};
use apiwright_storage_embedded::{Embedded, Lock, OpenError, Options, RestoreError, backup};
use bytes::Bytes;

const BUMP: Revision = 1000;

async fn put(
    engine: &Embedded,
    key: &str,
    expect: Expect,
    value: &str,
    ttl_seconds: Option<u32>,
) -> Revision {
    let change = Change::Put { value: Bytes::copy_from_slice(value.as_bytes()), ttl_seconds };
    match engine.commit(Key::from(key), expect, change).await.expect("a write works") {
        Outcome::Done { revision, .. } => revision,
        Outcome::Mismatch { current, .. } => panic!("{key} is {current:?}"),
    }
}

async fn all(engine: &Embedded) -> Page {
    engine.range(Range { prefix: "", after: None, limit: 0, at: At::Latest }).await.expect("a range")
}

/// A page as text, revisions of entries included.
fn contents(page: &Page) -> Vec<String> {
    page.entries.iter().map(|entry| format!("{entry:?}")).collect()
}

fn restore(dir: &Path, file: &[u8]) -> Result<backup::Summary, RestoreError> {
    let lock = Lock::take(dir).expect("nobody else has it");
    Embedded::restore(dir.join("store"), &lock, file, BUMP)
}

async fn file(engine: &Embedded) -> Vec<u8> {
    engine.backup().await.expect("a backup").pieces().flatten().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_snapshot_is_one_moment() {
    let engine = Arc::new(Embedded::memory(Options::default()));
    let ends = Arc::new(AtomicBool::new(false));
    // Each writer keeps two counters, the second never behind the first by more than one.
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (engine, ends) = (engine.clone(), ends.clone());
            tokio::spawn(async move {
                let keys = [format!("/a/{writer}"), format!("/b/{writer}")];
                let mut expect = [Expect::Absent; 2];
                let mut count = 0_u64;
                while !ends.load(Ordering::Relaxed) {
                    count += 1;
                    for (key, expect) in keys.iter().zip(&mut expect) {
                        *expect =
                            Expect::Revision(put(&engine, key, *expect, &count.to_string(), None).await);
                    }
                }
            })
        })
        .collect();
    for _ in 0..20 {
        let before = engine.revision().await.expect("a revision");
        let file = file(&engine).await;
        let dir = tempfile::tempdir().expect("a directory");
        let summary = restore(dir.path(), &file).expect("it is restored");
        assert!(summary.revision >= before, "acknowledged writes are missing");
        let restored = Embedded::open(dir.path().join("store"), Options::default()).expect("it opens");
        let page = all(&restored).await;
        let count: HashMap<&str, u64> = page
            .entries
            .iter()
            .map(|entry| (&*entry.key, String::from_utf8_lossy(&entry.value).parse().expect("a number")))
            .collect();
        let newest = page.entries.iter().map(|entry| entry.mod_revision).max().unwrap_or(1);
        assert!(newest == summary.revision, "{newest} is newest at {}", summary.revision);
        for writer in 0..4 {
            let of = |half: &str| count.get(format!("/{half}/{writer}").as_str()).copied().unwrap_or(0);
            assert!(of("a") == of("b") || of("a") == of("b") + 1, "{count:?}");
        }
    }
    ends.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.expect("a writer does not panic");
    }
}

#[tokio::test]
async fn a_restored_store_never_goes_back() {
    let engine = Embedded::memory(Options::default());
    for number in 0..500 {
        put(&engine, &format!("/registry/pods/{number:03}"), Expect::Absent, &"x".repeat(number * 7), None)
            .await;
    }
    put(&engine, "/registry/events/a", Expect::Absent, "v", Some(1)).await;
    put(&engine, "/registry/events/b", Expect::Absent, "v", Some(3600)).await;
    let file = file(&engine).await;
    let saved = all(&engine).await;
    let summary = backup::verify(&file[..]).expect("it is sound");
    assert_eq!((summary.revision, summary.count), (saved.revision, 502));

    let dir = tempfile::tempdir().expect("a directory");
    assert_eq!(restore(dir.path(), &file).expect("it is restored"), summary);
    let restored = Embedded::open(dir.path().join("store"), Options::default()).expect("it opens");
    let page = all(&restored).await;
    assert_eq!(contents(&page), contents(&saved));
    assert_eq!(page.revision, saved.revision + BUMP);
    // A watcher of the original store may have seen more than the snapshot has: it must start anew.
    for seen in [saved.revision, saved.revision + BUMP / 2] {
        let oldest = Err(Error::Compacted { requested: seen, oldest: page.revision });
        assert_eq!(restored.watch("/", seen).await.map(drop), oldest);
    }
    assert_eq!(put(&restored, "/next", Expect::Absent, "v", None).await, page.revision + 1);
    // Deadlines are kept.
    for _ in 0..500 {
        if restored.get("/registry/events/a", At::Latest).await.expect("a read").1.is_none() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let left = restored.range(Range { prefix: "/registry/events/", after: None, limit: 0, at: At::Latest });
    let left: Vec<_> = left.await.expect("a range").entries.iter().map(|entry| entry.key.clone()).collect();
    assert_eq!(left, ["/registry/events/b".into()]);
}

#[tokio::test]
async fn nothing_is_restored_over_something_or_from_damage() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = dir.path().join("store");
    let engine = Embedded::memory(Options::default());
    put(&engine, "/a", Expect::Absent, "value", None).await;
    let mut file = file(&engine).await;
    let last = file.len() - 1;
    file[last] ^= 1;
    let why = restore(dir.path(), &file).expect_err("it is damaged").to_string();
    assert_eq!(why, "its hash is not that of its contents");
    file[last] ^= 1;
    assert!(matches!(
        Embedded::backup_at_rest(&store, &Lock::take(dir.path()).expect("a lock")),
        Err(OpenError::Missing { .. })
    ));
    restore(dir.path(), &file).expect("the failure left nothing behind");
    let error = restore(dir.path(), &file).expect_err("there is a store");
    assert!(matches!(error, RestoreError::Exists { .. }), "{error}");
    // A store that nobody uses gives the same file, but for the revision.
    let lock = Lock::take(dir.path()).expect("a lock");
    let at_rest = Embedded::backup_at_rest(&store, &lock).expect("a backup");
    assert_eq!((at_rest.revision(), at_rest.count()), (2 + BUMP, 1));
    let at_rest: Vec<u8> = at_rest.pieces().flatten().collect();
    assert_eq!(at_rest.len(), file.len());
}
