//! What is used of `ResourceQuotas`.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use apiwright_admission::quota::{self, Observed};
use apiwright_controllers::{Change, Identity, Next, Resources, Result, Writer};
use apiwright_json::Value;
use apiwright_meta::status::Reason;
use apiwright_meta::{Status, object};
use apiwright_registry::Store;
use apiwright_registry::store::{Freshness, Paging, Selection};

use super::look_up;
use crate::generated::controllers::resourcequota_controller::{Controller, Facts, Quota};

pub(super) const IDENTITY: Identity =
    Identity::manager("system:serviceaccount:kube-system:resourcequota-controller");
/// How often everything is counted again.
const RESYNC: Duration = Duration::from_mins(5);

/// Counts.
pub(super) struct Quotas {
    store: Arc<Store>,
    resources: Arc<dyn Resources>,
    writer: Writer,
    /// The quotas of each namespace, so that changes elsewhere are passed over at once.
    by_namespace: RwLock<HashMap<String, BTreeSet<String>>>,
}

impl Quotas {
    pub(super) fn new(store: Arc<Store>, resources: Arc<dyn Resources>, writer: Writer) -> Self {
        Self { store, resources, writer, by_namespace: RwLock::default() }
    }

    async fn count(&self, quota: &Value) -> Result<Observed> {
        let mut observed = Observed::default();
        let selection = Selection { namespace: object::namespace(quota).to_owned(), ..Selection::default() };
        for resource in quota::counted(quota) {
            let is_it = |store: &Arc<Store>| store.resource.group_resource() == resource;
            // What is not served is not used.
            let mut objects = Vec::new();
            if let Some(store) = self.resources.all().into_iter().find(is_it) {
                let list = store.list(&selection, Freshness::Latest, &Paging::default()).await?;
                objects = list.entries.iter().map(|entry| store.decode(entry)).collect::<Result<_>>()?;
            }
            observed.count(quota, &resource, objects);
        }
        Ok(observed)
    }

    /// A quota is there, or no longer; gives whether it has to be counted.
    fn heard(&self, change: &Change<'_>, namespace: &str, name: &str) -> bool {
        let mut all = self.by_namespace.write().unwrap_or_else(PoisonError::into_inner);
        if change.new.is_none() {
            if let Some(names) = all.get_mut(namespace) {
                names.remove(name);
                if names.is_empty() {
                    all.remove(namespace);
                }
            }
            return false;
        }
        all.entry(namespace.to_owned()).or_default().insert(name.to_owned());
        // What was charged needs no counting.
        let spec = |entry| change.store.decode(entry).ok().and_then(|quota| quota.get("spec").cloned());
        change.old.is_none_or(|old| spec(old) != change.new.and_then(spec))
    }
}

impl Controller for Quotas {
    type Observed = (Value, Observed);

    async fn observe(&self, key: &str) -> Result<(Facts, Self::Observed)> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let Some(quota) = look_up::object(&self.store, namespace, name).await? else {
            return Ok((Facts { quota: Quota::Absent }, (Value::Null, Observed::default())));
        };
        let observed = self.count(&quota).await?;
        let state = if observed.is_said_by(&quota) { Quota::Current } else { Quota::Stale };
        Ok((Facts { quota: state }, (quota, observed)))
    }

    async fn update(&self, _key: &str, (quota, observed): Self::Observed) -> Result<Next> {
        let (place, version) =
            ((object::namespace(&quota), object::name(&quota)), object::resource_version(&quota));
        let resource = self.store.resource.group_resource();
        let say = |now: &mut Value| {
            if object::resource_version(now) != version {
                return Err(Status::conflict(&resource, place.1, "somebody was charged meanwhile"));
            }
            observed.say(now);
            Ok(())
        };
        let said = self.writer.update(&self.store, place, "status", say).await;
        look_up::unless(said, Reason::NotFound).map(|()| Next::After(RESYNC))
    }

    async fn wait(&self, _key: &str, _observed: Self::Observed) -> Result<Next> {
        Ok(Next::After(RESYNC))
    }

    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        let Some(facts) = change.facts() else { return };
        let (namespace, name) = (facts.namespace.as_str(), facts.name.as_str());
        if change.is_of("", "resourcequotas") && self.heard(change, namespace, name) {
            add(&format!("{namespace}/{name}"));
        }
        let all = self.by_namespace.read().unwrap_or_else(PoisonError::into_inner);
        let Some(names) = all.get(namespace) else { return };
        if uses_less(change) {
            for name in names {
                add(&format!("{namespace}/{name}"));
            }
        }
    }
}

/// Whether less may be used after a change: what is created or grows was charged.
fn uses_less(change: &Change<'_>) -> bool {
    if change.new.is_none() {
        return !change.is_of("", "events");
    }
    if change.old.is_none() {
        return false;
    }
    if change.is_of("", "services") || change.is_of("", "persistentvolumeclaims") {
        return true;
    }
    change.is_of("", "pods")
        && change
            .decode()
            .is_some_and(|pod| matches!(pod.text_at(&["status", "phase"]), "Succeeded" | "Failed"))
}
