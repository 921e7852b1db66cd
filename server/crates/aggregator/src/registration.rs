//! What an APIService's coming, changing and going means: its route, its place in discovery, its
//! server's documents.
//!
//! Invariants: a route exists before discovery tells of it; each server outside has one task that
//! asks what it serves, so that a dead or slow one delays nobody else.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use apiwright_discovery::{Content, Discovery, Freshness, Registered, Source};
use apiwright_json::Value;
use apiwright_openapi::OpenApi;
use apiwright_registry::typed::Types;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tracing::debug;

use crate::gather::{Asked, Known, Told};
use crate::routes::{Route, Routes};
use crate::service::{ApiService, Remote};
use crate::swagger;

/// How often a server is asked again that answers.
const REFRESH_SECONDS: u64 = 60;
/// How soon one that does not; twice as long each time, up to the above.
const RETRY_MILLIS_MIN: u64 = 500;
/// The aggregator's own group comes before all that can be registered.
const OWN_GROUP_PRIORITY: i32 = 20_001;

/// The APIServices that there are, and what follows from them.
pub struct Registration {
    routes: Arc<Routes>,
    discovery: Arc<Discovery>,
    openapi: Arc<OpenApi>,
    types: Types,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    services: BTreeMap<String, ApiService>,
    followers: HashMap<Remote, Follower>,
    /// Where servers outside have their OpenAPI documents.
    documents: HashMap<Remote, Vec<(String, String)>>,
    /// What they say in OpenAPI v2.
    swaggers: HashMap<Remote, Value>,
}

/// The task that asks one server; it ends when this is dropped.
struct Follower {
    wake: Arc<Notify>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Registration {
    /// Nothing is registered yet.
    pub fn new(routes: Arc<Routes>, discovery: Arc<Discovery>, openapi: Arc<OpenApi>, types: Types) -> Self {
        Self { routes, discovery, openapi, types, state: Mutex::default(), changed: Notify::new() }
    }

    /// Who answers requests.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The same, to keep.
    pub fn shared_routes(&self) -> Arc<Routes> {
        Arc::clone(&self.routes)
    }

    /// What is known of an APIService.
    pub fn get(&self, name: &str) -> Option<ApiService> {
        self.state.lock().services.get(name).cloned()
    }

    /// The resources that an APIService's server tells of; `None` where it does not answer.
    pub(crate) fn told(&self, service: &ApiService) -> Option<Arc<[Value]>> {
        let snapshot = self.discovery.snapshot();
        let found = snapshot.sources().iter().find_map(|source| match &source.content {
            Content::Told(told) if source.group == service.group && source.version == service.version => {
                Some((Arc::clone(told), source.freshness))
            }
            _ => None,
        });
        found.filter(|(_, freshness)| *freshness == Freshness::Current).map(|(told, _)| told)
    }

    /// All that are known.
    pub fn all(&self) -> Vec<ApiService> {
        self.state.lock().services.values().cloned().collect()
    }

    /// Resolves when all of these are registered.
    pub async fn has(&self, names: &[String]) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            let known = {
                let state = self.state.lock();
                names.iter().all(|name| state.services.contains_key(name))
            };
            if known {
                return;
            }
            changed.await;
        }
    }

    /// An APIService as it is now. Has to be called from within a runtime.
    pub fn set(self: &Arc<Self>, service: ApiService) {
        let mut state = self.state.lock();
        let before = state.services.insert(service.name.clone(), service.clone());
        if before.as_ref() == Some(&service) {
            return;
        }
        self.routes.set(&service);
        match &service.remote {
            None => {
                self.discovery.remove_told(&service.group, &service.version);
                self.openapi.remove_other(&service.name);
            }
            Some(remote) => {
                let is_new = before.is_none_or(|before| before.remote.is_none());
                if is_new {
                    self.discovery.set(source(&service, None));
                }
                match state.followers.get(remote) {
                    Some(follower) => follower.wake.notify_one(),
                    None => {
                        state.followers.insert(remote.clone(), self.follow(remote.clone()));
                    }
                }
            }
        }
        self.settle(&mut state);
    }

    /// An APIService is gone.
    pub fn remove(&self, name: &str) {
        let mut state = self.state.lock();
        let Some(service) = state.services.remove(name) else { return };
        self.routes.remove(&service.group, &service.version);
        self.discovery.remove_told(&service.group, &service.version);
        self.openapi.remove_other(name);
        self.settle(&mut state);
    }

    /// The server outside that has an OpenAPI document, by its path below `/openapi/v3/`.
    pub fn document(&self, path: &str) -> Option<Arc<Route>> {
        let state = self.state.lock();
        let has = |documents: &Vec<(String, String)>| documents.iter().any(|(its_path, _)| its_path == path);
        let (remote, _) = state.documents.iter().find(|(_, documents)| has(documents))?;
        let service = state.services.values().find(|service| service.remote.as_ref() == Some(remote))?;
        self.routes.get(&service.group, &service.version)
    }

    /// Tells discovery and OpenAPI of all, and forgets servers that nobody needs any more.
    fn settle(&self, state: &mut State) {
        let State { services, followers, documents, swaggers } = state;
        let used = |remote: &Remote| services.values().any(|one| one.remote.as_ref() == Some(remote));
        followers.retain(|remote, _| used(remote));
        documents.retain(|remote, _| used(remote));
        swaggers.retain(|remote, _| used(remote));
        let own = Registered {
            name: "v1.apiregistration.k8s.io".into(),
            group: "apiregistration.k8s.io".into(),
            version: "v1".into(),
            group_priority: OWN_GROUP_PRIORITY,
            version_priority: 1,
        };
        let all = services.values().map(|service| Registered {
            name: service.name.clone(),
            group: service.group.clone(),
            version: service.version.clone(),
            group_priority: service.group_priority,
            version_priority: service.version_priority,
        });
        self.discovery.register(std::iter::once(own).chain(all).collect());
        self.tell_documents(state);
        self.changed.notify_waiters();
    }

    /// What a server outside has, but for what somebody here has.
    fn tell_documents(&self, state: &mut State) {
        let mut told = BTreeMap::new();
        let State { services, documents, .. } = state;
        for (remote, documents) in documents.iter_mut() {
            documents.retain(|(path, _)| {
                let own = services.values().any(|service| {
                    service.remote.as_ref() == Some(remote) && path == service.path().trim_start_matches('/')
                });
                own || !self.openapi.has(path)
            });
            told.extend(documents.iter().cloned());
        }
        self.openapi.set_outside(told);
    }

    fn follow(self: &Arc<Self>, remote: Remote) -> Follower {
        let wake = Arc::new(Notify::new());
        let task = tokio::spawn(follow(Arc::downgrade(self), remote, Arc::clone(&wake)));
        Follower { wake, task }
    }

    /// Asks a server what it serves and tells it; gives whether it answered.
    async fn gather(&self, remote: &Remote, known: &mut Known) -> Result<(), String> {
        let asked = async {
            let backend = self.routes.backend(remote).map_err(|error| error.to_string())?;
            let host = self.routes.resolver.resolve(&remote.service).await?;
            Ok::<_, String>((backend, host))
        };
        let (backend, host) = match asked.await {
            Ok(found) => found,
            Err(why) => {
                self.tell(remote, |_| None);
                return Err(why);
            }
        };
        let asked = Asked { backend: &backend, host: &host };
        let told = asked.discovery(known, &self.types).await;
        let found = match told {
            Ok(Told::All { versions, etag }) => {
                (known.versions, known.etag) = (versions, etag);
                self.tell(remote, |service| Some(known_of(known, service)));
                Ok(())
            }
            Ok(Told::Unchanged) => {
                self.tell(remote, |service| Some(known_of(known, service)));
                Ok(())
            }
            Ok(Told::Legacy) => self.gather_legacy(remote, &asked).await,
            Err(why) => {
                self.tell(remote, |_| None);
                Err(why)
            }
        };
        let documents = asked.openapi().await.map(|documents| {
            let mut state = self.state.lock();
            if state.followers.contains_key(remote) {
                state.documents.insert(remote.clone(), documents);
                self.tell_documents(&mut state);
            }
        });
        let swagger = asked.swagger(known).await.map(|document| {
            let mut state = self.state.lock();
            if state.followers.contains_key(remote)
                && let Some(document) = document
            {
                state.swaggers.insert(remote.clone(), document);
            }
            self.tell_swagger(&state, remote);
        });
        found.and(documents).and(swagger)
    }

    /// Tells the part of a server's OpenAPI v2 document that is about what is registered as its.
    fn tell_swagger(&self, state: &State, remote: &Remote) {
        let Some(document) = state.swaggers.get(remote) else { return };
        for service in state.services.values().filter(|one| one.remote.as_ref() == Some(remote)) {
            match swagger::below(document, &format!("{}/", service.path())) {
                Some(part) => self.openapi.set_other(&service.name, Arc::new(part)),
                None => self.openapi.remove_other(&service.name),
            }
        }
    }

    async fn gather_legacy(&self, remote: &Remote, asked: &Asked<'_>) -> Result<(), String> {
        let mut outcome = Ok(());
        for service in self.services_of(remote) {
            let found = asked.legacy(&service.path(), &self.types).await;
            let (resources, result) = match found {
                Ok(resources) => (Some(resources), Ok(())),
                Err(why) => (None, Err(why)),
            };
            if self.state.lock().services.get(&service.name).is_some_and(|one| one.remote == service.remote) {
                self.discovery.set(source(&service, resources));
            }
            outcome = outcome.and(result);
        }
        outcome
    }

    /// Tells what `found` has of each of a server's group versions; nothing makes it stale.
    fn tell(&self, remote: &Remote, found: impl Fn(&ApiService) -> Option<Vec<Value>>) {
        let state = self.state.lock();
        for service in state.services.values().filter(|one| one.remote.as_ref() == Some(remote)) {
            self.discovery.set(source(service, found(service)));
        }
    }

    fn services_of(&self, remote: &Remote) -> Vec<ApiService> {
        let state = self.state.lock();
        state.services.values().filter(|one| one.remote.as_ref() == Some(remote)).cloned().collect()
    }
}

/// Asks a server whenever something changed, and from time to time.
async fn follow(registration: Weak<Registration>, remote: Remote, wake: Arc<Notify>) {
    let mut known = Known::default();
    let mut patience = Duration::from_millis(RETRY_MILLIS_MIN);
    let refresh = Duration::from_secs(REFRESH_SECONDS);
    loop {
        let Some(registration) = registration.upgrade() else { return };
        let wait = match registration.gather(&remote, &mut known).await {
            Ok(()) => {
                patience = Duration::from_millis(RETRY_MILLIS_MIN);
                refresh
            }
            Err(why) => {
                let service = &remote.service;
                debug!(namespace = service.namespace, name = service.name, %why, "cannot ask a server what it serves");
                let wait = patience;
                patience = (patience * 2).min(refresh);
                wait
            }
        };
        drop(registration);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = wake.notified() => {}
        }
    }
}

fn known_of(known: &Known, service: &ApiService) -> Vec<Value> {
    known.versions.get(&(service.group.clone(), service.version.clone())).cloned().unwrap_or_default()
}

/// A group version with its resources; stale where nothing is known but that it is there.
fn source(service: &ApiService, resources: Option<Vec<Value>>) -> Source {
    Source {
        group: service.group.clone(),
        version: service.version.clone(),
        group_priority: service.group_priority,
        version_priority: service.version_priority,
        freshness: if resources.is_some() { Freshness::Current } else { Freshness::Stale },
        content: Content::Told(resources.unwrap_or_default().into()),
    }
}
