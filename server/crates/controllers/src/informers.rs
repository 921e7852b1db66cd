//! What is stored, and what happens to it: one watch for all controllers.
//!
//! Changes of all resources come in the order in which they were made, so that what one controller
//! sees, others have seen or will see in that order. Handlers add keys to queues and return.
//! Invariant: a handler hears of every object that is there once the watch has begun, and of every
//! change after; what a gap hid is found by comparing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use apiwright_chain::Drain;
use apiwright_registry::Store;
use apiwright_storage::{At, Entry, Error, Event, Range, Revision, Storage, Watch};
use futures::StreamExt;
use tokio::sync::watch;
use tracing::warn;

use crate::cache::Cache;
use crate::change::Change;
use crate::resources::Resources;

/// Below it is everything.
const ROOT: &str = "/registry/";
/// How many objects are read at once.
const PAGE_MAX: usize = 2_000;
/// How long a watch that failed waits before the next one.
const RETRY: Duration = Duration::from_millis(200);

/// Hears of changes. Called in the order of revisions; must not wait.
pub trait Handler: Send + Sync + 'static {
    /// What became of one object.
    fn changed(&self, change: &Change<'_>);

    /// Events were lost: whatever is there is told anew. Caches tell what is gone, so that handlers
    /// of one resource need not care.
    fn reset(&self) {}
}

impl<F: Fn(&Change<'_>) + Send + Sync + 'static> Handler for F {
    fn changed(&self, change: &Change<'_>) {
        self(change);
    }
}

/// The informers of all resources.
pub struct Informers {
    storage: Arc<dyn Storage>,
    resources: Arc<dyn Resources>,
    /// By what follows [`ROOT`] in keys.
    routes: HashMap<String, Route>,
    /// Those that hear of everything.
    all: Vec<Arc<dyn Handler>>,
    synced: watch::Sender<bool>,
}

/// One resource that somebody looks at.
struct Route {
    cache: Cache,
    handlers: Vec<Arc<dyn Handler>>,
}

impl Informers {
    /// Over what is stored; nobody listens yet.
    pub fn new(storage: Arc<dyn Storage>, resources: Arc<dyn Resources>) -> Self {
        Self { storage, resources, routes: HashMap::new(), all: Vec::new(), synced: watch::channel(false).0 }
    }

    /// What there is to look at.
    pub fn resources(&self) -> &Arc<dyn Resources> {
        &self.resources
    }

    /// The cache of a resource; it fills once the informers run.
    pub fn cache(&mut self, store: &Arc<Store>) -> Cache {
        self.route(store).cache.clone()
    }

    /// Lets a handler hear of one resource.
    pub fn listen(&mut self, store: &Arc<Store>, handler: Arc<dyn Handler>) {
        self.route(store).handlers.push(handler);
    }

    /// Lets a handler hear of every resource.
    pub fn listen_to_all(&mut self, handler: Arc<dyn Handler>) {
        self.all.push(handler);
    }

    /// Becomes true when everything that was there has been told.
    pub fn synced(&self) -> watch::Receiver<bool> {
        self.synced.subscribe()
    }

    /// Tells what is there, then what happens, until the drain begins.
    pub async fn run(mut self, mut drain: Drain) {
        tokio::select! {
            () = self.follow() => {}
            () = drain.begun() => {}
        }
    }

    fn route(&mut self, store: &Arc<Store>) -> &mut Route {
        let prefix = store.resource.storage.prefix.to_string();
        self.routes
            .entry(prefix)
            .or_insert_with(|| Route { cache: Cache::new(Arc::clone(store)), handlers: Vec::new() })
    }

    async fn follow(&mut self) {
        let mut revision = None;
        loop {
            let from = match revision {
                Some(revision) => revision,
                None => match self.read_all().await {
                    Ok(read) => read,
                    Err(why) => {
                        warn!(%why, "cannot read what controllers look at");
                        tokio::time::sleep(RETRY).await;
                        continue;
                    }
                },
            };
            self.synced.send_replace(true);
            revision = match self.storage.watch(ROOT, from).await {
                Ok(watch) => self.events(watch, from).await,
                Err(Error::Compacted { .. }) => None,
                Err(why) => {
                    warn!(%why, "cannot watch what controllers look at");
                    Some(from)
                }
            };
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Tells events until the watch ends; gives where another can go on.
    async fn events(&mut self, mut watch: Watch, from: Revision) -> Option<Revision> {
        let mut seen = from;
        while let Some(event) = watch.next().await {
            match event {
                Ok(event) => {
                    seen = seen.max(event.revision());
                    self.tell(&event);
                }
                Err(Error::Compacted { .. }) => return None,
                Err(why) => {
                    warn!(%why, "a watch of controllers ended");
                    return Some(seen);
                }
            }
        }
        Some(seen)
    }

    fn tell(&self, event: &Event) {
        match event {
            Event::Put { entry, previous } => self.change(&entry.key, previous.as_ref(), Some(entry)),
            Event::Delete { previous, .. } => self.change(&previous.key, Some(previous), None),
            Event::Progress(_) => {}
        }
    }

    fn change(&self, key: &Arc<str>, old: Option<&Arc<Entry>>, new: Option<&Arc<Entry>>) {
        let Some((prefix, route)) = self.place(key) else { return };
        if let Some(route) = route {
            let known = route.cache.put(key, new);
            let change = Change { store: &route.cache.store, old: old.or(known.as_ref()), new };
            for handler in &route.handlers {
                handler.changed(&change);
            }
        }
        if !self.all.is_empty()
            && let Some(store) = self.resources.at(prefix)
        {
            let change = Change { store: &store, old, new };
            for handler in &self.all {
                handler.changed(&change);
            }
        }
    }

    /// What a key begins with: one part or two, below the root; and who looks at it.
    fn place<'a>(&self, key: &'a str) -> Option<(&'a str, Option<&Route>)> {
        let rest = key.strip_prefix(ROOT)?;
        let first = rest.find('/')?;
        let second = rest[first + 1..].find('/').map(|at| first + 1 + at);
        let candidates = second.into_iter().chain([first]).map(|end| &rest[..end]);
        let mut unknown = None;
        for prefix in candidates {
            if let Some(route) = self.routes.get(prefix) {
                return Some((prefix, Some(route)));
            }
            if unknown.is_none() && !self.all.is_empty() && self.resources.at(prefix).is_some() {
                unknown = Some(prefix);
            }
        }
        unknown.map(|prefix| (prefix, None))
    }

    /// Tells of everything that is there, and of what is there no longer.
    async fn read_all(&mut self) -> Result<Revision, Error> {
        for handler in &self.all {
            handler.reset();
        }
        let mut gone: HashMap<Arc<str>, Cache> = HashMap::new();
        for route in self.routes.values() {
            gone.extend(route.cache.keys().into_iter().map(|key| (key, route.cache.clone())));
        }
        let (mut at, mut after) = (At::Latest, None::<Arc<str>>);
        let revision = loop {
            let range = Range { prefix: ROOT, after: after.as_deref(), limit: PAGE_MAX, at };
            let page = self.storage.range(range).await?;
            for entry in &page.entries {
                gone.remove(&entry.key);
                self.change(&entry.key, None, Some(entry));
            }
            at = At::Revision(page.revision);
            after = page.entries.last().map(|entry| Arc::clone(&entry.key));
            if page.remaining == 0 || after.is_none() {
                break page.revision;
            }
        };
        for (key, cache) in gone {
            if let Some(old) = cache.at(&key) {
                self.change(&key, Some(&old), None);
            }
        }
        Ok(revision)
    }
}
