//! Watches: what changes mean for a selection, where watches start, bookmarks.
#![allow(missing_docs)]

mod support;

use std::time::Duration;

use apiwright_registry::{DeleteOptions, Store, WatchEvent, WatchOptions, WatchStream};
use futures::StreamExt;
use support::*;

/// `ADDED a`, …
fn shown(store: &Store, event: &WatchEvent) -> String {
    match event {
        WatchEvent::Added(entry) => format!("ADDED {}", store.facts(entry).name),
        WatchEvent::Modified(entry) => format!("MODIFIED {}", store.facts(entry).name),
        WatchEvent::Deleted(entry, revision) => {
            assert!(*revision > entry.mod_revision);
            format!("DELETED {}", store.facts(entry).name)
        }
        WatchEvent::Bookmark(_, initial) => format!("BOOKMARK {initial}"),
    }
}

async fn take(store: &Store, stream: &mut WatchStream, count: usize) -> String {
    let mut events = Vec::new();
    for _ in 0..count {
        let event =
            tokio::time::timeout(Duration::from_mins(2), stream.next()).await.expect("an event in time");
        events.push(shown(store, &event.expect("no end").expect("no error")));
    }
    events.join(", ")
}

fn from(revision: u64) -> WatchOptions {
    WatchOptions { from: Some(revision), ..WatchOptions::default() }
}

fn initial() -> WatchOptions {
    WatchOptions { initial_events: true, bookmarks: true, ..WatchOptions::default() }
}

#[tokio::test]
async fn objects_enter_and_leave_selections() {
    let store = config_maps(&memory());
    let first = create(&store, r#"{"metadata":{"name":"a","labels":{"in":"yes"}}}"#).await.unwrap().entry;
    let mut all = store.watch(everything(), from(first.mod_revision)).await.unwrap();
    let mut labelled = store.watch(select("ns", "in", ""), from(first.mod_revision)).await.unwrap();
    let mut named = store.watch(select("ns", "", "metadata.name=a"), from(first.mod_revision)).await.unwrap();
    put(&store, "a", r#"{"metadata":{"name":"a"}}"#).await.unwrap();
    put(&store, "a", r#"{"metadata":{"name":"a","labels":{"in":"again"}}}"#).await.unwrap();
    put(&store, "a", r#"{"metadata":{"name":"a","labels":{"in":"still"}}}"#).await.unwrap();
    create(&store, r#"{"metadata":{"name":"aa"}}"#).await.unwrap();
    delete(&store, "a", DeleteOptions::default()).await.unwrap();
    let want = "MODIFIED a, MODIFIED a, MODIFIED a, ADDED aa, DELETED a";
    assert_eq!(take(&store, &mut all, 5).await, want);
    assert_eq!(take(&store, &mut labelled, 4).await, "DELETED a, ADDED a, MODIFIED a, DELETED a");
    assert_eq!(take(&store, &mut named, 4).await, "MODIFIED a, MODIFIED a, MODIFIED a, DELETED a");
}

#[tokio::test]
async fn watches_begin_where_they_are_told() {
    let storage = memory();
    let store = config_maps(&storage);
    create(&store, r#"{"metadata":{"name":"a"}}"#).await.unwrap();
    let mut present = store.watch(everything(), initial()).await.unwrap();
    let mut now = store.watch(everything(), WatchOptions::default()).await.unwrap();
    let mut replay = store.watch(everything(), from(1)).await.unwrap();
    create(&store, r#"{"metadata":{"name":"b"}}"#).await.unwrap();
    assert_eq!(take(&store, &mut present, 3).await, "ADDED a, BOOKMARK true, ADDED b");
    assert_eq!(take(&store, &mut now, 1).await, "ADDED b");
    assert_eq!(take(&store, &mut replay, 2).await, "ADDED a, ADDED b");

    let newest = storage.revision().await.unwrap();
    let mut early =
        store.watch(everything(), WatchOptions { from: Some(newest + 9), ..initial() }).await.unwrap();
    let status = early.next().await.unwrap().unwrap_err();
    assert_eq!(status.code, 504);
    storage.compact(newest).await.unwrap();
    let mut late = store.watch(everything(), from(1)).await.unwrap();
    let status = late.next().await.unwrap().unwrap_err();
    assert_eq!((status.code, &*status.message), (410, &*format!("too old resource version: 1 ({newest})")));
    assert!(late.next().await.is_none());
}

#[tokio::test]
async fn a_deleted_object_is_shown_as_it_was() {
    let store = config_maps(&memory());
    let made = create(&store, r#"{"metadata":{"name":"a","finalizers":["x/y"]}}"#).await.unwrap().entry;
    let mut stream = store.watch(everything(), from(made.mod_revision)).await.unwrap();
    delete(&store, "a", DeleteOptions::default()).await.unwrap();
    put(&store, "a", r#"{"metadata":{"name":"a"},"data":{"n":"2"}}"#).await.unwrap();
    assert_eq!(take(&store, &mut stream, 1).await, "MODIFIED a");
    let Some(Ok(WatchEvent::Deleted(entry, revision))) = stream.next().await else { panic!() };
    let mut out = Vec::new();
    store.present_at(&entry, revision).unwrap().write(&mut out, Some(("ConfigMap", "v1")));
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("x/y") && text.contains(&format!("\"resourceVersion\":\"{revision}\"")), "{text}");
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_about_once_a_minute() {
    let store = config_maps(&memory());
    let options = WatchOptions {
        bookmarks: true,
        timeout: Some(Duration::from_secs(90)),
        from: Some(1),
        ..WatchOptions::default()
    };
    let mut stream = store.watch(everything(), options).await.unwrap();
    let start = tokio::time::Instant::now();
    assert_eq!(take(&store, &mut stream, 1).await, "BOOKMARK false");
    assert_eq!(start.elapsed().as_secs(), 60);
    assert_eq!(take(&store, &mut stream, 1).await, "BOOKMARK false");
    assert_eq!(start.elapsed().as_secs(), 88);
}
