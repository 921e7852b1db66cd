//! Writes over a cache that lags: what is at hand is outdated, and no answer shows it.
#![allow(missing_docs)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apiwright_meta::object;
use apiwright_meta::status::Reason;
use apiwright_registry::{DeleteOptions, Deleted, Freshness, Store, WriteOptions};
use apiwright_storage::{
    At, Change, Entry, Expect, Key, Outcome, Page, Range, Result, Revision, Storage, Watch,
};
use futures::future::BoxFuture;
use support::*;

/// An engine whose memory stopped at some revision; 0 for none.
struct Lagging {
    engine: Arc<dyn Storage>,
    stopped: AtomicU64,
}

impl Lagging {
    fn at(&self, at: At) -> At {
        match (at, self.stopped.load(Ordering::Relaxed)) {
            (At::NotOlderThan(_), stopped) if stopped > 0 => At::Revision(stopped),
            (at, _) => at,
        }
    }

    async fn stop(&self) {
        self.stopped.store(self.engine.revision().await.unwrap(), Ordering::Relaxed);
    }
}

impl Storage for Lagging {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.engine.revision()
    }

    fn get<'a>(&'a self, key: &'a str, at: At) -> BoxFuture<'a, Result<(Revision, Option<Arc<Entry>>)>> {
        self.engine.get(key, self.at(at))
    }

    fn range<'a>(&'a self, range: Range<'a>) -> BoxFuture<'a, Result<Page>> {
        self.engine.range(Range { at: self.at(range.at), ..range })
    }

    fn commit(&self, key: Key, expect: Expect, change: Change) -> BoxFuture<'_, Result<Outcome>> {
        self.engine.commit(key, expect, change)
    }

    fn watch<'a>(&'a self, prefix: &'a str, after: Revision) -> BoxFuture<'a, Result<Watch>> {
        self.engine.watch(prefix, after)
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'_, Result<()>> {
        self.engine.compact(revision)
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        self.engine.health()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.engine.close()
    }
}

/// A store whose reads at hand lag, and one of the same objects that does not: another server's.
fn two() -> (Arc<Lagging>, Store, Store) {
    let engine = memory();
    let lagging = Arc::new(Lagging { engine: Arc::clone(&engine), stopped: AtomicU64::new(0) });
    let here = config_maps(&(Arc::clone(&lagging) as Arc<dyn Storage>));
    (lagging, here, config_maps(&engine))
}

fn map(count: u32, version: u64) -> String {
    let version = if version == 0 { String::new() } else { version.to_string() };
    format!(r#"{{"metadata":{{"name":"a","resourceVersion":"{version}"}},"data":{{"n":"{count}"}}}}"#)
}

#[tokio::test]
async fn updates() {
    let (lagging, here, there) = two();
    create(&here, &map(0, 0)).await.unwrap();
    lagging.stop().await;
    let newest = put(&there, "a", &map(1, 0)).await.unwrap().entry.mod_revision;

    // A client brings the version that the other server gave it.
    let entry = put(&here, "a", &map(2, newest)).await.unwrap().entry;
    assert!(entry.mod_revision > newest);
    let status = put(&here, "a", &map(3, newest)).await.unwrap_err();
    assert_eq!((status.code, status.reason), (409, Some(Reason::Conflict)));
    // What was there at hand is a change now, and what is there now is none.
    let entry = put(&here, "a", &map(0, 0)).await.unwrap().entry;
    let again = put(&here, "a", &map(0, 0)).await.unwrap().entry;
    assert_eq!(again.mod_revision, entry.mod_revision);
    // Nobody's increment is lost.
    put(&there, "a", &map(10, 0)).await.unwrap();
    let mut increment = Edit(|object: &mut apiwright_json::Value| {
        let count: u32 = object.text_at(&["data", "n"]).parse().unwrap();
        *object.at_mut(&["data", "n"]).unwrap() = (count + 1).to_string().into();
    });
    let write = WriteOptions::default();
    here.update(&write, "ns", "a", &mut increment, &Yes).await.unwrap();
    let dry = here.update(&dry_run(), "ns", "a", &mut increment, &Yes).await.unwrap();
    assert_eq!(here.decode(&dry.entry).unwrap().text_at(&["data", "n"]), "12");
    let mut adjust = |object: &mut apiwright_json::Value| {
        assert_eq!(object.text_at(&["data", "n"]), "11", "an outdated object was changed");
        Ok(())
    };
    // Nothing to change: it is the newest that nothing is changed of.
    let adjusted = here.adjust("ns", "a", false, &mut |_| Ok(())).await.unwrap();
    let newest = there.get("ns", "a", Freshness::Latest).await.unwrap();
    assert_eq!(adjusted.mod_revision, newest.mod_revision);
    lagging.stop().await;
    here.adjust("ns", "a", false, &mut adjust).await.unwrap();
}

#[tokio::test]
async fn objects_made_and_deleted_elsewhere() {
    let (lagging, here, there) = two();
    create(&there, r#"{"metadata":{"name":"b"}}"#).await.unwrap();
    lagging.stop().await;
    create(&there, &map(1, 0)).await.unwrap();
    put(&here, "a", &map(2, 0)).await.unwrap();
    assert!(matches!(delete(&here, "a", DeleteOptions::default()).await, Ok(Deleted::Gone(_))));
    assert_eq!(delete(&here, "a", DeleteOptions::default()).await.unwrap_err().code, 404);

    delete(&there, "b", DeleteOptions::default()).await.unwrap();
    assert_eq!(put(&here, "b", r#"{"metadata":{"name":"b"}}"#).await.unwrap_err().code, 404);
    assert_eq!(delete(&here, "b", DeleteOptions::default()).await.unwrap_err().code, 404);
    let dry = here.delete(&dry_run(), "ns", "b", &DeleteOptions::default(), &Yes).await;
    assert_eq!(dry.unwrap_err().code, 404);
}

#[tokio::test]
async fn preconditions_are_of_what_is_there() {
    let (lagging, here, there) = two();
    let old = create(&here, &map(0, 0)).await.unwrap().entry;
    lagging.stop().await;
    delete(&there, "a", DeleteOptions::default()).await.unwrap();
    let new = create(&there, &map(1, 0)).await.unwrap().entry;
    let only = |store: &Store, entry| DeleteOptions {
        uid: Some(object::uid(&store.decode(entry).unwrap()).to_owned()),
        ..DeleteOptions::default()
    };
    assert_eq!(delete(&here, "a", only(&there, &old)).await.unwrap_err().code, 409);
    assert!(matches!(delete(&here, "a", only(&there, &new)).await, Ok(Deleted::Gone(_))));
}
