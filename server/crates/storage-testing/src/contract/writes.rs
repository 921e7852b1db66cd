//! Writes: revisions and comparison.

use std::sync::Arc;

use apiwright_storage::{At, Change, Expect, Key, Storage};

use super::{create, delete, done, mismatch, put, text, update};

/// Every write has a greater revision than all before, and entries tell their history.
pub async fn revisions_only_grow(storage: Arc<dyn Storage>) {
    let storage = &*storage;
    let mut last = storage.revision().await.unwrap();
    assert!(last >= 1, "0 is no revision");
    for round in 0..20 {
        let key = format!("/grow/{}", round % 3);
        let revision = update(storage, &key, &round.to_string()).await;
        assert!(revision > last, "{revision} after {last}");
        assert_eq!(storage.revision().await.unwrap(), revision);
        last = revision;
    }
    let created = create(storage, "/grow/x", "a").await;
    let updated = update(storage, "/grow/x", "b").await;
    let (_, entry) = storage.get("/grow/x", At::Latest).await.unwrap();
    let entry = entry.unwrap();
    assert_eq!((entry.create_revision, entry.mod_revision, entry.version), (created, updated, 2));
    assert_eq!((&*entry.key, text(&entry).as_str()), ("/grow/x", "b"));
    let deleted = delete(storage, "/grow/x").await;
    assert!(deleted > updated);
    let (revision, entry) = storage.get("/grow/x", At::Latest).await.unwrap();
    assert!(entry.is_none() && revision >= deleted);
    let again = create(storage, "/grow/x", "c").await;
    let (_, entry) = storage.get("/grow/x", At::Latest).await.unwrap();
    let entry = entry.unwrap();
    assert_eq!((entry.create_revision, entry.mod_revision, entry.version), (again, again, 1));
}

/// A write happens exactly where its expectation is met, and otherwise shows what is there.
pub async fn writes_compare_first(storage: Arc<dyn Storage>) {
    let storage = &*storage;
    let key = Key::from("/compare/a");
    let remove = |expect| storage.commit(key.clone(), expect, Change::Delete);

    assert!(mismatch(put(storage, &key, Expect::Revision(1), "x").await).is_none());
    assert!(mismatch(remove(Expect::Revision(1)).await.unwrap()).is_none());
    assert!(mismatch(remove(Expect::Absent).await.unwrap()).is_none());

    let (first, entry) = done(put(storage, &key, Expect::Absent, "one").await);
    assert_eq!((entry.mod_revision, text(&entry).as_str()), (first, "one"));

    let before = storage.revision().await.unwrap();
    for expect in
        [Expect::Absent, Expect::Revision(first - 1), Expect::Revision(first + 1), Expect::Revision(0)]
    {
        let current = mismatch(put(storage, &key, expect, "other").await).unwrap();
        assert_eq!((current.mod_revision, text(&current).as_str()), (first, "one"));
        let current = mismatch(remove(expect).await.unwrap()).unwrap();
        assert_eq!(current.mod_revision, first);
    }
    assert_eq!(storage.revision().await.unwrap(), before, "a refused write takes no revision");

    let (second, _) = done(put(storage, &key, Expect::Revision(first), "two").await);
    assert!(mismatch(put(storage, &key, Expect::Revision(first), "three").await).is_some());
    let (third, gone) = done(remove(Expect::Revision(second)).await.unwrap());
    assert_eq!((gone.mod_revision, text(&gone).as_str()), (second, "two"));
    assert!(third > second);
    assert!(mismatch(remove(Expect::Revision(second)).await.unwrap()).is_none());

    // Values are bytes of any size, the empty one too.
    let big = "x".repeat(1_200_000);
    done(put(storage, "/compare/big", Expect::Absent, &big).await);
    done(put(storage, "/compare/empty", Expect::Absent, "").await);
    let (_, entry) = storage.get("/compare/big", At::Latest).await.unwrap();
    assert_eq!(text(&entry.unwrap()), big);
    let (_, entry) = storage.get("/compare/empty", At::Latest).await.unwrap();
    assert!(entry.unwrap().value.is_empty());
}
