//! Deletions: preconditions, finalizers, grace periods, collections, kinds that wait.
#![allow(missing_docs)]

mod support;

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_registry::hooks::{DeletionStep, Hooks};
use apiwright_registry::{DeleteOptions, Deleted, Freshness, Paging, Propagation, Store, WriteOptions};
use support::*;

fn finalizers(store: &Store, deleted: &Deleted) -> String {
    let (Deleted::Gone(entry) | Deleted::Marked(entry)) = deleted;
    let object = store.decode(entry).unwrap();
    object::finalizers(&object).collect::<Vec<_>>().join(",")
}

#[tokio::test]
async fn preconditions() {
    let store = config_maps(&memory());
    let entry = create(&store, r#"{"metadata":{"name":"a"}}"#).await.unwrap().entry;
    let uid = store.facts(&entry).uid.to_string();
    let version = entry.mod_revision.to_string();
    let options = |uid: Option<&str>, version: Option<&str>| DeleteOptions {
        uid: uid.map(str::to_owned),
        resource_version: version.map(str::to_owned),
        ..DeleteOptions::default()
    };
    for (options, want) in [
        (
            options(Some(""), None),
            format!(
                "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition () does not match the UID \
                 in record ({uid}). The object might have been deleted and then recreated"
            ),
        ),
        (
            options(Some(&uid), Some("1")),
            format!(
                "Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in the precondition (1) does not \
                 match the ResourceVersion in record ({version}). The object might have been modified"
            ),
        ),
    ] {
        let status = delete(&store, "a", options).await.unwrap_err();
        assert_eq!((status.code, status.message), (409, want));
    }
    let deleted = delete(&store, "a", options(Some(&uid), Some(&version))).await.unwrap();
    assert!(matches!(deleted, Deleted::Gone(gone) if gone.mod_revision > entry.mod_revision));
    assert_eq!(delete(&store, "a", DeleteOptions::default()).await.unwrap_err().code, 404);
}

#[tokio::test]
async fn finalizers_hold_objects() {
    let store = config_maps(&memory());
    create(&store, r#"{"metadata":{"name":"a","finalizers":["x/a","x/b"]},"data":{"n":"1"}}"#).await.unwrap();
    let Deleted::Marked(marked) = delete(&store, "a", DeleteOptions::default()).await.unwrap() else {
        panic!()
    };
    let object = store.decode(&marked).unwrap();
    assert!(object::deletion_timestamp(&object).is_some());
    assert_eq!(object::deletion_grace_period_seconds(&object), Some(0));
    let Deleted::Marked(again) = delete(&store, "a", DeleteOptions::default()).await.unwrap() else {
        panic!()
    };
    assert_eq!(again.mod_revision, marked.mod_revision);
    let status =
        put(&store, "a", r#"{"metadata":{"name":"a","finalizers":["x/a","x/c"]}}"#).await.unwrap_err();
    assert_eq!(status.code, 422);
    put(&store, "a", r#"{"metadata":{"name":"a","finalizers":["x/b"]},"data":{"n":"2"}}"#).await.unwrap();
    let last = put(&store, "a", r#"{"metadata":{"name":"a"},"data":{"n":"3"}}"#).await.unwrap().entry;
    let text = written(&store, &last);
    assert!(text.contains("deletionTimestamp") && text.ends_with("\"data\":{\"n\":\"3\"}}"), "{text}");
    assert_eq!(store.get("ns", "a", Freshness::Latest).await.unwrap_err().code, 404);
}

#[tokio::test]
async fn propagation_policies() {
    let store = config_maps(&memory());
    let policy = |propagation| DeleteOptions { propagation, ..DeleteOptions::default() };
    for (have, steps) in [
        (r#"["orphan"]"#, &[(None, "orphan", false), (Some(Propagation::Background), "orphan", true)][..]),
        (
            r#"["x/y"]"#,
            &[
                (Some(Propagation::Foreground), "x/y,foregroundDeletion", false),
                (None, "x/y,foregroundDeletion", false),
                (Some(Propagation::Background), "x/y", false),
            ],
        ),
        ("[]", &[(Some(Propagation::Orphan), "orphan", false)]),
    ] {
        create(&store, &format!(r#"{{"metadata":{{"generateName":"p-","finalizers":{have}}}}}"#))
            .await
            .unwrap();
        let page = store.list(&everything(), Freshness::Latest, &Paging::default()).await.unwrap();
        let newest = page.entries.iter().max_by_key(|entry| entry.create_revision).unwrap();
        let name = store.facts(newest).name.to_string();
        for (propagation, want, gone) in steps {
            let deleted = delete(&store, &name, policy(*propagation)).await.unwrap();
            assert_eq!(finalizers(&store, &deleted), *want);
            assert_eq!(matches!(deleted, Deleted::Gone(_)), *gone);
        }
    }
}

#[tokio::test]
async fn grace_periods_of_pods() {
    let store = pods(&memory());
    create(&store, r#"{"metadata":{"name":"a"},"spec":{"containers":[]}}"#).await.unwrap();
    let seconds = |seconds| DeleteOptions { grace_period_seconds: Some(seconds), ..DeleteOptions::default() };
    let Deleted::Gone(gone) = delete(&store, "a", seconds(30)).await.unwrap() else { panic!() };
    let object = store.decode(&gone).unwrap();
    assert_eq!((object::deletion_grace_period_seconds(&object), object::generation(&object)), (Some(0), 2));

    create(&store, r#"{"metadata":{"name":"b"},"spec":{"nodeName":"n","terminationGracePeriodSeconds":20}}"#)
        .await
        .unwrap();
    for (options, want, gone) in [
        (DeleteOptions::default(), 20, false),
        (seconds(60), 20, false),
        (seconds(5), 5, false),
        (seconds(0), 0, true),
    ] {
        let deleted = delete(&store, "b", options).await.unwrap();
        let (Deleted::Gone(entry) | Deleted::Marked(entry)) = &deleted;
        let object = store.decode(entry).unwrap();
        assert_eq!(object::deletion_grace_period_seconds(&object), Some(want));
        assert_eq!(matches!(deleted, Deleted::Gone(_)), gone);
    }
    assert_eq!(store.get("ns", "b", Freshness::Latest).await.unwrap_err().code, 404);
}

#[tokio::test]
async fn collections_answer_as_they_were() {
    let store = config_maps(&memory());
    for json in [
        r#"{"metadata":{"name":"a","labels":{"group":"one"}}}"#,
        r#"{"metadata":{"name":"b","labels":{"group":"one"},"finalizers":["x/y"]}}"#,
        r#"{"metadata":{"name":"c"}}"#,
    ] {
        create(&store, json).await.unwrap();
    }
    let write = WriteOptions::default();
    for (write, left) in [(&dry_run(), "a b c"), (&write, "b c")] {
        let selection = select("ns", "group=one", "");
        let options = DeleteOptions::default();
        let page = store
            .delete_collection(write, &selection, Freshness::Latest, &Paging::default(), &options, &Yes)
            .await
            .unwrap();
        assert_eq!(page.entries.len(), 2);
        assert!(page.entries.iter().all(|entry| !store.facts(entry).deleting));
        let page = store.list(&everything(), Freshness::Latest, &Paging::default()).await.unwrap();
        let names: Vec<_> = page.entries.iter().map(|entry| store.facts(entry).name.as_str()).collect();
        assert_eq!(names.join(" "), left);
    }
}

#[derive(Debug)]
struct Waits;

impl Hooks for Waits {
    fn begin_deletion(&self, object: &mut Value) -> DeletionStep {
        if object::deletion_timestamp(object).is_none() {
            object.as_object_mut().unwrap().object("status").insert("phase", "Terminating");
            return DeletionStep::Mark;
        }
        if self.may_vanish(object) { DeletionStep::Delete } else { DeletionStep::Wait }
    }

    fn may_vanish(&self, object: &Value) -> bool {
        object.at(&["spec", "finalizers"]).is_none()
    }
}

#[tokio::test]
async fn kinds_that_wait_until_they_are_empty() {
    let store = with_hooks(&memory(), &Waits, |_| {});
    create(&store, r#"{"metadata":{"name":"a"},"spec":{"finalizers":["kubernetes"]}}"#).await.unwrap();
    for _ in 0..2 {
        let Deleted::Marked(entry) = delete(&store, "a", DeleteOptions::default()).await.unwrap() else {
            panic!()
        };
        assert!(written(&store, &entry).ends_with("\"status\":{\"phase\":\"Terminating\"}}"));
    }
    put(&store, "a", r#"{"metadata":{"name":"a"},"spec":{}}"#).await.unwrap();
    assert_eq!(store.get("ns", "a", Freshness::Latest).await.unwrap_err().code, 404);

    create(&store, r#"{"metadata":{"name":"b"},"spec":{}}"#).await.unwrap();
    assert!(matches!(delete(&store, "b", DeleteOptions::default()).await.unwrap(), Deleted::Marked(_)));
    assert!(matches!(delete(&store, "b", DeleteOptions::default()).await.unwrap(), Deleted::Gone(_)));
}
