//! A storage whose values are sealed in the engine behind it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apiwright_storage::{
    Annex, At, Batch, Change, Entry, Error, Event, Expect, Feed, Key, Outcome, Page, Range, Result, Revision,
    Step, Storage, Watch,
};
use arc_swap::ArcSwap;
use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use parking_lot::RwLock;

use crate::provider::{Providers, SEALED};
use crate::resources::{ResourceOf, Transformers};
use crate::transform::{Fault, Transform};

/// What keys begin with here.
const ROOT: &str = "/registry/";

/// An engine, and what its values are sealed with.
pub struct Encrypted(Arc<Inner>);

struct Inner {
    engine: Arc<dyn Storage>,
    transformers: ArcSwap<Transformers>,
    resource_of: ResourceOf,
    /// What keys begin with where the values lie, which sealed values are bound to.
    root: String,
    /// The keys whose values would be sealed differently today.
    stale: RwLock<HashSet<Key>>,
    /// Up to this revision, all may have been: other transformers were in force.
    stale_until: AtomicU64,
}

impl Encrypted {
    /// In front of an engine. `root` is what its keys begin with in place of `/registry/`.
    pub fn new(
        engine: Arc<dyn Storage>,
        transformers: Transformers,
        resource_of: ResourceOf,
        root: impl Into<String>,
    ) -> Self {
        Self(Arc::new(Inner {
            engine,
            transformers: ArcSwap::from_pointee(transformers),
            resource_of,
            root: root.into(),
            stale: RwLock::default(),
            stale_until: AtomicU64::new(0),
        }))
    }

    /// Seals with others from now on. What is stored already is opened with these, too, so the configuration has to
    /// keep the old keys until all has been written again.
    ///
    /// # Errors
    /// When the engine cannot tell how far it has come; everything stays as it was.
    pub async fn replace(&self, transformers: Transformers) -> Result<()> {
        let revision = self.0.engine.revision().await?;
        self.0.transformers.store(Arc::new(transformers));
        self.0.stale_until.store(revision, Ordering::Release);
        Ok(())
    }

    /// Those in force.
    pub fn transformers(&self) -> Arc<Transformers> {
        self.0.transformers.load_full()
    }
}

impl Inner {
    /// Does something with the providers of a key, where it has any that change values.
    fn with<T>(
        &self,
        transformers: &Transformers,
        key: &str,
        then: impl FnOnce(&Providers) -> T,
    ) -> Option<T> {
        let resource = (self.resource_of)(key)?;
        transformers.of(&resource).map(then)
    }

    fn place(&self, key: &str) -> String {
        match key.strip_prefix(ROOT) {
            Some(rest) => format!("{}{rest}", self.root),
            None => key.to_owned(),
        }
    }

    fn seal(&self, key: &str, value: Bytes) -> Result<Bytes> {
        let transformers = self.transformers.load();
        let sealed = self.with(&transformers, key, |providers| {
            if providers.seals_plainly() {
                Ok(None)
            } else {
                providers.seal(&value, &self.place(key)).map(Some)
            }
        });
        match sealed {
            None | Some(Ok(None)) => Ok(value),
            Some(Ok(Some(sealed))) => Ok(sealed.into()),
            Some(Err(fault)) => Err(refusal(key, &fault)),
        }
    }

    /// The entry with its value opened. One that cannot be opened, and never will be, stays as it is, so that
    /// everything else can be read; whoever reads it is told.
    async fn open(&self, entry: Arc<Entry>) -> Result<Arc<Entry>> {
        let is_sealed = entry.value.starts_with(SEALED);
        let transformers = self.transformers.load_full();
        let providers = (self.resource_of)(&entry.key).and_then(|resource| transformers.of(&resource));
        if !is_sealed {
            // Plain, and to be sealed when it is written next, unless nothing is.
            let is_stale = providers.is_some_and(|providers| !providers.seals_plainly());
            self.note(&entry.key, is_stale);
            return Ok(entry);
        }
        let opened = match providers {
            Some(providers) => providers.open(&entry.value, &self.place(&entry.key)).await,
            None => Err(Fault::lasting("identity transformer tried to read encrypted data")),
        };
        match opened {
            Ok(opened) => {
                self.note(&entry.key, opened.is_stale);
                Ok(with_value(&entry, opened.value.into()))
            }
            Err(fault) if fault.is_passing => Err(Error::Unavailable(words(&entry.key, &fault))),
            Err(fault) => {
                tracing::error!("{}", words(&entry.key, &fault));
                Ok(entry)
            }
        }
    }

    fn note(&self, key: &Key, is_stale: bool) {
        if is_stale {
            self.stale.write().insert(Arc::clone(key));
        } else if !self.stale.read().is_empty() {
            self.stale.write().remove(key);
        }
    }

    async fn open_all(&self, mut entries: Vec<Arc<Entry>>) -> Result<Vec<Arc<Entry>>> {
        for entry in &mut entries {
            *entry = self.open(Arc::clone(entry)).await?;
        }
        Ok(entries)
    }

    async fn event(&self, event: Event) -> Result<Event> {
        Ok(match event {
            Event::Put { entry, previous } => {
                let previous = match previous {
                    Some(previous) => Some(self.open(previous).await?),
                    None => None,
                };
                Event::Put { entry: self.open(entry).await?, previous }
            }
            Event::Delete { previous, revision } => {
                let previous = self.open(previous).await?;
                self.note(&previous.key, false);
                Event::Delete { previous, revision }
            }
            Event::Progress(revision) => Event::Progress(revision),
        })
    }

    async fn batch(&self, mut batch: Batch) -> Result<Batch> {
        for step in &mut batch.changes {
            match step {
                Step::Put(entry) => *entry = self.open(Arc::clone(entry)).await?,
                Step::Delete(key, _) => self.note(key, false),
            }
        }
        Ok(batch)
    }

    async fn commit(&self, key: Key, expect: Expect, change: Change) -> Result<Outcome> {
        let (change, plain) = match change {
            Change::Put { value, ttl_seconds } => {
                let sealed = self.seal(&key, value.clone())?;
                (Change::Put { value: sealed, ttl_seconds }, Some(value))
            }
            Change::Delete => (Change::Delete, None),
        };
        Ok(match self.engine.commit(key, expect, change).await? {
            Outcome::Done { revision, entry } => {
                let entry = match plain {
                    Some(value) if value == entry.value => entry,
                    Some(value) => with_value(&entry, value),
                    None => self.open(entry).await?,
                };
                self.note(&entry.key, false);
                Outcome::Done { revision, entry }
            }
            Outcome::Mismatch { revision, current } => {
                let current = match current {
                    Some(current) => Some(self.open(current).await?),
                    None => None,
                };
                Outcome::Mismatch { revision, current }
            }
        })
    }
}

/// The same entry with another value.
fn with_value(entry: &Entry, value: Bytes) -> Arc<Entry> {
    Arc::new(Entry {
        key: Arc::clone(&entry.key),
        value,
        create_revision: entry.create_revision,
        mod_revision: entry.mod_revision,
        version: entry.version,
        annex: Annex::default(),
    })
}

fn words(key: &str, fault: &Fault) -> String {
    format!("unable to transform key {key:?}: {fault}")
}

/// A write that cannot be sealed does not happen.
fn refusal(key: &str, fault: &Fault) -> Error {
    tracing::error!("{}", words(key, fault));
    Error::Internal(fault.text.clone())
}

impl Storage for Encrypted {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.0.engine.revision()
    }

    fn get<'a>(&'a self, key: &'a str, at: At) -> BoxFuture<'a, Result<(Revision, Option<Arc<Entry>>)>> {
        Box::pin(async move {
            Ok(match self.0.engine.get(key, at).await? {
                (revision, Some(entry)) => (revision, Some(self.0.open(entry).await?)),
                (revision, None) => (revision, None),
            })
        })
    }

    fn range<'a>(&'a self, range: Range<'a>) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move {
            let page = self.0.engine.range(range).await?;
            Ok(Page { entries: self.0.open_all(page.entries).await?, ..page })
        })
    }

    fn commit(&self, key: Key, expect: Expect, change: Change) -> BoxFuture<'_, Result<Outcome>> {
        Box::pin(self.0.commit(key, expect, change))
    }

    fn watch<'a>(&'a self, prefix: &'a str, after: Revision) -> BoxFuture<'a, Result<Watch>> {
        Box::pin(async move {
            let inner = Arc::clone(&self.0);
            let opened = self.0.engine.watch(prefix, after).await?.then(move |event| {
                let inner = Arc::clone(&inner);
                async move { inner.event(event?).await }
            });
            Ok(opened.boxed())
        })
    }

    fn feed<'a>(&'a self, prefix: &'a str, after: Revision) -> BoxFuture<'a, Result<Feed>> {
        Box::pin(async move {
            let inner = Arc::clone(&self.0);
            let opened = self.0.engine.feed(prefix, after).await?.then(move |batch| {
                let inner = Arc::clone(&inner);
                async move { inner.batch(batch?).await }
            });
            Ok(opened.boxed())
        })
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'_, Result<()>> {
        self.0.engine.compact(revision)
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        self.0.engine.health()
    }

    fn is_stale(&self, entry: &Entry) -> bool {
        if entry.mod_revision <= self.0.stale_until.load(Ordering::Acquire) {
            return (self.0.resource_of)(&entry.key).is_some();
        }
        let stale = self.0.stale.read();
        !stale.is_empty() && stale.contains(&entry.key)
    }

    fn keeps_order(&self) -> bool {
        self.0.engine.keeps_order()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.0.engine.close()
    }
}
