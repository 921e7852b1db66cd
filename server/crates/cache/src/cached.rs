//! An engine with all its entries in memory.
//!
//! Position: between the registry and an engine that is far away. Reads of the newest revision ask
//! the engine only how far it has come, then wait until the memory has come as far; reads of the past
//! and watches are served from the window. Where the memory does not get there in time or does not
//! reach back far enough, the engine is read. Writes go to the engine, and are answered once the memory
//! has them, so that a writer finds its own writes in whatever it reads here.
//! Invariant: nothing is served that the engine has not told, and a read sees every write that was
//! acknowledged before it, whoever wrote.

use std::sync::Arc;
use std::time::Duration;

use apiwright_storage::{
    At, Change, Entry, Error, Expect, Key, Only, Outcome, Page, Range, Result, Revision, Select, Storage,
    Watch,
};
use futures::future::BoxFuture;
use tokio::sync::watch as flag;
use tokio::task::JoinHandle;

use crate::Limits;
use crate::follow::Follower;
use crate::memory::Memory;
use crate::newest::Newest;
use crate::snapshot::Snapshot;

/// How long a writer waits for the memory to show what it wrote.
const OWN_PATIENCE: Duration = Duration::from_millis(250);

/// What an operator may tune of a cache.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the keys begin with that are kept; others are always read from the engine.
    pub root: String,
    /// How much memory the past may take.
    pub limits: Limits,
    /// How many revisions of the past are read at the start, so that watches that began at another
    /// server, or before a restart, can go on.
    pub history_revisions: u64,
    /// How long a read waits for the memory to come as far as the engine.
    pub patience: Duration,
    /// How often watches are told how far they have come, if anything was written since.
    pub progress_interval: Duration,
    /// The longest wait before an engine that failed is asked again.
    pub backoff_max: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            root: "/registry/".into(),
            limits: Limits::default(),
            history_revisions: 10_000,
            patience: Duration::from_secs(3),
            progress_interval: Duration::from_secs(5),
            backoff_max: Duration::from_secs(5),
        }
    }
}

/// The cache.
pub struct Cached {
    engine: Arc<dyn Storage>,
    memory: Arc<Memory>,
    newest: Newest,
    progress: Arc<flag::Sender<Progress>>,
    root: String,
    patience: Duration,
    follower: JoinHandle<()>,
}

/// How far the memory has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) revision: Revision,
    /// Whether somebody waited in vain since the last change: others need not.
    pub(crate) is_stalled: bool,
}

impl Cached {
    /// Reads everything, and keeps following the engine.
    ///
    /// # Errors
    /// When the engine cannot be read.
    pub async fn open(engine: Arc<dyn Storage>, options: Options) -> Result<Self> {
        let memory = Arc::new(Memory::new(load(&*engine, &options).await?, &options.limits));
        let revision = memory.newest().revision;
        let progress = Arc::new(flag::Sender::new(Progress { revision, is_stalled: false }));
        let Options { root, patience, .. } = options.clone();
        let follower = Follower::new(engine.clone(), memory.clone(), progress.clone(), options);
        let cached = Self {
            newest: Newest::new(engine.clone()),
            engine,
            memory,
            progress,
            root,
            patience,
            follower: tokio::spawn(follower.run()),
        };
        // The past that was read first is not the present yet.
        let newest = cached.newest.ask().await?;
        cached.follows_to(newest).await;
        Ok(cached)
    }

    fn covers(&self, key: &str) -> bool {
        key.starts_with(&self.root)
    }

    /// Waits until the memory has come as far as a revision; gives whether it has.
    async fn reaches(&self, revision: Revision, patience: Duration) -> bool {
        if self.memory.newest().revision >= revision {
            return true;
        }
        let mut progress = self.progress.subscribe();
        let there = progress.wait_for(|progress| progress.revision >= revision || progress.is_stalled);
        let result = tokio::time::timeout(patience, there).await;
        result.is_ok_and(|progress| progress.is_ok_and(|progress| progress.revision >= revision))
    }

    /// As [`Cached::reaches`], for a revision that the engine has: where the memory does not get
    /// there in time, others need not wait until it moves again.
    async fn follows_to(&self, revision: Revision) -> bool {
        let there = self.reaches(revision, self.patience).await;
        if !there {
            self.progress.send_if_modified(|progress| {
                let changes = progress.revision < revision && !progress.is_stalled;
                progress.is_stalled |= changes;
                changes
            });
        }
        there
    }

    /// Reads from memory; `None` where the engine has to be asked.
    async fn read<T>(&self, at: At, read: impl FnOnce(&Snapshot) -> T) -> Result<Option<T>> {
        self.ask(at, |memory| memory.read(at, read)).await
    }

    /// Has the memory answer about a moment; `None` where the engine has to be asked.
    async fn ask<T>(&self, at: At, read: impl FnOnce(&Memory) -> Result<T>) -> Result<Option<T>> {
        self.memory.check()?;
        let there = match at {
            At::Latest => self.follows_to(self.newest.ask().await?).await,
            At::NotOlderThan(revision) => self.reaches(revision, self.patience).await,
            At::Revision(requested) if requested > self.memory.newest().revision => {
                let newest = self.newest.ask().await?;
                if requested > newest {
                    return Err(Error::Future { requested, newest });
                }
                self.follows_to(requested).await
            }
            At::Revision(_) => true,
        };
        if !there {
            return Ok(None);
        }
        match read(&self.memory) {
            // Whatever the window does not hold, the engine may.
            Err(Error::Compacted { .. }) => Ok(None),
            read => read.map(Some),
        }
    }
}

impl Storage for Cached {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        Box::pin(async {
            self.memory.check()?;
            self.newest.ask().await
        })
    }

    fn get<'a>(&'a self, key: &'a str, at: At) -> BoxFuture<'a, Result<(Revision, Option<Arc<Entry>>)>> {
        Box::pin(async move {
            let read = |snapshot: &Snapshot| (snapshot.revision, snapshot.map.get(key).cloned());
            match if self.covers(key) { self.read(at, read).await? } else { None } {
                Some(found) => Ok(found),
                None => self.engine.get(key, at).await,
            }
        })
    }

    fn range<'a>(&'a self, range: Range<'a>) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move {
            let Range { prefix, after, limit, at } = range;
            let read = |snapshot: &Snapshot| snapshot.page(prefix, after, limit);
            match if self.covers(prefix) { self.read(at, read).await? } else { None } {
                Some(page) => Ok(page),
                None => self.engine.range(range).await,
            }
        })
    }

    fn select<'a>(&'a self, range: Range<'a>, wanted: &'a dyn Select) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move {
            let read = |memory: &Memory| memory.select(range, wanted);
            match if self.covers(range.prefix) { self.ask(range.at, read).await? } else { None } {
                Some(page) => Ok(page),
                None => self.engine.select(range, wanted).await,
            }
        })
    }

    fn commit(&self, key: Key, expect: Expect, change: Change) -> BoxFuture<'_, Result<Outcome>> {
        Box::pin(async move {
            let name = self.covers(&key).then(|| key.clone());
            let mut outcome = self.engine.commit(key, expect, change).await;
            if let (Some(name), Ok(Outcome::Done { revision, entry })) = (name, &mut outcome)
                // It is on its way here already.
                && self.reaches(*revision, OWN_PATIENCE).await
                && let Some(kept) = self.memory.newest().map.get(&*name)
                && kept.mod_revision == entry.mod_revision
            {
                *entry = kept.clone();
            }
            outcome
        })
    }

    fn watch<'a>(&'a self, prefix: &'a str, after: Revision) -> BoxFuture<'a, Result<Watch>> {
        self.watch_only(prefix, after, None)
    }

    fn watch_only<'a>(
        &'a self,
        prefix: &'a str,
        after: Revision,
        only: Option<&'a Only>,
    ) -> BoxFuture<'a, Result<Watch>> {
        if self.covers(prefix) {
            Box::pin(async move { self.memory.watch(prefix, after, only) })
        } else {
            self.engine.watch_only(prefix, after, only)
        }
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.engine.compact(revision).await?;
            self.follows_to(revision).await;
            // The window may have forgotten more, or not know the revision yet: both are no matter.
            let _ = self.memory.compact(revision);
            Ok(())
        })
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        self.engine.health()
    }

    fn is_stale(&self, entry: &Entry) -> bool {
        self.engine.is_stale(entry)
    }

    fn keeps_order(&self) -> bool {
        self.engine.keeps_order()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            self.follower.abort();
            self.memory.end(Error::Unavailable("the storage is closed".into()));
            self.engine.close().await
        })
    }
}

impl Drop for Cached {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

impl std::fmt::Debug for Cached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cached").field("root", &self.root).finish_non_exhaustive()
    }
}

/// The state to begin with: some time ago, where the engine still knows it.
async fn load(engine: &dyn Storage, options: &Options) -> Result<Snapshot> {
    let range = |at| Range { prefix: &options.root, after: None, limit: 0, at };
    let newest = engine.revision().await?;
    let start = newest.saturating_sub(options.history_revisions).max(crate::FIRST_REVISION);
    let page = match engine.range(range(At::Revision(start))).await {
        Err(Error::Compacted { .. }) => engine.range(range(At::Latest)).await?,
        page => page?,
    };
    let map = page.entries.into_iter().map(|entry| (entry.key.clone(), entry)).collect();
    Ok(Snapshot { revision: page.revision, map })
}
