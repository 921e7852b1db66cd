//! Namespaces that are being deleted: what is in them goes, then they do.
//!
//! Invariant: a namespace is looked at again whenever an object goes that was in it.
//! What aggregated API servers keep in it goes, too, if they answer; one that does not keeps no namespace.

mod conditions;
mod content;

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use apiwright_aggregator::Registration;
use apiwright_controllers::{Change, Identity, Next, Resources, Result, Writer};
use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_meta::status::Reason;
use apiwright_registry::Store;
use apiwright_registry::store::Freshness;

use crate::generated::controllers::namespace_controller::{Controller, Facts, Namespace, Others, Pods};
use content::{Content, Part};

/// The finalizer that is ours to take off.
const FINALIZER: &str = "kubernetes";
pub(super) const IDENTITY: Identity =
    Identity::manager("system:serviceaccount:kube-system:namespace-controller");

/// Empties namespaces.
pub(super) struct Namespaces {
    store: Arc<Store>,
    resources: Arc<dyn Resources>,
    outside: Arc<Registration>,
    writer: Writer,
    /// Those that are being deleted, so that changes elsewhere are passed over at once.
    going: RwLock<HashSet<Box<str>>>,
}

impl Namespaces {
    pub(super) fn new(
        store: Arc<Store>,
        resources: Arc<dyn Resources>,
        outside: Arc<Registration>,
        writer: Writer,
    ) -> Self {
        Self { store, resources, outside, writer, going: RwLock::default() }
    }

    async fn get(&self, name: &str) -> Result<Option<Value>> {
        match self.store.get("", name, Freshness::Latest).await {
            Ok(entry) => self.store.decode(&entry).map(Some),
            Err(status) if status.reason == Some(Reason::NotFound) => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Changes a namespace, unless it is gone or another one by now.
    async fn update(
        &self,
        observed: &Value,
        subresource: &'static str,
        change: impl Fn(&mut Value) + Send + Sync,
    ) -> Result<Next> {
        let (name, uid) = (object::name(observed), object::uid(observed));
        let change = |namespace: &mut Value| {
            if object::uid(namespace) == uid {
                change(namespace);
            }
            Ok(())
        };
        match self.writer.update(&self.store, ("", name), subresource, change).await {
            Err(status) if status.reason != Some(Reason::NotFound) => Err(status),
            _ => Ok(Next::Done),
        }
    }

    /// Deletes a part of the content; a failure is said in the conditions and comes again.
    async fn delete(&self, observed: &Observed, part: Part) -> Result<Next> {
        let Err(failures) = observed.content.delete(part, &self.outside, &self.writer).await else {
            return Ok(observed.content.next());
        };
        let name = object::name(&observed.namespace);
        let content = Content::read(&self.resources, &self.outside, name).await?;
        self.report_on(&observed.namespace, &content, &failures).await?;
        Ok(Next::Again)
    }

    async fn report_on(&self, namespace: &Value, content: &Content, failures: &[String]) -> Result<Next> {
        let said = conditions::of(content, failures);
        self.update(namespace, "status", |namespace| conditions::set(namespace, &said)).await
    }
}

/// A namespace and what is in it.
pub(super) struct Observed {
    namespace: Value,
    content: Content,
}

impl Controller for Namespaces {
    type Observed = Observed;

    async fn observe(&self, key: &str) -> Result<(Facts, Observed)> {
        let found = self.get(key).await?;
        let (state, namespace) = match found {
            None => (Namespace::Absent, Value::Null),
            Some(one) if object::deletion_timestamp(&one).is_none() => (Namespace::Active, one),
            Some(one) => (Namespace::Terminating, one),
        };
        let content = match state {
            Namespace::Absent | Namespace::Active => Content::default(),
            Namespace::Terminating => Content::read(&self.resources, &self.outside, key).await?,
        };
        let facts = Facts {
            namespace: state,
            marked: namespace.text_at(&["status", "phase"]) == "Terminating",
            held: finalizers(&namespace).any(|one| one == FINALIZER),
            pods: match content.is_going(Part::Pods) {
                None => Pods::None,
                Some(true) => Pods::Going,
                Some(false) => Pods::There,
            },
            others: match content.is_going(Part::Others) {
                None => Others::None,
                Some(true) => Others::Going,
                Some(false) => Others::There,
            },
        };
        Ok((facts, Observed { namespace, content }))
    }

    async fn mark(&self, _key: &str, observed: Observed) -> Result<Next> {
        let mark = |namespace: &mut Value| {
            if let Some(namespace) = namespace.as_object_mut() {
                namespace.object("status").insert("phase", "Terminating");
            }
        };
        self.update(&observed.namespace, "status", mark).await
    }

    async fn delete_pods(&self, _key: &str, observed: Observed) -> Result<Next> {
        self.delete(&observed, Part::Pods).await
    }

    async fn delete_others(&self, _key: &str, observed: Observed) -> Result<Next> {
        self.delete(&observed, Part::Others).await
    }

    async fn report(&self, _key: &str, observed: Observed) -> Result<Next> {
        self.report_on(&observed.namespace, &observed.content, &[]).await?;
        Ok(observed.content.next())
    }

    async fn finalize(&self, _key: &str, observed: Observed) -> Result<Next> {
        self.report_on(&observed.namespace, &observed.content, &[]).await?;
        let release = |namespace: &mut Value| {
            let spec = namespace.at_mut(&["spec"]).and_then(Value::as_object_mut);
            if let Some(list) = spec.and_then(|spec: &mut Object| spec.get_mut("finalizers"))
                && let Some(list) = list.as_array_mut()
            {
                list.retain(|one| one.as_str() != Some(FINALIZER));
            }
        };
        self.update(&observed.namespace, "finalize", release).await
    }

    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        let Some(facts) = change.facts() else { return };
        if change.is_of("", "namespaces") {
            let mut going = self.going.write().unwrap_or_else(PoisonError::into_inner);
            if change.new.is_some() && facts.deleting {
                going.insert(facts.name.as_str().into());
            } else {
                going.remove(facts.name.as_str());
            }
        } else if self.going.read().unwrap_or_else(PoisonError::into_inner).contains(facts.namespace.as_str())
        {
            add(&facts.namespace);
        }
    }
}

fn finalizers(namespace: &Value) -> impl Iterator<Item = &str> {
    let list = namespace.at(&["spec", "finalizers"]).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}
