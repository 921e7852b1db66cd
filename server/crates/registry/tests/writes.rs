//! Creations and updates: the server's metadata, conflicts, generations, status apart from spec.
#![allow(missing_docs)]

mod support;

use apiwright_meta::object;
use apiwright_registry::{DeleteOptions, Freshness, WriteOptions};
use support::*;

#[tokio::test]
async fn created_objects_get_the_servers_metadata() {
    let store = config_maps(&memory());
    let made = create(
        &store,
        r#"{"metadata":{"name":"a","uid":"mine","deletionTimestamp":"2000-01-01T00:00:00Z","generation":4},"data":{"k":"v"}}"#,
    )
    .await
    .unwrap();
    let object = store.decode(&made.entry).unwrap();
    assert!(made.created);
    assert_eq!(object::namespace(&object), "ns");
    assert_eq!(object::uid(&object).len(), 36);
    assert_eq!((object::generation(&object), object::deletion_timestamp(&object)), (4, None));
    assert_eq!(object::resource_version(&object), made.entry.mod_revision.to_string());
    assert!(!made.entry.value.windows(15).any(|part| part == b"resourceVersion"));
    assert!(
        written(&store, &made.entry)
            .contains(&format!("\"resourceVersion\":\"{}\"", made.entry.mod_revision))
    );
}

#[tokio::test]
async fn refused_creations() {
    let store = config_maps(&memory());
    create(&store, r#"{"metadata":{"name":"a"}}"#).await.unwrap();
    create(&store, r#"{"metadata":{"name":"held","finalizers":["a/b"]}}"#).await.unwrap();
    delete(&store, "held", DeleteOptions::default()).await.unwrap();
    for (json, code, want) in [
        (r#"{"metadata":{"name":"a"}}"#, 409, "configmaps \"a\" already exists"),
        (
            r#"{"metadata":{"name":"held"}}"#,
            409,
            "object is being deleted: configmaps \"held\" already exists",
        ),
        (
            r#"{"metadata":{"name":"a","generateName":"x-"}}"#,
            409,
            "configmaps \"a\" already exists, the server was not able to generate a unique name for the object",
        ),
        (
            r#"{"metadata":{"name":"b","resourceVersion":"1"}}"#,
            500,
            "resourceVersion should not be set on objects to be created",
        ),
        (
            r#"{"metadata":{"name":"b","namespace":"other"}}"#,
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            r#"{"metadata":{"name":"b","finalizers":["hold"]}}"#,
            422,
            "ConfigMap \"b\" is invalid: metadata.finalizers[0]: Invalid value: \"hold\": name is neither a standard \
             finalizer name nor is it fully qualified",
        ),
        (
            r#"{"metadata":{}}"#,
            422,
            "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
        ),
    ] {
        let status = create(&store, json).await.unwrap_err();
        assert_eq!((status.code, &*status.message), (code, want), "{json}");
    }
    let status =
        store.create(&dry_run(), "ns", parsed(r#"{"metadata":{"name":"a"}}"#), &Yes).await.unwrap_err();
    assert_eq!(status.code, 409);
}

#[tokio::test]
async fn what_is_too_large_is_refused_unless_it_can_do_without_its_owners() {
    let store = config_maps(&memory());
    let body = |data: usize, owners: usize| {
        let owner = |at| {
            format!(
                r#"{{"manager":"{at:0>99}","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{}}}}"#
            )
        };
        let owners: Vec<String> = (0..owners).map(owner).collect();
        let data = "x".repeat(data);
        format!(
            r#"{{"metadata":{{"name":"a","managedFields":[{}]}},"data":{{"a":"{data}"}}}}"#,
            owners.join(",")
        )
    };
    let status = create(&store, &body(3 << 19, 1)).await.unwrap_err();
    assert_eq!((status.code, &*status.message), (500, "etcdserver: request is too large"));
    let made = create(&store, &body(1_000, 10_000)).await.unwrap();
    let object = store.decode(&made.entry).unwrap();
    assert!(object.at(&["metadata", "managedFields"]).is_none());
}

#[tokio::test]
async fn generated_names() {
    let store = config_maps(&memory());
    let made = create(&store, r#"{"metadata":{"generateName":"gen-"}}"#).await.unwrap();
    assert_eq!(store.facts(&made.entry).name.len(), 9);
}

#[tokio::test]
async fn versions_guard_updates() {
    let store = config_maps(&memory());
    let first = create(&store, r#"{"metadata":{"name":"a"},"data":{"n":"1"}}"#).await.unwrap().entry;
    let body = |version: &str, n: u8| {
        format!(r#"{{"metadata":{{"name":"a","resourceVersion":"{version}"}},"data":{{"n":"{n}"}}}}"#)
    };
    let second = put(&store, "a", &body(&first.mod_revision.to_string(), 2)).await.unwrap();
    assert!(!second.created && second.entry.mod_revision > first.mod_revision);
    let modified = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; \
                    please apply your changes to the latest version and try again";
    for (version, code, want) in [
        (first.mod_revision.to_string(), 409, modified),
        ("999999999999".to_owned(), 409, modified),
        ("abc".to_owned(), 500, "strconv.ParseUint: parsing \"abc\": invalid syntax"),
    ] {
        let status = put(&store, "a", &body(&version, 3)).await.unwrap_err();
        assert_eq!((status.code, &*status.message), (code, want));
    }
    for version in ["", "0"] {
        put(&store, "a", &body(version, 4)).await.unwrap();
    }
    let uid = store.facts(&first).uid.clone();
    let status = put(&store, "a", r#"{"metadata":{"name":"a","uid":"other"}}"#).await.unwrap_err();
    assert_eq!(status.code, 409);
    assert_eq!(
        status.message,
        format!(
            "Operation cannot be fulfilled on configmaps \"a\": StorageError: invalid object, Code: 4, \
             Key: /registry/configmaps/ns/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
             UID in precondition: other, UID in object meta: {uid}"
        )
    );
    let status = put(&store, "gone", r#"{"metadata":{"name":"gone","uid":"other"}}"#).await.unwrap_err();
    assert_eq!((status.code, &*status.message), (404, "configmaps \"gone\" not found"));
}

#[tokio::test]
async fn blind_updates_where_a_version_is_wanted() {
    let store = store(&memory(), "leases", "Lease", |resource| {
        resource.strategy.unconditional_update = false;
        resource.strategy.create_on_update = true;
    });
    let made = put(&store, "l", r#"{"metadata":{"name":"l","resourceVersion":"5"},"spec":{"holder":"a"}}"#)
        .await
        .unwrap();
    assert!(made.created);
    let status = put(&store, "l", r#"{"metadata":{"name":"l"},"spec":{"holder":"b"}}"#).await.unwrap_err();
    assert_eq!(status.code, 422);
    let want = "leases \"l\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update";
    assert_eq!(status.message, want);
}

#[tokio::test]
async fn an_update_that_changes_nothing_writes_nothing() {
    let store = config_maps(&memory());
    let first = create(&store, r#"{"metadata":{"name":"a","labels":{"x":"y"}},"data":{"n":"1"}}"#)
        .await
        .unwrap()
        .entry;
    for json in [
        r#"{"metadata":{"name":"a","labels":{"x":"y"}},"data":{"n":"1"}}"#,
        r#"{"data":{"n":"1"},"metadata":{"labels":{"x":"y"},"name":"a"},"apiVersion":"v1","kind":"ConfigMap"}"#,
    ] {
        let same = put(&store, "a", json).await.unwrap().entry;
        assert_eq!(same.mod_revision, first.mod_revision);
    }
    let dry = store
        .update(&dry_run(), "ns", "a", &mut Put(parsed(r#"{"metadata":{"name":"a"}}"#)), &Yes)
        .await
        .unwrap();
    assert_eq!(dry.entry.mod_revision, first.mod_revision);
    assert!(!written(&store, &dry.entry).contains("labels"));
    let stored = store.get("ns", "a", Freshness::Latest).await.unwrap();
    assert!(written(&store, &stored).contains("labels"));
}

#[tokio::test]
async fn status_and_the_rest_are_written_apart() {
    let store = deployments(&memory());
    let body = |replicas: u8, status: u8| {
        format!(
            r#"{{"metadata":{{"name":"d"}},"spec":{{"replicas":{replicas}}},"status":{{"replicas":{status}}}}}"#
        )
    };
    let facts = |entry| {
        let object = store.decode(entry).unwrap();
        let spec = object.at(&["spec", "replicas"]).and_then(apiwright_json::Value::as_i64);
        let status = object.at(&["status", "replicas"]).and_then(apiwright_json::Value::as_i64);
        (spec, status, object::generation(&object))
    };
    let made = create(&store, &body(1, 9)).await.unwrap().entry;
    assert_eq!(facts(&made), (Some(1), None, 1));
    let main = put(&store, "d", &body(2, 9)).await.unwrap().entry;
    assert_eq!(facts(&main), (Some(2), None, 2));
    let status = put_status(&store, "d", &body(8, 3)).await.unwrap().entry;
    assert_eq!(facts(&status), (Some(2), Some(3), 2));
    let labelled = put(
        &store,
        "d",
        r#"{"metadata":{"name":"d","generation":50,"labels":{"a":"b"}},"spec":{"replicas":2}}"#,
    );
    assert_eq!(facts(&labelled.await.unwrap().entry), (Some(2), Some(3), 2));
}

#[tokio::test]
async fn writers_that_race_all_win_once() {
    let store = config_maps(&memory());
    create(&store, r#"{"metadata":{"name":"a"},"data":{"n":0}}"#).await.unwrap();
    let add = || async {
        let mut edit = Edit(|object: &mut apiwright_json::Value| {
            let n = object.at(&["data", "n"]).and_then(apiwright_json::Value::as_i64).unwrap();
            *object.at_mut(&["data", "n"]).unwrap() = (n + 1).into();
        });
        store.update(&WriteOptions::default(), "ns", "a", &mut edit, &Yes).await.unwrap();
    };
    futures::future::join_all((0..20).map(|_| add())).await;
    let entry = store.get("ns", "a", Freshness::Latest).await.unwrap();
    assert!(written(&store, &entry).ends_with("\"data\":{\"n\":20}}"));
}
