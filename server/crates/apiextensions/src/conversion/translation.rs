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

use super::ConversionWebhook;

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
    webhook: Arc<ConversionWebhook>,
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
        webhook: Arc<ConversionWebhook>,
        types: Arc<Types>,
        served: Kind,
        stored: Kind,
    ) -> Self {
        let recent = Mutex::default();
        Self(Arc::new(Inner { engine, webhook, types, served, stored, recent }))
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
        let mut converted = self.webhook.convert(objects, &desired).await.map_err(Error::Refused)?;
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

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.0.engine.close()
    }
}
