//! Many at once: linearizable writes and reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apiwright_storage::{At, Change, Event, Expect, Key, Outcome, Storage};
use bytes::Bytes;

use super::{create, list, next_change, text};

const WRITERS: u64 = 8;
const INCREMENTS: u64 = 25;

/// Increments by compare-and-write of many writers all count, and a watch sees each of them.
pub async fn counters_lose_no_increment(storage: Arc<dyn Storage>) {
    let start = create(&*storage, "/count/n", "0").await;
    let mut watch = storage.watch("/count/", start).await.unwrap();
    let writers = (0..WRITERS).map(|_| {
        let storage = storage.clone();
        tokio::spawn(async move {
            let (_, current) = storage.get("/count/n", At::Latest).await.unwrap();
            let mut current = current.unwrap();
            for _ in 0..INCREMENTS {
                current = loop {
                    let next = text(&current).parse::<u64>().unwrap() + 1;
                    let change = Change::Put { value: Bytes::from(next.to_string()), ttl_seconds: None };
                    let expect = Expect::Revision(current.mod_revision);
                    match storage.commit(Key::from("/count/n"), expect, change).await.unwrap() {
                        Outcome::Done { entry, .. } => break entry,
                        Outcome::Mismatch { current: Some(found), .. } => {
                            assert!(
                                found.mod_revision > current.mod_revision,
                                "a mismatch shows something newer"
                            );
                            current = found;
                        }
                        Outcome::Mismatch { current: None, .. } => panic!("the counter is gone"),
                    }
                };
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let (_, entry) = storage.get("/count/n", At::Latest).await.unwrap();
    assert_eq!(text(&entry.unwrap()), (WRITERS * INCREMENTS).to_string());
    for count in 1..=WRITERS * INCREMENTS {
        let event = next_change(&mut watch).await;
        let Event::Put { entry, .. } = event else { panic!("{event:?}") };
        assert_eq!(text(&entry), count.to_string());
    }
}

/// A read after an acknowledged write sees it, whoever reads; and no reader sees time go back.
pub async fn reads_never_go_back(storage: Arc<dyn Storage>) {
    for writer in 0..WRITERS {
        create(&*storage, &format!("/back/{writer}"), "0").await;
    }
    let acknowledged: Arc<[AtomicU64]> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (storage, acknowledged) = (storage.clone(), acknowledged.clone());
            tokio::spawn(async move {
                for count in 1..=INCREMENTS {
                    super::update(&*storage, &format!("/back/{writer}"), &count.to_string()).await;
                    acknowledged[writer as usize].store(count, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let readers: Vec<_> = (0..4)
        .map(|reader| {
            let (storage, acknowledged) = (storage.clone(), acknowledged.clone());
            tokio::spawn(async move {
                let mut last = (0, vec![0; WRITERS as usize]);
                while last.1.iter().any(|count| *count < INCREMENTS) {
                    let least: Vec<_> =
                        acknowledged.iter().map(|count| count.load(Ordering::SeqCst)).collect();
                    let page = list(&*storage, "/back/", At::Latest).await;
                    let counts: Vec<u64> =
                        page.entries.iter().map(|entry| text(entry).parse().unwrap()).collect();
                    assert!(page.revision >= last.0, "reader {reader} went back");
                    for (writer, count) in counts.iter().enumerate() {
                        assert!(*count >= least[writer], "an acknowledged write is missing");
                        assert!(*count >= last.1[writer], "reader {reader} saw a write vanish");
                    }
                    let newest = page.entries.iter().map(|entry| entry.mod_revision).max();
                    assert!(newest <= Some(page.revision), "a page holds something of its future");
                    last = (page.revision, counts);
                    // An engine may answer without ever waiting; the writers need the threads too.
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for task in writers.into_iter().chain(readers) {
        task.await.unwrap();
    }
}
