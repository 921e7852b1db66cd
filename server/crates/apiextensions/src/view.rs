//! All custom resources that are served, for every request to look at.
//!
//! Invariant: readers never wait for each other; a change swaps in a new map that shares all but one
//! entry. Who asks for what is not there waits until this server knows what storage knows.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use apiwright_chain::RequestInfo;
use apiwright_discovery::{Content, Discovery, Freshness, Source};
use apiwright_endpoints::{ResourceServer, Shared};
use apiwright_openapi::{OpenApi, Published};
use apiwright_registry::{Resource, Store};
use apiwright_storage::{At, Revision, Storage};
use apiwright_webhook::Clients;
use arc_swap::ArcSwap;
use imbl::{HashMap, OrdMap};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::controller::PREFIX;
use crate::definition::Definition;
use crate::serving::Serving;

/// What upstream's controller gives the groups of definitions.
const GROUP_PRIORITY: i32 = 1000;
const VERSION_PRIORITY: i32 = 100;
/// How long a request waits for a definition that another server established.
const PATIENCE: Duration = Duration::from_secs(2);

/// The custom resources that are served.
pub struct CustomResources {
    /// By group, then by plural.
    served: ArcSwap<HashMap<String, OrdMap<String, Arc<Serving>>>>,
    storage: Arc<dyn Storage>,
    shared: Arc<Shared>,
    discovery: Arc<Discovery>,
    openapi: Arc<OpenApi>,
    clients: Clients,
    /// Up to where definitions are served as storage has them.
    applied: watch::Sender<Revision>,
}

impl CustomResources {
    /// None yet; what comes is told by discovery and OpenAPI. Webhooks that convert are called by `clients`.
    pub fn new(
        storage: Arc<dyn Storage>,
        shared: Arc<Shared>,
        discovery: Arc<Discovery>,
        openapi: Arc<OpenApi>,
        clients: Clients,
    ) -> Self {
        let applied = watch::Sender::new(0);
        Self { served: ArcSwap::default(), storage, shared, discovery, openapi, clients, applied }
    }

    /// Definitions are served as they were at a revision, or newer.
    pub(crate) fn has_applied(&self, revision: Revision) {
        self.applied.send_if_modified(|applied| {
            let is_news = *applied < revision;
            *applied = revision.max(*applied);
            is_news
        });
    }

    /// Whether storage has a definition for an address that this server did not serve as it is there, but now
    /// does: one that another server established a moment ago.
    pub async fn catch_up(&self, info: &RequestInfo) -> bool {
        if info.prefix != "apis" {
            return false;
        }
        let key = format!("{PREFIX}{}.{}", info.resource, info.group);
        let Ok(Ok((_, Some(entry)))) = timeout(PATIENCE, self.storage.get(&key, At::Latest)).await else {
            return false;
        };
        let mut applied = self.applied.subscribe();
        if *applied.borrow() >= entry.mod_revision {
            return false;
        }
        let caught_up = applied.wait_for(|applied| *applied >= entry.mod_revision);
        matches!(timeout(PATIENCE, caught_up).await, Ok(Ok(_)))
    }

    /// The server of an address; `None` where no definition has it.
    ///
    /// # Errors
    /// With what keeps a definition from being served.
    pub fn find(&self, info: &RequestInfo) -> Option<Result<Arc<ResourceServer>, String>> {
        if info.prefix != "apis" {
            return None;
        }
        let serving = Arc::clone(self.served.load().get(&info.group)?.get(&info.resource)?);
        match serving.server(&info.version)? {
            Ok(server) => server.owns(info).then(|| Ok(Arc::clone(server))),
            Err(why) => Some(Err(why.to_owned())),
        }
    }

    /// The objects of a definition as they are stored, of whatever version and shape.
    pub fn stored(&self, group: &str, plural: &str) -> Option<Arc<Store>> {
        self.serving(group, plural)?.stored()
    }

    /// The same, of all definitions, by group and plural.
    pub fn all_stored(&self) -> Vec<Arc<Store>> {
        let all = self.served.load();
        let mut groups: Vec<_> = all.iter().collect();
        groups.sort_by_key(|(group, _)| *group);
        groups
            .into_iter()
            .flat_map(|(_, of_group)| of_group.values())
            .filter_map(|one| one.stored())
            .collect()
    }

    /// The same, of the definition that serves a kind.
    pub fn stored_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Store>> {
        let all = self.served.load();
        let mut of_group = all.get(group)?.values();
        of_group.find(|one| one.kind() == kind && one.versions().any(|name| name == version))?.stored()
    }

    /// How a definition is served, where it is.
    pub(crate) fn serving(&self, group: &str, plural: &str) -> Option<Arc<Serving>> {
        self.served.load().get(group)?.get(plural).cloned()
    }

    /// Serves a definition as it is now, or no longer.
    pub(crate) fn set(&self, definition: &Definition, served: bool) {
        let (group, plural) = (&definition.group, &definition.names.plural);
        let before = self.serving(group, plural);
        match (&before, served) {
            (Some(before), true) if before.serves(definition) => return,
            (None, false) => return,
            _ => {}
        }
        let now = served.then(|| {
            let serving = Serving::new(
                definition.clone(),
                Arc::clone(&self.storage),
                Arc::clone(&self.shared),
                self.clients.clone(),
            );
            Arc::new(match &before {
                Some(before) => serving.in_place_of(before),
                None => serving,
            })
        });
        self.served.rcu(|all| {
            let mut all = HashMap::clone(all);
            let mut of_group = all.get(group).cloned().unwrap_or_default();
            match &now {
                Some(serving) => of_group.insert(plural.clone(), Arc::clone(serving)),
                None => of_group.remove(plural),
            };
            if of_group.is_empty() {
                all.remove(group)
            } else {
                all.insert(group.clone(), of_group)
            };
            all
        });
        if let (Some(before), None) = (&before, &now) {
            before.end();
        }
        let touched: BTreeSet<&str> =
            before.iter().chain(&now).flat_map(|serving| serving.versions()).collect();
        for version in touched {
            self.publish(group, version);
        }
    }

    /// Tells what a group version holds now.
    fn publish(&self, group: &str, version: &str) {
        let all = self.served.load();
        let of_group: Vec<Arc<Serving>> =
            all.get(group).into_iter().flat_map(OrdMap::values).cloned().collect();
        let resources: Vec<Arc<Resource>> =
            of_group.iter().filter_map(|serving| serving.told(version).cloned()).collect();
        if resources.is_empty() {
            self.discovery.remove(group, version);
            self.openapi.remove(group, version);
            return;
        }
        self.discovery.set(Source {
            group: group.to_owned(),
            version: version.to_owned(),
            group_priority: GROUP_PRIORITY,
            version_priority: VERSION_PRIORITY,
            content: Content::Here(resources),
            freshness: Freshness::Current,
        });
        let name = version.to_owned();
        let servers = move || {
            let published = |serving: &Arc<Serving>| {
                let resource = Arc::clone(serving.told(&name)?);
                Some(Published { resource, schema: serving.schema(&name).cloned() })
            };
            of_group.iter().filter_map(published).collect()
        };
        self.openapi.set_later(group, version, Arc::new(servers));
    }
}
