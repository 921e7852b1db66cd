//! Garbage: objects whose owners are gone, and owners that wait for what they own.
//!
//! Who owns what is read from changes as they come; whether an owner is there is read from the store,
//! so that what is deleted is garbage at that moment, whatever the graph says.
//! Invariant: nothing is deleted that has an owner, nothing that changed since it was looked at.

mod graph;
mod owners;

use std::sync::Arc;
use std::time::Duration;

use apiwright_controllers::{Change, Identity, Next, Resources, Result, Writer};
use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::object;
use apiwright_meta::status::Reason;
use apiwright_registry::Store;
use apiwright_registry::resource::Scope;
use apiwright_registry::store::{DeleteOptions, Freshness, Propagation};
use futures::StreamExt;

use super::events::Events;
use crate::generated::controllers::garbage_collector_controller::{
    Controller, Dependents, Facts, Finalizer, Object, Owners,
};
pub(super) use graph::Graph;
use owners::{Kinship, classify};

/// The finalizers of objects whose deletion says what becomes of their dependents.
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
/// How many dependents are orphaned at once.
const AT_ONCE: usize = 16;
pub(super) const IDENTITY: Identity =
    Identity::manager("system:serviceaccount:kube-system:generic-garbage-collector");

/// Collects garbage.
pub(super) struct GarbageCollector {
    resources: Arc<dyn Resources>,
    graph: Arc<Graph>,
    writer: Writer,
    events: Events,
}

/// An object as it was found.
pub(super) struct Observed {
    /// `None` where there is none.
    found: Option<Found>,
    kinship: Kinship,
}

/// An object and where it is.
struct Found {
    store: Arc<Store>,
    namespace: String,
    name: String,
    value: Value,
}

impl GarbageCollector {
    pub(super) fn new(resources: Arc<dyn Resources>, writer: Writer, events: Arc<Store>) -> Self {
        let component = "garbage-collector-controller";
        let events = Events { store: events, writer: writer.clone(), component };
        Self { resources, graph: Arc::default(), writer, events }
    }

    /// For whoever has the queue: the collector looks at dependents of its own accord.
    pub(super) fn graph(&self) -> Arc<Graph> {
        Arc::clone(&self.graph)
    }

    /// The resource of a key, the namespace and the name.
    fn place(&self, key: &str) -> Option<(Arc<Store>, String, String)> {
        let first = key.find('/')?;
        let second = key[first + 1..].find('/').map(|at| first + 1 + at);
        let (store, rest) = second
            .into_iter()
            .chain([first])
            .find_map(|end| Some((self.resources.at(&key[..end])?, &key[end + 1..])))?;
        let (namespace, name) = match store.resource.scope {
            Scope::Cluster => ("", rest),
            Scope::Namespaced => rest.split_once('/')?,
        };
        Some((store.clone(), namespace.to_owned(), name.to_owned()))
    }

    async fn find(&self, key: &str) -> Result<Option<Found>> {
        let Some((store, namespace, name)) = self.place(key) else { return Ok(None) };
        match store.get(&namespace, &name, Freshness::Latest).await {
            Ok(entry) => {
                let value = store.decode(&entry)?;
                Ok(Some(Found { store, namespace, name, value }))
            }
            Err(status) if status.reason == Some(Reason::NotFound) => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Deletes an object, unless it changed since it was found.
    async fn remove(&self, found: &Found, propagation: Propagation) -> Result<Next> {
        let options = DeleteOptions {
            uid: Some(object::uid(&found.value).to_owned()),
            resource_version: Some(object::resource_version(&found.value).to_owned()),
            propagation: Some(propagation),
            ..DeleteOptions::default()
        };
        let place = (found.namespace.as_str(), found.name.as_str());
        gone_is_done(self.writer.delete(&found.store, place, &options).await.map(|_| ()))
    }

    /// Changes an object, unless it is another one by now.
    async fn change(&self, found: &Found, change: impl Fn(&mut Value) + Send + Sync) -> Result<Next> {
        let uid = object::uid(&found.value);
        let change = |value: &mut Value| {
            if object::uid(value) == uid {
                change(value);
            }
            Ok(())
        };
        let place = (found.namespace.as_str(), found.name.as_str());
        gone_is_done(self.writer.update(&found.store, place, "", change).await.map(|_| ()))
    }

    /// Takes an owner off one of its dependents.
    async fn disown(&self, dependent: &str, owner: &str) -> Result<()> {
        let Some(found) = self.find(dependent).await? else { return Ok(()) };
        self.change(&found, |value| drop_owners(value, &[owner])).await.map(|_| ())
    }
}

impl Controller for GarbageCollector {
    type Observed = Observed;

    async fn observe(&self, key: &str) -> Result<(Facts, Observed)> {
        let Some(found) = self.find(key).await? else {
            let facts = Facts {
                object: Object::Absent,
                finalizer: Finalizer::None,
                owners: Owners::None,
                dependents: Dependents::None,
                lost: false,
            };
            return Ok((facts, Observed { found: None, kinship: Kinship::default() }));
        };
        let value = &found.value;
        let has = |which: &str| object::finalizers(value).any(|one| one == which);
        let state = match object::deletion_timestamp(value) {
            None => Object::Live,
            Some(_) => Object::Deleting,
        };
        let finalizer = match (has(ORPHAN), has(FOREGROUND)) {
            (true, _) => Finalizer::Orphan,
            (false, true) => Finalizer::Foreground,
            (false, false) => Finalizer::None,
        };
        let kinship = match state {
            Object::Live => classify(&self.resources, &self.graph, value).await?,
            // Whatever its owners do, it is on its way.
            Object::Absent | Object::Deleting => Kinship::default(),
        };
        let dependents = match self.graph.dependents(object::uid(value)) {
            dependents if dependents.iter().any(|one| one.blocking) => Dependents::Blocking,
            dependents if dependents.is_empty() => Dependents::None,
            _ => Dependents::Free,
        };
        let facts = Facts {
            object: state,
            finalizer,
            owners: kinship.fact(),
            dependents,
            lost: !kinship.lost.is_empty(),
        };
        Ok((facts, Observed { found: Some(found), kinship }))
    }

    async fn orphan(&self, _key: &str, observed: Observed) -> Result<Next> {
        let Some(found) = observed.found else { return Ok(Next::Done) };
        let uid = object::uid(&found.value);
        let dependents = self.graph.dependents(uid);
        let results: Vec<Result<()>> = futures::stream::iter(dependents)
            .map(|one| async move { self.disown(&one.key, uid).await })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        results.into_iter().collect::<Result<()>>()?;
        self.change(&found, |value| drop_finalizer(value, ORPHAN)).await
    }

    async fn delete_dependents(&self, _key: &str, observed: Observed) -> Result<Next> {
        if let Some(found) = observed.found {
            let dependents = self.graph.dependents(object::uid(&found.value));
            self.graph.look_at(dependents.into_iter().filter(|one| one.blocking).map(|one| one.key));
        }
        Ok(Next::Done)
    }

    async fn let_go(&self, _key: &str, observed: Observed) -> Result<Next> {
        let Some(found) = observed.found else { return Ok(Next::Done) };
        self.change(&found, |value| drop_finalizer(value, FOREGROUND)).await
    }

    async fn report(&self, _key: &str, observed: Observed) -> Result<Next> {
        let Some(found) = observed.found else { return Ok(Next::Done) };
        let namespace = object::namespace(&found.value);
        for (reference, owner) in &observed.kinship.lost {
            let message = format!("ownerRef {reference} does not exist in namespace {}", quoted(namespace));
            self.graph.tell(object::uid(&found.value), owner);
            self.events.warn(&found.value, "OwnerRefInvalidNamespace", &message).await;
        }
        Ok(Next::After(Duration::ZERO))
    }

    async fn wait(&self, _key: &str, _observed: Observed) -> Result<Next> {
        Ok(Next::Again)
    }

    async fn drop_owners(&self, _key: &str, observed: Observed) -> Result<Next> {
        let Some(found) = observed.found else { return Ok(Next::Done) };
        let gone: Vec<&str> = observed.kinship.gone().collect();
        self.change(&found, |value| drop_owners(value, &gone)).await
    }

    async fn delete_in_foreground(&self, key: &str, observed: Observed) -> Result<Next> {
        let Some(found) = observed.found else { return Ok(Next::Done) };
        let dependents = self.graph.dependents(object::uid(&found.value));
        if dependents.iter().any(|one| self.graph.is_waiting(&one.key)) {
            // It may be its dependent's dependent: if each held the other, neither would go.
            self.change(&found, unblock_owners).await?;
            let Some(found) = self.find(key).await? else { return Ok(Next::Done) };
            return self.remove(&found, Propagation::Foreground).await;
        }
        self.remove(&found, Propagation::Foreground).await
    }

    async fn delete(&self, _key: &str, observed: Observed) -> Result<Next> {
        let Some(found) = observed.found else { return Ok(Next::Done) };
        let has = |which: &str| object::finalizers(&found.value).any(|one| one == which);
        let propagation = match (has(ORPHAN), has(FOREGROUND)) {
            (true, _) => Propagation::Orphan,
            (false, true) => Propagation::Foreground,
            (false, false) => Propagation::Background,
        };
        self.remove(&found, propagation).await
    }

    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        // Events own nothing, are owned by nobody, and are many.
        if !change.is_of("", "events") && !change.is_of("events.k8s.io", "events") {
            self.graph.changed(change, add);
        }
    }
}

fn gone_is_done(outcome: Result<()>) -> Result<Next> {
    match outcome {
        Err(status) if status.reason != Some(Reason::NotFound) => Err(status),
        _ => Ok(Next::Done),
    }
}

fn drop_finalizer(value: &mut Value, finalizer: &str) {
    object::remove_finalizer(value, finalizer);
}

fn drop_owners(value: &mut Value, uids: &[&str]) {
    let kept: Vec<Value> =
        owners_of(value).filter(|owner| !uids.contains(&owner.text_at(&["uid"]))).cloned().collect();
    object::set(value, "ownerReferences", kept);
}

fn unblock_owners(value: &mut Value) {
    let mut owners: Vec<Value> = owners_of(value).cloned().collect();
    for owner in owners.iter_mut().filter_map(Value::as_object_mut) {
        if owner.contains_key("blockOwnerDeletion") {
            owner.insert("blockOwnerDeletion", false);
        }
    }
    object::set(value, "ownerReferences", owners);
}

fn owners_of(value: &Value) -> impl Iterator<Item = &Value> {
    object::metadata(value).get("ownerReferences").and_then(Value::as_array).into_iter().flatten()
}
