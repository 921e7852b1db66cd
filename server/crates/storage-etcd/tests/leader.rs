//! A cluster of three loses its leader, again and again, under writes and a watch: no acknowledged write is
//! lost, none is done twice, and the watch tells each once and in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use apiwright_storage::{At, Change, Error, Event, Expect, Key, Outcome, Revision, Storage};
use apiwright_storage_etcd::{Etcd, Options};
use apiwright_storage_testing::etcd::{Member, available};
use bytes::Bytes;
use futures::StreamExt;

const WRITERS: usize = 4;
const LOSSES: usize = 3;
/// How many writes are made between two losses.
const BETWEEN: usize = 60;

/// What was written: the key's number and the count in it, by revision.
type Written = BTreeMap<Revision, (usize, u64)>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_when_leaders_die() {
    if !available() {
        return;
    }
    let mut members = Member::start_cluster(3);
    let engine = Arc::new(connect(&members).await);
    let start = engine.revision().await.unwrap();
    let watch = engine.watch("/count/", start).await.unwrap();
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| tokio::spawn(count(Arc::clone(&engine), number, Arc::clone(&stop), Arc::clone(&done))))
        .collect();
    for _ in 0..LOSSES {
        progress(&done).await;
        let leader = leader(&members).await;
        members[leader].kill();
        progress(&done).await;
        members[leader].restart();
    }
    progress(&done).await;
    stop.store(true, Ordering::Relaxed);
    let mut written = Written::new();
    for writer in writers {
        written.extend(writer.await.unwrap());
    }
    let told = told(watch, written.len()).await;
    assert_eq!(told, written.into_iter().collect::<Vec<_>>());
}

/// An engine that knows every member, once they serve.
async fn connect(members: &[Member]) -> Etcd {
    let options = Options {
        progress_interval: Duration::from_millis(200),
        backoff_max: Duration::from_millis(400),
        request_timeout: Duration::from_secs(2),
        ..Options::new(members.iter().map(Member::url))
    };
    let began = Instant::now();
    loop {
        let engine = Etcd::connect(options.clone()).await.unwrap();
        if engine.health().await.is_ok() {
            return engine;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "the cluster does not come up");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Counts up in a key of its own until it is told to stop, whatever happens; gives what was written.
async fn count(engine: Arc<Etcd>, number: usize, stop: Arc<AtomicBool>, done: Arc<AtomicUsize>) -> Written {
    let key = format!("/count/{number}");
    let mut written = Written::new();
    let mut last: Option<Revision> = None;
    let mut next = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        let expect = last.map_or(Expect::Absent, Expect::Revision);
        let value = Bytes::from(next.to_string());
        let change = Change::Put { value, ttl_seconds: None };
        let revision = match engine.commit(Key::from(key.as_str()), expect, change).await {
            Ok(Outcome::Done { revision, .. }) => revision,
            // Nobody else writes here: it is the write whose outcome was not known.
            Ok(Outcome::Mismatch { current, .. }) => {
                let current = current.expect("nobody deletes it");
                assert_eq!(*current.value, *next.to_string().as_bytes());
                assert_ne!(Some(current.mod_revision), last, "a refusal without a reason");
                current.mod_revision
            }
            Err(Error::Unavailable(_) | Error::Unknown(_)) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
            Err(error) => panic!("{error:?}"),
        };
        // What a writer was told is there for whoever asks next.
        if let Ok((_, entry)) = engine.get(&key, At::Latest).await {
            assert_eq!(entry.expect("it was written").mod_revision, revision);
        }
        written.insert(revision, (number, next));
        last = Some(revision);
        next += 1;
        done.fetch_add(1, Ordering::Relaxed);
    }
    written
}

/// Waits until some more was written.
async fn progress(done: &AtomicUsize) {
    let (from, began) = (done.load(Ordering::Relaxed), Instant::now());
    while done.load(Ordering::Relaxed) < from + BETWEEN {
        assert!(began.elapsed() < Duration::from_mins(1), "nothing is written any more");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Which member leads.
async fn leader(members: &[Member]) -> usize {
    for _ in 0..100 {
        for (at, member) in members.iter().enumerate() {
            let Ok(mut client) = etcd_client::Client::connect([member.url()], None).await else { continue };
            let Ok(status) = client.status().await else { continue };
            if status.leader() != 0
                && status.header().map(etcd_client::ResponseHeader::member_id) == Some(status.leader())
            {
                return at;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("nobody leads");
}

/// What a watch tells of so many writes, and that it tells no more.
async fn told(mut watch: apiwright_storage::Watch, writes: usize) -> Vec<(Revision, (usize, u64))> {
    let mut told = Vec::new();
    let wait = |long| Duration::from_millis(if long { 20_000 } else { 1_000 });
    while let Ok(event) = tokio::time::timeout(wait(told.len() < writes), watch.next()).await {
        if let Event::Put { entry, .. } = event.expect("it goes on").unwrap() {
            let number = entry.key.rsplit('/').next().unwrap().parse().unwrap();
            let count = std::str::from_utf8(&entry.value).unwrap().parse().unwrap();
            told.push((entry.mod_revision, (number, count)));
        } else if told.len() >= writes {
            break;
        }
    }
    told
}
