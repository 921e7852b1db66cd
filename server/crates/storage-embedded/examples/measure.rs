//! Measures the engine: writes at several degrees of concurrency, the file's size under constant
//! overwriting, loading, memory, reads of the past, and the cost of idle watches.
//!
//! `cargo run --release -p apiwright-storage-embedded --example measure [DIRECTORY]`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use apiwright_storage::{At, Change, Expect, Key, Outcome, Range, Storage};
use apiwright_storage_embedded::{Embedded, Options};
use bytes::Bytes;
use futures::StreamExt;

const VALUE_BYTES: usize = 4096;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().unwrap_or_else(|| "/tmp/apiwright-measure".into());
    let dir = Path::new(&dir);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    if let Some(count) = arguments.next().and_then(|count| count.parse().ok()) {
        return load(&runtime, dir, count);
    }
    for writers in [1, 8, 64] {
        fresh(dir);
        let engine = Arc::new(Embedded::open(dir, Options::default()).expect("a fresh directory opens"));
        runtime.block_on(writes(engine, writers));
    }
    let memory = Arc::new(Embedded::memory(Options::default()));
    print!("in memory: ");
    runtime.block_on(writes(memory, 8));
    for count in [10_000, 50_000] {
        fresh(dir);
        fill(&runtime, dir, count);
        // Memory shows only in a process that did nothing else.
        let program = std::env::current_exe().expect("a program");
        let status = std::process::Command::new(program).arg(dir).arg(count.to_string()).status();
        assert!(status.is_ok_and(|status| status.success()), "loading failed");
    }
    overwrite(&runtime, dir);
    watches(&runtime);
    let _ = std::fs::remove_dir_all(dir);
}

fn fresh(dir: &Path) {
    let _ = std::fs::remove_dir_all(dir);
}

async fn writes(engine: Arc<Embedded>, writers: usize) {
    let (began, cpu) = (Instant::now(), cpu());
    let until = began + Duration::from_secs(3);
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let engine = engine.clone();
            tokio::spawn(async move {
                let key: Key = format!("/registry/pods/default/pod-{writer}").into();
                let (_, current) = engine.get(&key, At::Latest).await.expect("a read works");
                let mut expect = current.map_or(Expect::Absent, |entry| Expect::Revision(entry.mod_revision));
                let mut puts = 0_u32;
                while Instant::now() < until {
                    expect = Expect::Revision(put(&engine, &key, expect).await);
                    puts += 1;
                }
                puts
            })
        })
        .collect();
    let mut puts = 0;
    for task in tasks {
        puts += task.await.expect("a writer does not panic");
    }
    let rate = f64::from(puts) / began.elapsed().as_secs_f64();
    let micros = (self::cpu() - cpu) * 1e6 / f64::from(puts);
    println!("{writers} writers: {rate:.0} puts/s, {micros:.0} us CPU per put");
}

async fn put(engine: &Embedded, key: &Key, expect: Expect) -> u64 {
    let change = Change::Put { value: Bytes::from(vec![b'x'; VALUE_BYTES]), ttl_seconds: None };
    match engine.commit(key.clone(), expect, change).await.expect("a write works") {
        Outcome::Done { revision, .. } => revision,
        Outcome::Mismatch { .. } => panic!("nobody else writes this key"),
    }
}

fn fill(runtime: &tokio::runtime::Runtime, dir: &Path, count: usize) {
    let engine = Arc::new(Embedded::open(dir, Options::default()).expect("a fresh directory opens"));
    let before = rss();
    runtime.block_on(async {
        let puts = futures::stream::iter(0..count).for_each_concurrent(256, |number| {
            let engine = engine.clone();
            async move {
                put(
                    &engine,
                    &format!("/registry/pods/ns-{}/pod-{number}", number % 50).into(),
                    Expect::Absent,
                )
                .await;
            }
        });
        puts.await;
    });
    println!("{count} x {VALUE_BYTES}: {} MiB memory after writing, file {} MiB", rss() - before, size(dir));
}

fn load(runtime: &tokio::runtime::Runtime, dir: &Path, count: usize) {
    let (before, cpu_before) = (rss(), cpu());
    let began = Instant::now();
    let engine = Embedded::open(dir, Options::default()).expect("it opens again");
    let (loaded, used) = (began.elapsed(), (cpu() - cpu_before) * 1e3);
    println!(
        "  loaded in {loaded:.0?} ({used:.0} ms CPU), {} MiB memory, file {} MiB",
        rss() - before,
        size(dir)
    );
    runtime.block_on(async {
        let mut after: Option<Key> = None;
        let began = Instant::now();
        let (mut pages, mut seen) = (0, 0);
        loop {
            let range =
                Range { prefix: "/registry/pods/", after: after.as_deref(), limit: 500, at: At::Latest };
            let page = engine.range(range).await.expect("a range works");
            pages += 1;
            seen += page.entries.len();
            if page.remaining == 0 {
                break;
            }
            after = page.entries.last().map(|entry| entry.key.clone());
        }
        println!("  {seen} entries in {pages} pages: {:.1?}", began.elapsed());
        assert_eq!(seen, count);
    });
    // A crash leaves the file to be checked by redb: as slow as opening gets.
    let copy = dir.join("crashed");
    std::fs::create_dir_all(&copy).expect("a directory");
    for file in files(dir) {
        std::fs::copy(&file, copy.join(file.file_name().expect("a name"))).expect("a copy of an open file");
    }
    let (began, cpu_before) = (Instant::now(), cpu());
    let engine = Embedded::open(&copy, Options::default()).expect("the copy opens");
    println!("  loaded after a crash in {:.0?} ({:.0} ms CPU)", began.elapsed(), (cpu() - cpu_before) * 1e3);
    drop(engine);
    std::fs::remove_dir_all(copy).expect("the copy goes");
}

fn overwrite(runtime: &tokio::runtime::Runtime, dir: &Path) {
    let engine = Arc::new(Embedded::open(dir, Options::default()).expect("it opens again"));
    let before = size(dir);
    let began = Instant::now();
    let mut sizes = Vec::new();
    for round in 0..4 {
        runtime.block_on(async {
            let puts = futures::stream::iter(0..20_000_usize).for_each_concurrent(64, |number| {
                let engine = engine.clone();
                async move {
                    let number = (number * 7919 + round) % 50_000;
                    let key: Key = format!("/registry/pods/ns-{}/pod-{number}", number % 50).into();
                    let (_, entry) = engine.get(&key, At::Latest).await.expect("a read works");
                    put(&engine, &key, Expect::Revision(entry.expect("it is there").mod_revision)).await;
                }
            });
            puts.await;
        });
        sizes.push(size(dir));
    }
    println!(
        "80000 overwrites of 50000: {:.0?}, file {before} MiB -> {sizes:?} MiB, {} MiB memory",
        began.elapsed(),
        rss()
    );
    let past = runtime.block_on(engine.revision()).expect("a revision") - 10_000;
    for attempt in ["first", "second"] {
        let began = Instant::now();
        let range = Range { prefix: "/registry/pods/ns-1/", after: None, limit: 500, at: At::Revision(past) };
        runtime.block_on(engine.range(range)).expect("the past is there");
        println!("  {attempt} read of 10000 revisions ago: {:.1?}", began.elapsed());
    }
    drop(engine);
    let began = Instant::now();
    let engine = Embedded::open(dir, Options::default()).expect("it opens again");
    println!("  opened again in {:.0?}, file {} MiB", began.elapsed(), size(dir));
    drop(engine);
}

fn watches(runtime: &tokio::runtime::Runtime) {
    let engine = Arc::new(Embedded::memory(Options::default()));
    runtime.block_on(async {
        let before = rss_kib();
        let mut idle = Vec::new();
        for number in 0..10_000 {
            idle.push(engine.watch(&format!("/registry/secrets/ns-{number}/"), 1).await.expect("a watch"));
        }
        println!("10000 watches: {} KiB memory", rss_kib() - before);
        print!("  with them, none concerned: ");
        writes(engine.clone(), 8).await;
        drop(idle);
        let mut readers = Vec::new();
        for _ in 0..1000 {
            let revision = engine.revision().await.expect("a revision");
            let mut watch = engine.watch("/registry/pods/", revision).await.expect("a watch");
            readers.push(tokio::spawn(async move {
                let mut events = 0_u64;
                while let Some(Ok(_)) = watch.next().await {
                    events += 1;
                }
                events
            }));
        }
        print!("  with 1000 that all are concerned: ");
        writes(engine.clone(), 1).await;
        engine.close().await.expect("it closes");
        let mut events = 0;
        for reader in readers {
            events += reader.await.expect("a reader does not panic");
        }
        println!("  {events} events delivered");
    });
}

/// Seconds of CPU that this process has used.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// MiB of memory that this process has.
fn rss() -> i64 {
    rss_kib() / 1024
}

fn rss_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

/// MiB that the store has on disk.
fn size(dir: &Path) -> u64 {
    let length = |file: &PathBuf| std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    files(dir).iter().map(length).sum::<u64>() >> 20
}

/// The files of the store.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().is_file()).map(|entry| entry.path()).collect()
}
