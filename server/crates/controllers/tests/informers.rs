//! Informers over a storage that fails: reads and watches break, pages end half-way, the past is forgotten. Nobody
//! misses a change for it, or hears of one twice.
#![allow(missing_docs)]

#[path = "../../registry/tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apiwright_chain::drain;
use apiwright_controllers::{Change as Told, Informers, Resources};
use apiwright_registry::Store;
use apiwright_storage::{
    At, Change, Entry, Error, Event, Expect, Key, Outcome, Page, Range, Result, Revision, Storage, Watch,
};
use apiwright_storage_embedded::{Embedded, Options};
use apiwright_storage_testing::random::{Random, seeds};
use futures::StreamExt;
use futures::future::BoxFuture;

/// How many objects there may be, so that each changes often.
const NAMES: u64 = 7;
const WRITES: u64 = 150;
/// So few are read at a time.
const PAGE: usize = 2;

/// An engine whose answers break.
struct Faulty {
    engine: Arc<dyn Storage>,
    random: Mutex<Random>,
    /// How often everything was read from the beginning.
    lists: AtomicU64,
}

impl Faulty {
    fn one_in(&self, n: u64) -> bool {
        lock(&self.random).one_in(n)
    }
}

fn broken<T>() -> Result<T> {
    Err(Error::Unavailable("pulled".into()))
}

impl Storage for Faulty {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.engine.revision()
    }

    fn get<'a>(&'a self, key: &'a str, at: At) -> BoxFuture<'a, Result<(Revision, Option<Arc<Entry>>)>> {
        self.engine.get(key, at)
    }

    fn range<'a>(&'a self, range: Range<'a>) -> BoxFuture<'a, Result<Page>> {
        if self.one_in(8) {
            return Box::pin(async { broken() });
        }
        if range.after.is_none() {
            self.lists.fetch_add(1, Ordering::Relaxed);
        }
        self.engine.range(Range { limit: PAGE, ..range })
    }

    fn commit(&self, key: Key, expect: Expect, change: Change) -> BoxFuture<'_, Result<Outcome>> {
        self.engine.commit(key, expect, change)
    }

    /// Breaks at once, or after some changes; or just ends then.
    fn watch<'a>(&'a self, prefix: &'a str, after: Revision) -> BoxFuture<'a, Result<Watch>> {
        if self.one_in(4) {
            return Box::pin(async { broken() });
        }
        let length = lock(&self.random).below(12) as usize;
        let ends = self.one_in(2);
        Box::pin(async move {
            let watch = self.engine.watch(prefix, after).await?;
            let end = futures::stream::iter((!ends).then(broken::<Event>));
            Ok(watch.take(length).chain(end).boxed())
        })
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'_, Result<()>> {
        self.engine.compact(revision)
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        self.engine.health()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.engine.close()
    }
}

/// Every resource that is stored: one.
struct One(Arc<Store>);

impl Resources for One {
    fn at(&self, prefix: &str) -> Option<Arc<Store>> {
        (prefix == "configmaps").then(|| Arc::clone(&self.0))
    }

    fn all(&self) -> Vec<Arc<Store>> {
        vec![Arc::clone(&self.0)]
    }

    fn of_kind(&self, _: &str, _: &str, _: &str) -> Option<Arc<Store>> {
        None
    }
}

/// What a handler heard.
#[derive(Default)]
struct Heard {
    /// Of each key that is there, its revision.
    there: BTreeMap<String, Revision>,
    /// All changes: the key, and the revision it has then; 0 where it is gone.
    all: Vec<(String, Revision)>,
}

impl Heard {
    fn hear(&mut self, told: &Told<'_>) {
        let key = told.entry().expect("an entry").key.to_string();
        let known = self.there.get(&key).copied();
        assert_eq!(told.old.is_some(), known.is_some(), "{key}: what was is what was told");
        let revision = told.new.map_or(0, |entry| entry.mod_revision);
        match told.new {
            Some(entry) => {
                assert!(known.is_none_or(|known| known < entry.mod_revision), "{key}: {known:?} comes again");
                self.there.insert(key.clone(), entry.mod_revision);
            }
            None => drop(self.there.remove(&key).expect("what goes was there")),
        }
        self.all.push((key, revision));
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes, deletes, and now and then forgets the past; gives all that happened.
async fn write(engine: &Arc<dyn Storage>, random: &mut Random, forgets: bool) -> Vec<(String, Revision)> {
    let mut written = Vec::new();
    for _ in 0..WRITES {
        let key: Key = format!("/registry/configmaps/default/{}", random.below(NAMES)).into();
        let (_, current) = engine.get(&key, At::Latest).await.expect("it answers");
        let expect = current.as_ref().map_or(Expect::Absent, |entry| Expect::Revision(entry.mod_revision));
        let change = match current.is_some() && random.one_in(3) {
            true => Change::Delete,
            false => Change::Put { value: "{}".into(), ttl_seconds: None },
        };
        let gone = matches!(change, Change::Delete);
        match engine.commit(Arc::clone(&key), expect, change).await.expect("it is written") {
            Outcome::Done { revision, .. } => {
                written.push((key.to_string(), if gone { 0 } else { revision }));
            }
            Outcome::Mismatch { .. } => panic!("nobody else writes"),
        }
        if forgets && random.one_in(20) {
            engine.compact(engine.revision().await.expect("a revision")).await.expect("it is forgotten");
        }
        if random.one_in(5) {
            tokio::time::sleep(Duration::from_millis(random.below(500))).await;
        }
    }
    written
}

async fn run(seed: u64) {
    let mut random = Random::new(seed);
    let engine: Arc<dyn Storage> = Arc::new(Embedded::memory(Options::default()));
    let faulty = Arc::new(Faulty {
        engine: Arc::clone(&engine),
        random: Mutex::new(Random::new(random.draw())),
        lists: AtomicU64::new(0),
    });
    let storage = Arc::clone(&faulty) as Arc<dyn Storage>;
    let store = Arc::new(support::config_maps(&storage));
    let mut informers = Informers::new(storage, Arc::new(One(Arc::clone(&store))));
    let heard: [Arc<Mutex<Heard>>; 2] = [Arc::default(), Arc::default()];
    let [routed, all] = heard.clone();
    // Half of the runs have a cache, half have only those who hear of everything.
    let cache = random.one_in(2).then(|| informers.cache(&store));
    if cache.is_some() {
        informers.listen(&store, Arc::new(move |told: &Told<'_>| lock(&routed).hear(told)));
    }
    informers.listen_to_all(Arc::new(move |told: &Told<'_>| lock(&all).hear(told)));
    let mut synced = informers.synced();
    let (drainer, drain) = drain();
    let running = tokio::spawn(informers.run(drain));
    synced.wait_for(|synced| *synced).await.expect("they run");
    let (lists, forgets) = (faulty.lists.load(Ordering::Relaxed), random.one_in(2));
    let written = write(&engine, &mut random, forgets).await;

    let page = engine.range(Range { prefix: "/registry/", after: None, limit: 0, at: At::Latest }).await;
    let there: BTreeMap<String, Revision> = page
        .expect("it answers")
        .entries
        .iter()
        .map(|entry| (entry.key.to_string(), entry.mod_revision))
        .collect();
    let looking: &[_] = if cache.is_some() { &heard } else { &heard[1..] };
    for heard in looking {
        for _ in 0..10_000 {
            if lock(heard).there == there {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let heard = lock(heard);
        assert_eq!(heard.there, there, "in the end everybody knows");
        if faulty.lists.load(Ordering::Relaxed) == lists {
            assert_eq!(heard.all, written, "watches alone show everything");
        }
        // Whatever was hidden by gaps, what was heard happened, in this order.
        for key in there.keys() {
            let of = |all: &[(String, Revision)]| -> Vec<Revision> {
                all.iter().filter(|(one, revision)| one == key && *revision > 0).map(|(_, at)| *at).collect()
            };
            let happened = of(&written);
            assert!(of(&heard.all).iter().all(|one| happened.contains(one)), "{key}");
        }
    }
    if let Some(cache) = cache {
        assert_eq!(cache.len(), there.len());
    }
    drainer.begin();
    running.await.expect("they end well");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_missed_or_heard_twice() {
    for seed in seeds("APIWRIGHT_SEED", 60) {
        println!("APIWRIGHT_SEED={seed}");
        run(seed).await;
    }
}
