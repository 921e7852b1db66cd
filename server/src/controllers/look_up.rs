//! Reading what controllers decide on.

use apiwright_controllers::Result;
use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Reason;
use apiwright_registry::Store;
use apiwright_registry::store::Freshness;
use apiwright_registry::typed::{self, TypedResource};
use serde::de::DeserializeOwned;

/// One object, where it is there.
pub(super) async fn object(store: &Store, namespace: &str, name: &str) -> Result<Option<Value>> {
    match store.get(namespace, name, Freshness::Latest).await {
        Ok(entry) => store.decode(&entry).map(Some),
        Err(status) if status.reason == Some(Reason::NotFound) => Ok(None),
        Err(status) => Err(status),
    }
}

/// One object as a struct of its kind, where it is there.
pub(super) async fn typed<T>(store: &Store, namespace: &str, name: &str) -> Result<Option<T>>
where
    T: TypedResource + DeserializeOwned,
{
    object(store, namespace, name).await?.as_ref().map(typed::read).transpose()
}

/// How a namespace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Absent,
    Active,
    Terminating,
}

/// How a namespace is.
pub(super) async fn phase(namespaces: &Store, name: &str) -> Result<Phase> {
    Ok(match object(namespaces, "", name).await? {
        None => Phase::Absent,
        Some(one) if object::deletion_timestamp(&one).is_some() => Phase::Terminating,
        Some(one) if one.text_at(&["status", "phase"]) == "Terminating" => Phase::Terminating,
        Some(_) => Phase::Active,
    })
}

/// Whether a write came to what it was to: somebody else may have been there, or the object gone.
pub(super) fn unless<T>(outcome: Result<T>, harmless: Reason) -> Result<()> {
    match outcome {
        Err(status) if status.reason != Some(harmless) => Err(status),
        _ => Ok(()),
    }
}
