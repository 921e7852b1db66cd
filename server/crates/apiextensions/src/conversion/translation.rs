//! Storage in another version: between a store of a served version and the engine.
//!
//! Invariant: entries keep their revisions; a page is converted by one call of the webhook (a large
//! one by several), a change that several watch by one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_registry::{Kind, stored_bytes};
use apiwright_schema::defaults::apply_defaults;
use apiwright_schema::{Ref, Struct, prune};
use apiwright_storage::{
    Annex, At, Change, Entry, Error, Event, Expect, Key, Outcome, Page, Range, Result, Revision, Storage,
    Watch,
};
use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::Converter;

/// How many objects one review has.
const REVIEW_OBJECTS_MAX: usize = 500;
/// How many converted entries are kept for others who watch.
const RECENT_MAX: usize = 256;

/// The types of a definition's versions, by name.
pub(crate) type Types = HashMap<String, Ref<Struct>>;

/// Storage whose entries are of one version, whatever is in the engine.
#[derive(Clone)]
pub(crate) struct Translation(Arc<Inner>);

struct Inner {
    engine: Arc<dyn Storage>,
    converter: Arc<dyn Converter>,
    types: Arc<Types>,
    /// What entries are of here.
    served: Kind,
    /// What they are of in the engine, once they are written.
    stored: Kind,
    recent: Mutex<Recent>,
}

/// Entries that were converted for somebody who watches.
#[derive(Default)]
struct Recent {
    entries: HashMap<(Key, Revision), Arc<OnceCell<Arc<Entry>>>>,
    order: VecDeque<(Key, Revision)>,
}

impl Translation {
    /// Over an engine whose entries are written as `stored`.
    pub(crate) fn new(
        engine: Arc<dyn Storage>,
        converter: Arc<dyn Converter>,
        types: Arc<Types>,
        served: Kind,
        stored: Kind,
    ) -> Self {
        let recent = Mutex::default();
        Self(Arc::new(Inner { engine, converter, types, served, stored, recent }))
    }
}

impl Inner {
    /// The engine's entries as they are here.
    async fn read(&self, entries: Vec<Arc<Entry>>) -> Result<Vec<Arc<Entry>>> {
        let mut read = Vec::with_capacity(entries.len());
        for chunk in entries.chunks(REVIEW_OBJECTS_MAX) {
            let objects = chunk.iter().map(|entry| self.decode(entry)).collect::<Result<Vec<_>>>()?;
            let converted = self.convert(objects, &self.served).await?;
            read.extend(chunk.iter().zip(converted).map(|(entry, object)| {
                Arc::new(Entry {
                    key: Arc::clone(&entry.key),
                    value: stored_bytes(&object, &self.served).into(),
                    create_revision: entry.create_revision,
                    mod_revision: entry.mod_revision,
                    version: entry.version,
                    annex: Annex::default(),
                })
            }));
        }
        Ok(read)
    }

    async fn read_one(&self, entry: Arc<Entry>) -> Result<Arc<Entry>> {
        let mut read = self.read(vec![entry]).await?;
        read.pop().ok_or_else(|| Error::Refused("nothing came of a conversion".into()))
    }

    /// As [`Inner::read_one`], once for all who watch.
    async fn read_shared(&self, entry: Arc<Entry>) -> Result<Arc<Entry>> {
        let cell = self.recent.lock().cell(&entry);
        cell.get_or_try_init(|| self.read_one(entry)).await.cloned()
    }

    /// What is stored, as its own version has it: without what that does not know, with its defaults.
    fn decode(&self, entry: &Entry) -> Result<Value> {
        let corrupt = || Error::Corrupt(format!("the object at {} cannot be read", entry.key));
        let (mut object, _) = apiwright_json::decode(&entry.value).map_err(|_| corrupt())?;
        let version = object::api_version(&object).rsplit('/').next().unwrap_or_default().to_owned();
        if let Some(ty) = self.types.get(&version) {
            prune::prune(ty, &mut object);
            apply_defaults(ty, &mut object);
        }
        prune::sort(&mut object);
        Ok(object)
    }

    /// Objects as another version has them.
    async fn convert(&self, objects: Vec<Value>, to: &Kind) -> Result<Vec<Value>> {
        let desired = format!("{}/{}", &*to.group, &*to.version);
        let mut converted = self.converter.convert(objects, &desired).await.map_err(Error::Refused)?;
        for object in &mut converted {
            if let Some(ty) = self.types.get(&*to.version) {
                prune::prune(ty, object);
            }
            prune::sort(object);
        }
        Ok(converted)
    }

    async fn write(&self, value: Bytes) -> Result<Bytes> {
        let unreadable = || Error::Refused("an object that is to be stored cannot be read".into());
        let (object, _) = apiwright_json::decode(&value).map_err(|_| unreadable())?;
        let converted = self.convert(vec![object], &self.stored).await?;
        Ok(stored_bytes(converted.first().ok_or_else(unreadable)?, &self.stored).into())
    }

    async fn commit(&self, key: Key, expect: Expect, change: Change) -> Result<Outcome> {
        let change = match change {
            Change::Put { value, ttl_seconds } => {
                Change::Put { value: self.write(value).await?, ttl_seconds }
            }
            Change::Delete => Change::Delete,
        };
        let is_delete = matches!(change, Change::Delete);
        Ok(match self.engine.commit(key, expect, change).await? {
            // What is gone is gone, whatever the webhook says; nobody reads it any more.
            Outcome::Done { revision, entry } if is_delete => Outcome::Done { revision, entry },
            Outcome::Done { revision, entry } => {
                Outcome::Done { revision, entry: self.read_one(entry).await? }
            }
            Outcome::Mismatch { revision, current: Some(entry) } => {
                Outcome::Mismatch { revision, current: Some(self.read_one(entry).await?) }
            }
            Outcome::Mismatch { revision, current: None } => Outcome::Mismatch { revision, current: None },
        })
    }

    async fn event(&self, event: Event) -> Result<Event> {
        Ok(match event {
            Event::Put { entry, previous } => {
                let previous = match previous {
                    Some(previous) => Some(self.read_shared(previous).await?),
                    None => None,
                };
                Event::Put { entry: self.read_shared(entry).await?, previous }
            }
            Event::Delete { previous, revision } => {
                Event::Delete { previous: self.read_shared(previous).await?, revision }
            }
            Event::Progress(revision) => Event::Progress(revision),
        })
    }
}

impl Recent {
    fn cell(&mut self, entry: &Entry) -> Arc<OnceCell<Arc<Entry>>> {
        let id = (Arc::clone(&entry.key), entry.mod_revision);
        if let Some(cell) = self.entries.get(&id) {
            return Arc::clone(cell);
        }
        if self.order.len() >= RECENT_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
        self.order.push_back(id.clone());
        Arc::clone(self.entries.entry(id).or_default())
    }
}

impl Storage for Translation {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.0.engine.revision()
    }

    fn get<'a>(&'a self, key: &'a str, at: At) -> BoxFuture<'a, Result<(Revision, Option<Arc<Entry>>)>> {
        Box::pin(async move {
            Ok(match self.0.engine.get(key, at).await? {
                (revision, Some(entry)) => (revision, Some(self.0.read_one(entry).await?)),
                (revision, None) => (revision, None),
            })
        })
    }

    fn range<'a>(&'a self, range: Range<'a>) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move {
            let page = self.0.engine.range(range).await?;
            Ok(Page { entries: self.0.read(page.entries).await?, ..page })
        })
    }

    fn commit(&self, key: Key, expect: Expect, change: Change) -> BoxFuture<'_, Result<Outcome>> {
        Box::pin(self.0.commit(key, expect, change))
    }

    fn watch<'a>(&'a self, prefix: &'a str, after: Revision) -> BoxFuture<'a, Result<Watch>> {
        Box::pin(async move {
            let inner = Arc::clone(&self.0);
            let translated = self.0.engine.watch(prefix, after).await?.then(move |event| {
                let inner = Arc::clone(&inner);
                async move { inner.event(event?).await }
            });
            Ok(translated.boxed())
        })
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'_, Result<()>> {
        self.0.engine.compact(revision)
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        self.0.engine.health()
    }

    fn is_stale(&self, entry: &Entry) -> bool {
        self.0.engine.is_stale(entry)
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.0.engine.close()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use apiwright_storage_embedded::{Embedded, Options};

    use super::*;

    /// Between v1, which has a `host`, and v2, which has a `hostname`.
    #[derive(Default)]
    struct Hosts {
        calls: AtomicUsize,
        broken: std::sync::atomic::AtomicBool,
    }

    impl Converter for Hosts {
        fn convert<'a>(
            &'a self,
            objects: Vec<Value>,
            desired: &'a str,
        ) -> BoxFuture<'a, std::result::Result<Vec<Value>, String>> {
            if objects.iter().any(|object| object::api_version(object) != desired) {
                self.calls.fetch_add(1, Ordering::SeqCst);
                if self.broken.load(Ordering::SeqCst) {
                    return Box::pin(async { Err("no".to_owned()) });
                }
            }
            let (from, to) =
                if desired == "g/v2" { ("\"host\"", "\"hostname\"") } else { ("\"hostname\"", "\"host\"") };
            let convert = |object: &Value| {
                let text = apiwright_json::to_string(object).replace(from, to);
                json(&text.replace(object::api_version(object), desired))
            };
            let converted = objects.iter().map(convert).collect();
            Box::pin(async move { Ok(converted) })
        }
    }

    fn json(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    fn kind(version: &str) -> Kind {
        let text = |text: &str| Ref::Shared(Arc::from(text));
        Kind { group: text("g"), version: text(version), kind: text("Route") }
    }

    fn route(version: &str, name: &str) -> Bytes {
        let field = if version == "v1" { "host" } else { "hostname" };
        let json = format!(
            r#"{{"kind":"Route","apiVersion":"g/{version}","metadata":{{"name":"{name}"}},"spec":{{"{field}":"h"}}}}"#
        );
        json.into_bytes().into()
    }

    /// An engine that is written in v1, and v2 over it.
    fn versions() -> (Arc<dyn Storage>, Translation, Arc<Hosts>) {
        let engine: Arc<dyn Storage> = Arc::new(Embedded::memory(Options::default()));
        let hosts = Arc::new(Hosts::default());
        let types = Arc::new(Types::new());
        let (shared, converter) = (Arc::clone(&engine), Arc::clone(&hosts));
        (engine, Translation::new(shared, converter, types, kind("v2"), kind("v1")), hosts)
    }

    async fn put(storage: &dyn Storage, name: &str, value: Bytes) -> Arc<Entry> {
        let change = Change::Put { value, ttl_seconds: None };
        match storage.commit(format!("/r/{name}").into(), Expect::Absent, change).await.unwrap() {
            Outcome::Done { entry, .. } => entry,
            other @ Outcome::Mismatch { .. } => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn entries_are_of_the_version_that_is_served() {
        let (engine, served, hosts) = versions();
        for name in ["a", "b"] {
            put(engine.as_ref(), name, route("v1", name)).await;
        }
        let (_, entry) = served.get("/r/a", At::Latest).await.unwrap();
        assert_eq!(entry.unwrap().value, route("v2", "a"));
        let written = put(&served, "c", route("v2", "c")).await;
        assert_eq!(written.value, route("v2", "c"));
        let (_, stored) = engine.get("/r/c", At::Latest).await.unwrap();
        assert_eq!(stored.unwrap().value, route("v1", "c"));
        hosts.calls.store(0, Ordering::SeqCst);
        let all = Range { prefix: "/r/", after: None, limit: 0, at: At::Latest };
        let page = served.range(all).await.unwrap();
        assert_eq!(page.entries[1].value, route("v2", "b"));
        assert_eq!((page.entries.len(), hosts.calls.load(Ordering::SeqCst)), (3, 1), "a page is one call");
    }

    #[tokio::test]
    async fn a_change_is_converted_once_for_all_who_watch() {
        let (engine, served, hosts) = versions();
        let mut watches = Vec::new();
        for _ in 0..3 {
            watches.push(served.watch("/r/", 0).await.unwrap());
        }
        put(engine.as_ref(), "a", route("v1", "a")).await;
        for watch in &mut watches {
            loop {
                match watch.next().await.unwrap().unwrap() {
                    Event::Put { entry, .. } => break assert_eq!(entry.value, route("v2", "a")),
                    Event::Progress(_) => {}
                    other @ Event::Delete { .. } => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(hosts.calls.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_converter_that_fails_fails_what_needs_it() {
        let (engine, served, hosts) = versions();
        put(engine.as_ref(), "a", route("v1", "a")).await;
        hosts.broken.store(true, Ordering::SeqCst);
        let refused = || Error::Refused("no".into());
        assert_eq!(served.get("/r/a", At::Latest).await.unwrap_err(), refused());
        let change = Change::Put { value: route("v2", "b"), ttl_seconds: None };
        assert_eq!(served.commit("/r/b".into(), Expect::Absent, change).await.unwrap_err(), refused());
        assert!(served.get("/r/none", At::Latest).await.unwrap().1.is_none(), "nothing needs no conversion");
        let (_, entry) = engine.get("/r/a", At::Latest).await.unwrap();
        let expect = Expect::Revision(entry.unwrap().mod_revision);
        let deleted = served.commit("/r/a".into(), expect, Change::Delete).await.unwrap();
        assert!(matches!(deleted, Outcome::Done { .. }), "what goes needs none");
    }
}
