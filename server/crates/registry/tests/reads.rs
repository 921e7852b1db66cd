//! Gets and lists: freshness, pages, tokens, selectors.
#![allow(missing_docs)]

mod support;

use std::sync::Arc;

use apiwright_registry::{DeleteOptions, Freshness, ListPage, Paging, Store};
use apiwright_storage::Storage;
use support::*;

async fn five(storage: &Arc<dyn Storage>) -> Store {
    let store = config_maps(storage);
    for (name, labels) in [("s1", "odd"), ("s2", "even"), ("s3", "odd"), ("s4", "even"), ("s5", "odd")] {
        create(&store, &format!(r#"{{"metadata":{{"name":"{name}","labels":{{"is":"{labels}"}}}}}}"#))
            .await
            .unwrap();
    }
    store
}

fn names(store: &Store, page: &ListPage) -> String {
    page.entries.iter().map(|entry| store.facts(entry).name.to_string()).collect::<Vec<_>>().join(" ")
}

fn limit(limit: usize, token: &str) -> Paging {
    Paging { limit, token: token.into() }
}

#[tokio::test]
async fn pages_show_one_moment() {
    let storage = memory();
    let store = five(&storage).await;
    let first = store.list(&everything(), Freshness::Latest, &limit(2, "")).await.unwrap();
    assert_eq!((names(&store, &first).as_str(), first.remaining), ("s1 s2", Some(3)));
    delete(&store, "s4", DeleteOptions::default()).await.unwrap();
    create(&store, r#"{"metadata":{"name":"s30"}}"#).await.unwrap();
    let second = store.list(&everything(), Freshness::Latest, &limit(2, &first.token)).await.unwrap();
    assert_eq!((names(&store, &second).as_str(), second.remaining), ("s3 s4", Some(1)));
    assert_eq!(second.revision, first.revision);
    let third = store.list(&everything(), Freshness::Latest, &limit(2, &second.token)).await.unwrap();
    assert_eq!((names(&store, &third).as_str(), third.remaining, third.token.as_str()), ("s5", None, ""));
    let rest = store.list(&everything(), Freshness::Latest, &limit(0, &first.token)).await.unwrap();
    assert_eq!(names(&store, &rest), "s3 s4 s5");
    let exact = store.list(&everything(), Freshness::Latest, &limit(5, "")).await.unwrap();
    assert_eq!((exact.entries.len(), exact.token.as_str()), (5, ""));
}

#[tokio::test]
async fn selectors_and_limits() {
    let storage = memory();
    let store = five(&storage).await;
    for (labels, fields, paging, want, goes_on) in [
        ("is=odd", "", 2, "s1 s3", true),
        ("is=odd", "", 0, "s1 s3 s5", false),
        ("is=odd", "", 1, "s1", true),
        ("", "metadata.name!=s1", 1, "s2", true),
        ("", "metadata.name=s2", 1, "s2", false),
        ("is=odd", "metadata.name=s2", 1, "", false),
        ("is=none", "", 1, "", false),
        ("", "metadata.namespace=other", 0, "", false),
    ] {
        let page =
            store.list(&select("ns", labels, fields), Freshness::Latest, &limit(paging, "")).await.unwrap();
        assert_eq!(
            (names(&store, &page).as_str(), !page.token.is_empty(), page.remaining),
            (want, goes_on, None)
        );
    }
    let across = select("", "", "metadata.namespace=ns,metadata.name=s3");
    let page = store.list(&across, Freshness::Latest, &Paging::default()).await.unwrap();
    assert_eq!(names(&store, &page), "s3");
}

#[tokio::test]
async fn revisions() {
    let storage = memory();
    let store = five(&storage).await;
    let now = storage.revision().await.unwrap();
    let future = now + 1_000;
    let too_large = format!("Timeout: Too large resource version: {future}, current: {now}");
    for freshness in [Freshness::NotOlderThan(future), Freshness::Exact(future)] {
        let status = store.list(&everything(), freshness, &Paging::default()).await.unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (504, too_large.as_str()));
    }
    let status = store.get("ns", "s1", Freshness::NotOlderThan(future)).await.unwrap_err();
    assert_eq!((status.code, status.message.as_str()), (504, too_large.as_str()));

    let before = store.get("ns", "s2", Freshness::Latest).await.unwrap().mod_revision;
    let page = store.list(&everything(), Freshness::Exact(before), &Paging::default()).await.unwrap();
    assert_eq!((names(&store, &page).as_str(), page.revision), ("s1 s2", before));

    let page = store.list(&everything(), Freshness::Latest, &limit(2, "")).await.unwrap();
    create(&store, r#"{"metadata":{"name":"s0"}}"#).await.unwrap();
    storage.compact(storage.revision().await.unwrap()).await.unwrap();
    let status = store.list(&everything(), Freshness::Exact(before), &Paging::default()).await.unwrap_err();
    assert_eq!(
        (status.code, &*status.message),
        (410, "The resourceVersion for the provided list is too old.")
    );
    let status = store.list(&everything(), Freshness::Latest, &limit(2, &page.token)).await.unwrap_err();
    assert_eq!(status.code, 410);
    assert!(status.message.starts_with("The provided continue parameter is too old"), "{}", status.message);
    let page = store.list(&everything(), Freshness::Latest, &limit(2, &status.continue_token)).await.unwrap();
    assert_eq!(names(&store, &page), "s3 s4");
}

#[tokio::test]
async fn what_is_not_there() {
    let store = config_maps(&memory());
    let status = store.get("ns", "none", Freshness::Latest).await.unwrap_err();
    assert_eq!((status.code, &*status.message), (404, "configmaps \"none\" not found"));
    for (namespace, name, want) in [
        ("", "a", "Namespace parameter required."),
        ("ns", "", "Name parameter required."),
        ("ns", "a%b", "Name parameter invalid: \"a%b\": may not contain '%'"),
    ] {
        let status = store.get(namespace, name, Freshness::Latest).await.unwrap_err();
        assert_eq!((status.code, &*status.message), (400, want));
    }
}
