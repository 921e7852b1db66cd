//! Expiry and the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use apiwright_storage::{At, Change, Error, Event, Expect, Key, Range, Storage};
use bytes::Bytes;
use futures::StreamExt;

use super::{SOON, create, done, next_change, update};

/// An entry with a time to live is deleted after it, as by a delete; a later put without one
/// keeps it.
pub async fn entries_expire(storage: Arc<dyn Storage>) {
    let start = storage.revision().await.unwrap();
    let mut watch = storage.watch("/expire/", start).await.unwrap();
    let put = async |key: &str, expect, ttl_seconds| {
        let change = Change::Put { value: Bytes::from_static(b"v"), ttl_seconds };
        done(storage.commit(Key::from(key), expect, change).await.unwrap()).0
    };
    let began = Instant::now();
    put("/expire/short", Expect::Absent, Some(2)).await;
    put("/expire/long", Expect::Absent, Some(3600)).await;
    let revision = put("/expire/kept", Expect::Absent, Some(2)).await;
    put("/expire/kept", Expect::Revision(revision), None).await;
    for _ in 0..4 {
        assert!(matches!(next_change(&mut watch).await, Event::Put { .. }));
    }
    let event = next_change(&mut watch).await;
    let Event::Delete { previous, revision } = event else { panic!("{event:?}") };
    assert_eq!(&*previous.key, "/expire/short");
    assert!(revision > previous.mod_revision);
    let lived = began.elapsed();
    assert!(lived >= Duration::from_millis(1500), "gone after {lived:?}");
    let (now, entry) = storage.get("/expire/short", At::Latest).await.unwrap();
    assert!(now >= revision && entry.is_none());
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let range = Range { prefix: "/expire/", after: None, limit: 0, at: At::Latest };
    let keys: Vec<_> =
        storage.range(range).await.unwrap().entries.iter().map(|entry| entry.key.clone()).collect();
    assert_eq!(keys.iter().map(|key| &**key).collect::<Vec<_>>(), ["/expire/kept", "/expire/long"]);
    let again = create(&*storage, "/expire/short", "again").await;
    assert_eq!(next_change(&mut watch).await.revision(), again);
}

/// After the end, everything is refused, and watches are told.
pub async fn close_ends_everything(storage: Arc<dyn Storage>) {
    let revision = update(&*storage, "/close/a", "v").await;
    storage.health().await.unwrap();
    let mut watch = storage.watch("/close/", revision).await.unwrap();
    storage.close().await.unwrap();
    let unavailable = |result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::Unavailable(_))), "{result:?}");
    };
    unavailable(storage.revision().await.map(drop));
    unavailable(storage.get("/close/a", At::Latest).await.map(drop));
    let range = Range { prefix: "/close/", after: None, limit: 0, at: At::Latest };
    unavailable(storage.range(range).await.map(drop));
    unavailable(storage.commit(Key::from("/close/a"), Expect::Absent, Change::Delete).await.map(drop));
    unavailable(storage.watch("/close/", revision).await.map(drop));
    unavailable(storage.compact(revision).await);
    unavailable(storage.health().await);
    unavailable(storage.close().await);
    loop {
        match tokio::time::timeout(SOON, watch.next()).await.expect("the watch ends soon") {
            Some(Ok(Event::Progress(_))) => {}
            Some(result) => unavailable(result.map(drop)),
            None => break,
        }
    }
}
