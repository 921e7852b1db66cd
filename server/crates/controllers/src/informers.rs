//! What is stored, and what happens to it: one watch for all controllers.
//!
//! Changes of all resources come in the order in which they were made, so that what one controller
//! sees, others have seen or will see in that order. Handlers add keys to queues and return.
//! Invariant: a handler hears of every object that is there once the watch has begun, and of every
//! change after, once; what a gap hid is found by comparing.

use std::collections::{HashMap, HashSet};
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
    /// What they have heard of, to tell what went in a gap.
    heard: HashMap<Arc<str>, Arc<Entry>>,
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
        Self {
            storage,
            resources,
            routes: HashMap::new(),
            all: Vec::new(),
            heard: HashMap::new(),
            synced: watch::channel(false).0,
        }
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
            // First: the storage closes with the drain, which is no complaint.
            biased;
            () = drain.begun() => {}
            () = self.follow() => {}
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

    /// Tells events until the watch ends; gives where another can go on. Changes may share a revision, so
    /// the last one's may come again; what was told of it is passed over.
    async fn events(&mut self, mut watch: Watch, from: Revision) -> Option<Revision> {
        let mut seen = from;
        while let Some(event) = watch.next().await {
            match event {
                Ok(Event::Progress(revision)) => seen = seen.max(revision),
                Ok(event) => {
                    seen = seen.max(event.revision().saturating_sub(1));
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

    fn tell(&mut self, event: &Event) {
        match event {
            Event::Put { entry, previous } => self.change(&entry.key, previous.as_ref(), Some(entry)),
            Event::Delete { previous, revision } => {
                // A key that is not known, or was made again since, was told of before.
                let is_news = self.known(&previous.key).is_some_and(|known| known.mod_revision < *revision);
                if is_news {
                    self.change(&previous.key, Some(previous), None);
                }
            }
            Event::Progress(_) => {}
        }
    }

    fn change(&mut self, key: &Arc<str>, old: Option<&Arc<Entry>>, new: Option<&Arc<Entry>>) {
        let known = self.known(key);
        if let (Some(known), Some(new)) = (&known, new)
            && known.mod_revision >= new.mod_revision
        {
            return;
        }
        let old = old.or(known.as_ref());
        if let Some(route) = self.route_of(key) {
            route.cache.put(key, new);
            let change = Change { store: &route.cache.store, old, new };
            for handler in &route.handlers {
                handler.changed(&change);
            }
        }
        if self.all.is_empty() {
            return;
        }
        match new {
            Some(entry) => self.heard.insert(Arc::clone(key), Arc::clone(entry)),
            None => self.heard.remove(key),
        };
        if let Some(store) = prefixes(key).find_map(|prefix| self.resources.at(prefix)) {
            let change = Change { store: &store, old, new };
            for handler in &self.all {
                handler.changed(&change);
            }
        }
    }

    /// What was last told of a key.
    fn known(&self, key: &str) -> Option<Arc<Entry>> {
        self.route_of(key).and_then(|route| route.cache.at(key)).or_else(|| self.heard.get(key).cloned())
    }

    /// Who looks at a key.
    fn route_of(&self, key: &str) -> Option<&Route> {
        prefixes(key).find_map(|prefix| self.routes.get(prefix))
    }

    /// Tells of everything that is there, and of what is there no longer.
    async fn read_all(&mut self) -> Result<Revision, Error> {
        let mut gone: HashSet<Arc<str>> = self.heard.keys().cloned().collect();
        gone.extend(self.routes.values().flat_map(|route| route.cache.keys()));
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
        for key in gone {
            if let Some(old) = self.known(&key) {
                self.change(&key, Some(&old), None);
            }
        }
        Ok(revision)
    }
}

/// What a key may begin with, below the root: two parts, then one.
fn prefixes(key: &str) -> impl Iterator<Item = &str> {
    let rest = key.strip_prefix(ROOT).unwrap_or_default();
    let first = rest.find('/');
    let second = first.and_then(|first| rest[first + 1..].find('/').map(|at| first + 1 + at));
    second.into_iter().chain(first).map(|end| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keys_begin_with() {
        for (key, want) in [
            ("/registry/pods/default/web-0", vec!["pods/default", "pods"]),
            ("/registry/namespaces/a", vec!["namespaces"]),
            ("/registry/example.com/widgets/default/a", vec!["example.com/widgets", "example.com"]),
            ("/elsewhere/a/b", vec![]),
            ("/registry/x", vec![]),
        ] {
            assert_eq!(prefixes(key).collect::<Vec<_>>(), want, "{key}");
        }
    }
}
