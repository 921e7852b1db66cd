//! Reads: ranges, the past, compaction.

use std::sync::Arc;

use apiwright_storage::{At, Error, Range, Storage};
use futures::StreamExt;

use super::{contents, create, delete, list, next_change, update};

/// A prefix, after, a limit; the keys wanted, and how many remain.
type Case<'a> = (&'a str, Option<&'a str>, usize, &'a [&'a str], u64);

/// Ranges hold exactly the keys below the prefix, in order, in parts that fit together.
pub async fn ranges_have_edges(storage: Arc<dyn Storage>) {
    let storage = &*storage;
    for key in [
        "/edge/p",
        "/edge/p/b",
        "/edge/p/a",
        "/edge/p/a/x",
        "/edge/p/ä",
        "/edge/p0",
        "/edge/o/z",
        "/edge/p/c",
    ] {
        create(storage, key, "v").await;
    }
    let cases: [Case<'_>; 10] = [
        ("/edge/p/", None, 0, &["a", "a/x", "b", "c", "ä"], 0),
        ("/edge/p/", None, 2, &["a", "a/x"], 3),
        ("/edge/p/", Some("/edge/p/a/x"), 2, &["b", "c"], 1),
        ("/edge/p/", Some("/edge/p/c"), 2, &["ä"], 0),
        ("/edge/p/", Some("/edge/p/ä"), 2, &[], 0),
        ("/edge/p/", Some("/edge/p/bb"), 1, &["c"], 1),
        ("/edge/p/", Some("/edge/a"), 1, &["a"], 4),
        ("/edge/p/", Some("/edge/z"), 0, &[], 0),
        ("/edge/p/", None, 5, &["a", "a/x", "b", "c", "ä"], 0),
        ("/edge/none/", None, 0, &[], 0),
    ];
    for (prefix, after, limit, want, remaining) in cases {
        let page = storage.range(Range { prefix, after, limit, at: At::Latest }).await.unwrap();
        let got: Vec<_> = page.entries.iter().map(|entry| entry.key.trim_start_matches("/edge/p/")).collect();
        assert_eq!((got.as_slice(), page.remaining), (want, remaining), "{prefix} {after:?} {limit}");
    }
    let whole = list(storage, "/edge/p", At::Latest).await;
    assert_eq!(whole.entries.len(), 7);
}

/// Every revision since the last compaction can be read as it was, in parts too.
pub async fn the_past_can_be_read(storage: Arc<dyn Storage>) {
    let storage = &*storage;
    let start = storage.revision().await.unwrap();
    let mut moments = vec![(start, list(storage, "/past/", At::Latest).await)];
    for round in 0..60_u32 {
        let key = format!("/past/{}", round * 7 % 11);
        let exists = storage.get(&key, At::Latest).await.unwrap().1.is_some();
        let revision = if exists && round % 3 == 0 {
            delete(storage, &key).await
        } else {
            update(storage, &key, &round.to_string()).await
        };
        moments.push((revision, list(storage, "/past/", At::Latest).await));
    }
    // Backwards, then forwards: no read may depend on an earlier one.
    let forwards = moments.iter();
    for (revision, then) in moments.iter().rev().chain(forwards) {
        let at = At::Revision(*revision);
        let page = list(storage, "/past/", at).await;
        assert_eq!(page.revision, *revision);
        assert_eq!(contents(&page, "/past/"), contents(then, "/past/"), "at {revision}");
        for (got, want) in page.entries.iter().zip(&then.entries) {
            assert_eq!((got.mod_revision, got.version), (want.mod_revision, want.version));
        }
        let part = storage.range(Range { prefix: "/past/", after: None, limit: 2, at }).await.unwrap();
        assert_eq!(part.entries.len() as u64 + part.remaining, then.entries.len() as u64);
        let (_, entry) = storage.get("/past/7", at).await.unwrap();
        let want = then.entries.iter().find(|entry| &*entry.key == "/past/7");
        assert_eq!(entry.map(|entry| entry.mod_revision), want.map(|entry| entry.mod_revision));
    }
}

/// What has not happened is refused, with what has.
pub async fn the_future_cannot_be_read(storage: Arc<dyn Storage>) {
    let storage = &*storage;
    create(storage, "/future/a", "v").await;
    let newest = storage.revision().await.unwrap();
    let at = At::Revision(newest + 1000);
    let want = Error::Future { requested: newest + 1000, newest };
    assert_eq!(storage.get("/future/a", at).await.unwrap_err(), want);
    let range = Range { prefix: "/future/", after: None, limit: 0, at };
    assert_eq!(storage.range(range).await.unwrap_err(), want);
    assert_eq!(storage.compact(newest + 1000).await.unwrap_err(), want);
    storage.get("/future/a", At::Revision(newest)).await.unwrap();
}

/// What is at hand is as new as was asked for, and nobody waits for ever for what does not come.
pub async fn what_is_at_hand_can_be_read(storage: Arc<dyn Storage>) {
    let storage = &*storage;
    for round in 0..5 {
        let revision = update(storage, "/hand/a", &round.to_string()).await;
        let at = At::NotOlderThan(revision);
        let (read, entry) = storage.get("/hand/a", at).await.unwrap();
        assert!(read >= revision);
        assert_eq!(entry.unwrap().mod_revision, revision);
        let page = list(storage, "/hand/", at).await;
        assert!(page.revision >= revision);
        assert_eq!(contents(&page, "/hand/"), [format!("a={round}")]);
        assert_eq!(list(storage, "/hand/", At::NotOlderThan(0)).await.entries.len(), 1);
    }
    let newest = storage.revision().await.unwrap();
    let at = At::NotOlderThan(newest + 1000);
    let want = Error::Future { requested: newest + 1000, newest };
    assert_eq!(storage.get("/hand/a", at).await.unwrap_err(), want);
    let range = Range { prefix: "/hand/", after: None, limit: 0, at };
    assert_eq!(storage.range(range).await.unwrap_err(), want);
}

/// After a compaction the revision itself can be read and resumed from, older ones cannot.
pub async fn compaction_forgets(storage: Arc<dyn Storage>) {
    let storage = &*storage;
    let mut revisions = Vec::new();
    for round in 0..10 {
        revisions.push(update(storage, "/compact/a", &round.to_string()).await);
    }
    let mut live = storage.watch("/compact/", revisions[0]).await.unwrap();
    assert_eq!(next_change(&mut live).await.revision(), revisions[1]);
    let middle = revisions[5];
    storage.compact(middle).await.unwrap();

    for revision in [0, revisions[0], revisions[4]] {
        let error = storage.get("/compact/a", At::Revision(revision)).await.unwrap_err();
        assert!(matches!(error, Error::Compacted { requested, .. } if requested == revision), "{error:?}");
        let error =
            storage.range(Range { prefix: "", after: None, limit: 1, at: At::Revision(revision) }).await;
        assert!(
            matches!(error, Err(Error::Compacted { requested, .. }) if requested == revision),
            "{error:?}"
        );
    }
    assert!(matches!(storage.compact(revisions[2]).await, Err(Error::Compacted { .. })));
    assert_eq!(contents(&list(storage, "/compact/", At::Revision(middle)).await, "/compact/"), ["a=5"]);
    assert_eq!(contents(&list(storage, "/compact/", At::Latest).await, "/compact/"), ["a=9"]);

    let mut resumed = storage.watch("/compact/", middle).await.unwrap();
    for revision in &revisions[6..] {
        assert_eq!(next_change(&mut resumed).await.revision(), *revision);
    }
    // Too old a start is told at once or as the first thing of the stream.
    let error = match storage.watch("/compact/", revisions[0]).await {
        Err(error) => error,
        Ok(mut watch) => {
            let error = watch.next().await.expect("the watch says why it ends").unwrap_err();
            assert!(watch.next().await.is_none(), "the watch ends after its error");
            error
        }
    };
    assert!(matches!(error, Error::Compacted { .. }), "{error:?}");
    let next = update(storage, "/compact/a", "next").await;
    assert_eq!(next_change(&mut resumed).await.revision(), next);
}
