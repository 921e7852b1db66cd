//! A cache over a real etcd: what it does when etcd goes away, forgets, or is written by others.

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use apiwright_cache::Cached;
use apiwright_storage::{At, Change, Error, Event, Expect, Key, Outcome, Range, Storage, Watch};
use apiwright_storage_etcd::Options;
use bytes::Bytes;
use futures::{FutureExt, StreamExt};

use support::Server;

const ROOT: &str = "/registry/";

async fn put(storage: &dyn Storage, key: &str, value: &str) -> Result<u64, Error> {
    loop {
        let (_, current) = storage.get(key, At::Latest).await?;
        let expect = current.map_or(Expect::Absent, |entry| Expect::Revision(entry.mod_revision));
        let change = Change::Put { value: Bytes::copy_from_slice(value.as_bytes()), ttl_seconds: None };
        if let Outcome::Done { revision, .. } = storage.commit(Key::from(key), expect, change).await? {
            return Ok(revision);
        }
    }
}

async fn delete(storage: &dyn Storage, key: &str) {
    let (_, current) = storage.get(key, At::Latest).await.unwrap();
    let expect = Expect::Revision(current.unwrap().mod_revision);
    storage.commit(Key::from(key), expect, Change::Delete).await.unwrap();
}

async fn contents(storage: &dyn Storage, at: At) -> Result<Vec<String>, Error> {
    let page = storage.range(Range { prefix: ROOT, after: None, limit: 0, at }).await?;
    let text = |value: &Bytes| String::from_utf8_lossy(value).into_owned();
    Ok(page
        .entries
        .iter()
        .map(|entry| format!("{}={}", &entry.key[ROOT.len()..], text(&entry.value)))
        .collect())
}

/// The next changes of a watch as text, until one of a key.
async fn changes(watch: &mut Watch, until: &str) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let event = tokio::time::timeout(Duration::from_secs(30), watch.next()).await;
        let event = event.expect("a change comes").expect("the watch goes on").expect("the watch is fine");
        let Some(key) = event.key() else { continue };
        let name = key[ROOT.len()..].to_owned();
        let what = match &event {
            Event::Put { previous: None, .. } => "create",
            Event::Put { .. } => "update",
            Event::Delete { .. } => "delete",
            Event::Progress(_) => "progress",
        };
        let is_last = name == until;
        seen.push(format!("{what} {name}"));
        if is_last {
            return seen;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_goes_away_and_comes_back() {
    if !support::available() {
        return;
    }
    let mut server = Server::start();
    let cached = server.cached(server.options(), ROOT).await;
    let start = put(&cached, "/registry/a", "1").await.unwrap();
    let mut watch = cached.watch(ROOT, start).await.unwrap();
    put(&cached, "/registry/b", "1").await.unwrap();
    contents(&cached, At::Latest).await.unwrap();

    server.kill();
    // What is at hand can be read, the newest cannot.
    assert_eq!(contents(&cached, At::NotOlderThan(0)).await.unwrap(), ["a=1", "b=1"]);
    assert_eq!(contents(&cached, At::Revision(start)).await.unwrap(), ["a=1"]);
    let began = Instant::now();
    assert!(matches!(contents(&cached, At::Latest).await, Err(Error::Unavailable(_))));
    assert!(matches!(put(&cached, "/registry/a", "2").await, Err(Error::Unavailable(_))));
    assert!(cached.health().await.is_err());
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());

    server.restart();
    // Somebody else writes before the cache is connected again.
    let other = server.connect(server.options()).await;
    put(&other, "/registry/a", "2").await.unwrap();
    delete(&other, "/registry/b").await;
    put(&other, "/registry/end", "").await.unwrap();
    assert_eq!(contents(&cached, At::Latest).await.unwrap(), ["a=2", "end="]);
    assert_eq!(changes(&mut watch, "end").await, ["create b", "update a", "delete b", "create end"]);
}

/// Until both the last change and the deletion, which may come after it, were told.
async fn all_changes(watch: &mut Watch) -> Vec<String> {
    let mut told = changes(watch, "zzz").await;
    if !told.iter().any(|change| change == "delete gone") {
        told.extend(changes(watch, "gone").await);
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_compacted_unseen_is_told_as_a_difference() {
    if !support::available() {
        return;
    }
    let mut server = Server::start();
    let relay = support::Relay::start(server.port()).await;
    let cached = server.cached(Options { endpoints: vec![relay.url()], ..server.options() }, ROOT).await;
    for key in ["changed", "gone", "kept", "remade"] {
        put(&cached, &format!("{ROOT}{key}"), "1").await.unwrap();
    }
    let before = cached.revision().await.unwrap();
    contents(&cached, At::Latest).await.unwrap();
    let mut watch = cached.watch(ROOT, before).await.unwrap();

    relay.cut();
    let other = server.connect(server.options()).await;
    put(&other, "/registry/changed", "2").await.unwrap();
    put(&other, "/registry/passing", "").await.unwrap();
    let middle = other.revision().await.unwrap();
    for key in ["passing", "gone", "remade"] {
        delete(&other, &format!("{ROOT}{key}")).await;
    }
    put(&other, "/registry/remade", "2").await.unwrap();
    put(&other, "/registry/changed", "3").await.unwrap();
    let compacted = put(&other, "/registry/made", "1").await.unwrap();
    other.compact(compacted).await.unwrap();
    relay.mend();

    put(&other, "/registry/zzz", "").await.unwrap();
    let mut told = all_changes(&mut watch).await;
    told.sort();
    let want =
        ["create made", "create remade", "create zzz", "delete gone", "delete remade", "update changed"];
    assert_eq!(told, want);
    let state = contents(&cached, At::Latest).await.unwrap();
    assert_eq!(state, ["changed=3", "kept=1", "made=1", "remade=2", "zzz="]);
    // The past before the gap is whole; in it, there is nothing to read or to start from.
    let past = contents(&cached, At::Revision(before)).await.unwrap();
    assert_eq!(past, ["changed=1", "gone=1", "kept=1", "remade=1"]);
    assert!(matches!(contents(&cached, At::Revision(middle)).await, Err(Error::Compacted { .. })));
    assert!(matches!(cached.watch(ROOT, middle).await.map(drop), Err(Error::Compacted { .. })));
    let mut resumed = cached.watch(ROOT, before).await.unwrap();
    let mut again = all_changes(&mut resumed).await;
    again.sort();
    assert_eq!(again, want);
    server.kill();
}

/// Others write, below our root and elsewhere: every read sees what was acknowledged before it, and
/// quickly.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_see_the_writes_of_others() {
    if !support::available() {
        return;
    }
    let server = Server::start();
    let cached = server.cached(server.options(), ROOT).await;
    let other = server.connect(server.options()).await;
    let began = Instant::now();
    for round in 0..100_u32 {
        let value = round.to_string();
        put(&other, "/registry/shared", &value).await.unwrap();
        let (_, entry) = cached.get("/registry/shared", At::Latest).await.unwrap();
        assert_eq!(entry.unwrap().value, value.as_bytes());
        let elsewhere = put(&other, "/elsewhere", &value).await.unwrap();
        let page = cached.range(Range { prefix: ROOT, after: None, limit: 0, at: At::Latest }).await.unwrap();
        assert!(page.revision >= elsewhere);
        let (_, entry) = cached.get("/elsewhere", At::Latest).await.unwrap();
        assert_eq!(entry.unwrap().value, value.as_bytes());
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_is_in_memory_once() {
    if !support::available() {
        return;
    }
    let server = Server::start();
    let cached = server.cached(server.options(), ROOT).await;
    let start = cached.revision().await.unwrap();
    put(&cached, "/registry/a", "1").await.unwrap();
    let (_, entry) = cached.get("/registry/a", At::Latest).await.unwrap();
    let entry = entry.unwrap();
    entry.annex.get_or_derive(|| 7_u8);
    let page = cached.range(Range { prefix: ROOT, after: None, limit: 0, at: At::Latest }).await.unwrap();
    assert!(Arc::ptr_eq(&page.entries[0], &entry));
    let mut watch = cached.watch(ROOT, start).await.unwrap();
    let Some(Some(Ok(Event::Put { entry: told, .. }))) = watch.next().now_or_never() else {
        panic!("the window has it")
    };
    assert_eq!(*told.annex.get_or_derive(|| 8_u8), 7);
}

/// A cache that starts later goes on where the watches of an earlier one were.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_cache_knows_the_recent_past() {
    if !support::available() {
        return;
    }
    let server = Server::start();
    let first = server.cached(server.options(), ROOT).await;
    let start = put(&first, "/registry/a", "1").await.unwrap();
    put(&first, "/registry/a", "2").await.unwrap();
    put(&first, "/registry/b", "1").await.unwrap();
    drop(first);
    let second = server.cached(server.options(), ROOT).await;
    let mut watch = second.watch(ROOT, start).await.unwrap();
    assert_eq!(changes(&mut watch, "b").await, ["update a", "create b"]);
    let newest = second.revision().await.unwrap();
    second.compact(newest).await.unwrap();
    let third: Cached = server.cached(server.options(), ROOT).await;
    assert!(matches!(third.watch(ROOT, start).await.map(drop), Err(Error::Compacted { .. })));
    assert_eq!(contents(&third, At::Latest).await.unwrap(), ["a=2", "b=1"]);
}
