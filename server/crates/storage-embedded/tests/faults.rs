//! The embedded engine on a disk that crashes, tears and fails: it stays linearizable, its watches stay
//! gapless over all its lives, and it opens again whatever happened.
//!
//! A failure prints its seed; `APIWRIGHT_FAULT_SEED=<seed>` runs it again, `APIWRIGHT_FAULT_SEEDS=10000` tries that many.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use apiwright_storage::{At, Change, Error, Expect, Key, Outcome, Range, Revision, Storage, Watch};
use apiwright_storage_embedded::disk::{Disk, StorageBackend};
use apiwright_storage_embedded::{Embedded, OpenError, Options};
use apiwright_storage_testing::disk::{Fault, SimDisk, SimFile};
use apiwright_storage_testing::history::{History, Watcher};
use apiwright_storage_testing::random::{Random, seeds};
use bytes::Bytes;
use futures::{FutureExt, StreamExt};

const SEEDS: u64 = 30;
const ROUNDS: u64 = 8;
const KEYS: usize = 8;

#[derive(Debug)]
struct Simulated(SimDisk);

impl Disk for Simulated {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(SimulatedFile(self.0.open(name)?)))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.0.names()
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        self.0.exists(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
}

#[derive(Debug)]
struct SimulatedFile(SimFile);

impl StorageBackend for SimulatedFile {
    fn len(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.resize(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

/// Clients of the store, and all that they did and saw.
#[derive(Debug)]
struct Clients {
    history: History,
    /// What each key was last seen at; 0 for absent. May be out of date.
    seen: Vec<Revision>,
    written: u64,
    /// How far the one that watches everything has come, over all lives of the store.
    watcher: Watcher,
}

/// A write, as it is asked for.
struct Wanted {
    key: Key,
    expect: Expect,
    value: Option<Bytes>,
}

impl Clients {
    fn new() -> Self {
        let history = History::default();
        let watcher = history.watch(1);
        Self { history, seen: vec![0; KEYS], written: 0, watcher }
    }
}

fn options(seed: u64) -> Options {
    Options {
        // A retry by the clock would not repeat itself, nor would a checkpoint that nobody waits for.
        retry_interval: Duration::ZERO,
        log_bytes_max: 0,
        // From one with every write to none at all.
        checkpoint_bytes: [0, 3_000, 60_000, 32 << 20][(seed % 4) as usize],
        watch_queue_events_max: 4,
        ..Options::default()
    }
}

fn key(index: usize) -> Key {
    format!("/registry/things/{index}").into()
}

fn open(disk: &SimDisk, seed: u64) -> Result<Embedded, OpenError> {
    Embedded::open_disk(Arc::new(Simulated(disk.clone())), options(seed))
}

#[test]
fn a_store_with_faults_is_linearizable_and_its_watches_are_gapless() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for seed in seeds("APIWRIGHT_FAULT_SEED", SEEDS) {
        println!("APIWRIGHT_FAULT_SEED={seed}");
        runtime.block_on(run(seed));
    }
}

#[test]
fn a_seed_repeats_itself() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for seed in [7, 8, 9, 10] {
        let first = runtime.block_on(run(seed));
        assert_eq!(runtime.block_on(run(seed)), first, "seed {seed}");
    }
}

async fn run(seed: u64) -> (u64, u64) {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(random.draw());
    let mut clients = Clients::new();
    for _ in 0..ROUNDS {
        round(&disk, seed, &mut random, &mut clients).await;
    }
    assert!(clients.history.len() > 20, "hardly anything happened: {}", clients.history.len());
    disk.trace()
}

/// One life of the engine, ended by a crash or in peace.
async fn round(disk: &SimDisk, seed: u64, random: &mut Random, clients: &mut Clients) {
    // Sometimes the power goes while the store is being opened.
    if random.one_in(4) {
        disk.plan(random.below(12), Fault::Crash);
    }
    let engine = open(disk, seed).unwrap_or_else(|error| {
        assert!(disk.has_crashed() && matches!(error, OpenError::Io { .. }), "{error}");
        disk.reboot();
        open(disk, seed).expect("a crash hinders no opening")
    });
    read_all(&engine, clients).await;
    let mut watch = resume(&engine, clients).await;
    // This one is not read before the end, and so has to catch up from the window.
    let mut late = engine.watch("", clients.watcher.at()).await.unwrap();
    let mut late_watcher = clients.history.watch(clients.watcher.at());

    let fault = match random.below(6) {
        0 | 1 => Some(Fault::Crash),
        2 => Some(Fault::Full(1 + random.below(40))),
        3 => Some(Fault::Write),
        4 => Some(Fault::Sync),
        _ => None,
    };
    if let Some(fault) = fault {
        disk.plan(random.below(60), fault);
    }
    for _ in 0..4 + random.below(8) {
        step(disk, &engine, random, clients).await;
        if random.one_in(2) {
            take(&mut watch, &mut clients.history, &mut clients.watcher);
        }
        read_some(&engine, random, clients).await;
    }
    take(&mut watch, &mut clients.history, &mut clients.watcher);
    take(&mut late, &mut clients.history, &mut late_watcher);
    if !disk.has_crashed() {
        recovered(&engine).await;
        read_all(&engine, clients).await;
        if random.one_in(2) {
            // The fault may strike only now; nothing is lost by that.
            let _ = engine.close().await;
        }
    }
    disk.crash();
    drop((watch, late, engine));
    disk.reboot();
    clients.history.check();
}

/// The watch goes on where it was, or says that it cannot.
async fn resume(engine: &Embedded, clients: &mut Clients) -> Watch {
    let at = clients.watcher.at();
    match engine.watch("", at).await {
        Ok(watch) => watch,
        Err(Error::Compacted { requested, oldest }) => {
            assert!(requested == at && oldest > at, "{requested} {oldest}");
            let newest = engine.revision().await.unwrap();
            clients.history.gap(at, newest);
            clients.watcher = clients.history.watch(newest);
            engine.watch("", newest).await.unwrap()
        }
        Err(error) => panic!("{error}"),
    }
}

/// Takes what a watch has now.
fn take(watch: &mut Watch, history: &mut History, watcher: &mut Watcher) {
    while let Some(Some(event)) = watch.next().now_or_never() {
        match event {
            Ok(event) => history.delivered(watcher, &event),
            // The engine has ended.
            Err(Error::Unavailable(_)) => return,
            Err(error) => panic!("{error}"),
        }
    }
}

/// One write by itself, and then a batch of known size.
async fn step(disk: &SimDisk, engine: &Embedded, random: &mut Random, clients: &mut Clients) {
    let begun = clients.history.begin();
    let first = want(random, clients);
    let others: Vec<Wanted> = (0..=random.below(9)).map(|_| want(random, clients)).collect();
    disk.hold();
    let mut alone = Box::pin(write(engine, &first));
    let mut answer = alone.as_mut().now_or_never();
    if answer.is_none() {
        tokio::select! {
            // Answered without asking the disk, or held by it.
            biased;
            () = held(disk) => {}
            early = &mut alone => answer = Some(early),
        }
    }
    let mut batch = Box::pin(futures::future::join_all(others.iter().map(|other| write(engine, other))));
    let early = batch.as_mut().now_or_never();
    disk.release();
    let answer = match answer {
        Some(answer) => answer,
        None => alone.await,
    };
    let answers = match early {
        Some(answers) => answers,
        None => batch.await,
    };
    for (wanted, answer) in std::iter::once(&first).chain(&others).zip(std::iter::once(answer).chain(answers))
    {
        clients.history.wrote(begun, &wanted.key, wanted.expect, wanted.value.as_ref(), &answer);
        let index = (0..KEYS).find(|index| key(*index) == wanted.key).expect("one of the keys");
        match answer {
            Ok(Outcome::Done { revision, .. }) => {
                clients.seen[index] = wanted.value.as_ref().map_or(0, |_| revision);
            }
            Ok(Outcome::Mismatch { current, .. }) => {
                clients.seen[index] = current.map_or(0, |entry| entry.mod_revision);
            }
            Err(Error::Unknown(_) | Error::Full(_) | Error::Unavailable(_) | Error::Corrupt(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

async fn held(disk: &SimDisk) {
    while !disk.is_held() {
        tokio::time::sleep(Duration::from_micros(20)).await;
    }
}

/// A write of something to some key, as its writer last saw it.
fn want(random: &mut Random, clients: &mut Clients) -> Wanted {
    let index = random.below(KEYS as u64) as usize;
    clients.written += 1;
    let size = match random.below(10) {
        0 => 20_000,
        1 => 0,
        _ => random.below(600) as usize,
    };
    let seen = clients.seen[index];
    let expect = if seen == 0 { Expect::Absent } else { Expect::Revision(seen) };
    let delete = seen != 0 && random.one_in(4);
    let value = (!delete).then(|| Bytes::from(format!("{}:{}", clients.written, "x".repeat(size))));
    Wanted { key: key(index), expect, value }
}

async fn write(engine: &Embedded, wanted: &Wanted) -> apiwright_storage::Result<Outcome> {
    let change = match &wanted.value {
        Some(value) => Change::Put { value: value.clone(), ttl_seconds: None },
        None => Change::Delete,
    };
    engine.commit(wanted.key.clone(), wanted.expect, change).await
}

/// Reads a key now, and one at some revision of the past.
async fn read_some(engine: &Embedded, random: &mut Random, clients: &mut Clients) {
    let begun = clients.history.begin();
    let key = key(random.below(KEYS as u64) as usize);
    let (newest, entry) = engine.get(&key, At::Latest).await.unwrap();
    clients.history.read(begun, &key, newest, entry.as_deref());
    let past = 1 + random.below(newest + 2);
    match engine.get(&key, At::Revision(past)).await {
        Ok((revision, entry)) => {
            assert_eq!(revision, past);
            clients.history.read_past(&key, past, entry.as_deref());
        }
        Err(Error::Future { requested, newest }) => assert!(requested > newest),
        Err(Error::Compacted { requested, oldest }) => assert!(requested < oldest),
        Err(error) => panic!("{error}"),
    }
}

/// Waits until a disk that has not crashed is used again.
async fn recovered(engine: &Embedded) {
    let spare: Key = "/spare".into();
    for _ in 0..100 {
        // It expects what is not there: harmless, and yet a reason to try.
        let change = Change::Put { value: Bytes::from_static(b"spare"), ttl_seconds: None };
        let outcome = engine.commit(spare.clone(), Expect::Revision(1), change).await;
        assert!(!matches!(outcome, Ok(Outcome::Done { .. })), "{outcome:?}");
        if engine.health().await.is_ok() {
            return;
        }
    }
    panic!("the engine does not recover: {:?}", engine.health().await);
}

/// Reads everything at one revision.
async fn read_all(engine: &Embedded, clients: &mut Clients) {
    let begun = clients.history.begin();
    let range = Range { prefix: "", after: None, limit: 0, at: At::Latest };
    let page = engine.range(range).await.unwrap();
    let mut left = page.entries.len();
    for index in 0..KEYS {
        let key = key(index);
        let found = page.entries.iter().find(|entry| entry.key == key);
        left -= usize::from(found.is_some());
        clients.history.read(begun, &key, page.revision, found.map(AsRef::as_ref));
    }
    assert_eq!(left, 0, "entries that nobody wrote");
}

#[test]
fn damage_is_never_served() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        for (seed, file) in [(0, "store."), (3, "log."), (2, "log."), (2, "store.")] {
            damage(seed, file).await;
        }
    });
}

/// Flips single bits of one of the files of a store that was closed well: the last one of a kind.
async fn damage(seed: u64, kind: &str) {
    let disk = SimDisk::new(seed);
    let engine = open(&disk, seed).unwrap();
    let mut random = Random::new(seed);
    let mut clients = Clients::new();
    for _ in 0..30 {
        step(&disk, &engine, &mut random, &mut clients).await;
    }
    read_all(&engine, &mut clients).await;
    let newest = engine.revision().await.unwrap();
    engine.close().await.unwrap();
    drop(engine);
    let names = disk.names().unwrap().into_iter().filter(|name| name.starts_with(kind));
    let file = &names.max().expect("there is such a file");
    let bits = disk.size(file) * 8;
    let (mut refused, mut served) = (0, 0);
    for place in seeds("APIWRIGHT_FAULT_SEED", 150) {
        println!("APIWRIGHT_FAULT_SEED={place}");
        let copy = disk.copy(place);
        copy.flip(file, place % bits);
        match open(&copy, seed) {
            Ok(engine) => {
                served += 1;
                assert_eq!(engine.revision().await, Ok(newest));
                read_all(&engine, &mut clients).await;
                clients.history.check();
            }
            Err(OpenError::Corrupt { what, .. }) => {
                refused += 1;
                assert!(!what.is_empty());
            }
            Err(error) => panic!("{error}"),
        }
    }
    println!("{file}: {refused} refused, {served} served unharmed");
}
