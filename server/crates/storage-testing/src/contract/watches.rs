//! Watches: order, completeness, bounds.

use std::sync::Arc;
use std::time::Duration;

use apiwright_storage::{Error, Event, Storage};
use futures::StreamExt;

use super::{SOON, create, delete, describe, next_change, update};

/// From whatever revision it starts, a watch delivers each change after it once and in order.
pub async fn a_watch_misses_and_repeats_nothing(storage: Arc<dyn Storage>) {
    let start = storage.revision().await.unwrap();
    let mut live = storage.watch("/watch/", start).await.unwrap();
    let writer = tokio::spawn({
        let storage = storage.clone();
        async move {
            let mut revisions = Vec::new();
            for round in 0..100_u32 {
                let key = format!("/watch/{}", round % 7);
                revisions.push(if round % 14 == 13 {
                    delete(&*storage, &key).await
                } else {
                    update(&*storage, &key, &round.to_string()).await
                });
                create(&*storage, &format!("/elsewhere/{round}"), "x").await;
            }
            revisions
        }
    });
    let mut seen = Vec::new();
    for _ in 0..100 {
        seen.push(next_change(&mut live).await);
    }
    let revisions = writer.await.unwrap();
    assert_eq!(seen.iter().map(Event::revision).collect::<Vec<_>>(), revisions);
    let mut texts = seen.iter().map(describe);
    assert_eq!(texts.next().unwrap(), "create 0");
    assert_eq!(texts.nth(6).unwrap(), "update 0 7");
    assert_eq!(texts.nth(5).unwrap(), "delete 6");

    for first in (0..100).step_by(9) {
        let mut late = storage.watch("/watch/", revisions[first]).await.unwrap();
        for (revision, event) in revisions.iter().zip(&seen).skip(first + 1) {
            let again = next_change(&mut late).await;
            assert_eq!((again.revision(), describe(&again)), (*revision, describe(event)));
        }
    }
}

/// A watch delivers the keys that start with its prefix and no others.
pub async fn a_watch_sees_only_its_prefix(storage: Arc<dyn Storage>) {
    let start = storage.revision().await.unwrap();
    let keys = ["/only/a", "/only", "/only/b/c", "/only0", "/onl", "/only/b", "/only/c"];
    let prefixes: [(&str, &[&str]); 5] = [
        ("/only/", &["/only/a", "/only/b/c", "/only/b", "/only/c"]),
        ("/only/b", &["/only/b/c", "/only/b"]),
        ("/only/b/", &["/only/b/c"]),
        ("/only", &["/only/a", "/only", "/only/b/c", "/only0", "/only/b", "/only/c"]),
        ("/onlyx", &[]),
    ];
    let mut watches = Vec::new();
    for (prefix, want) in prefixes {
        watches.push((storage.watch(prefix, start).await.unwrap(), prefix, want));
    }
    for key in keys {
        create(&*storage, key, "v").await;
    }
    // Without waiting for it, nothing shows that nothing more comes: so all end with a common key.
    for (watch, prefix, want) in &mut watches {
        let last = format!("{prefix}zz");
        create(&*storage, &last, "v").await;
        let mut got = Vec::new();
        loop {
            let event = next_change(watch).await;
            let key = event.key().expect("a change has a key").to_string();
            if key == last {
                break;
            }
            if !key.ends_with("zz") {
                got.push(key);
            }
        }
        assert_eq!(got, *want, "{prefix}");
    }
}

/// A watch from a revision to come leaves out what happens until then.
pub async fn a_watch_may_start_in_the_future(storage: Arc<dyn Storage>) {
    let now = create(&*storage, "/ahead/a", "v").await;
    let mut watch = storage.watch("/ahead/", now + 2).await.unwrap();
    for round in 0..4 {
        update(&*storage, "/ahead/a", &round.to_string()).await;
    }
    let event = next_change(&mut watch).await;
    assert!(event.revision() > now + 2, "{event:?}");
    let Event::Put { entry, .. } = event else { panic!("{event:?}") };
    assert_eq!(&*entry.value, b"2");
}

/// Progress comes after everything that it covers, for a watch without changes too.
pub async fn a_watch_tells_its_progress(storage: Arc<dyn Storage>) {
    let start = storage.revision().await.unwrap();
    let mut busy = storage.watch("/progress/", start).await.unwrap();
    let mut idle = storage.watch("/nothing/", start).await.unwrap();
    let mut last = 0;
    for round in 0..10 {
        last = update(&*storage, "/progress/a", &round.to_string()).await;
    }
    for watch in [&mut busy, &mut idle] {
        let mut seen = start;
        while seen < last {
            let event = tokio::time::timeout(SOON, watch.next()).await.expect("progress comes soon");
            match event.unwrap().unwrap() {
                Event::Progress(revision) => {
                    assert!(revision >= seen, "progress goes back from {seen} to {revision}");
                    seen = revision;
                }
                event => {
                    assert!(event.revision() > seen, "{event:?} was covered by {seen}");
                    assert_eq!(event.key().map(|key| &**key), Some("/progress/a"));
                    if event.revision() == last {
                        seen = last;
                    }
                }
            }
        }
    }
}

/// A watch that nobody reads ends or goes on completely, and hinders nobody.
pub async fn an_unread_watch_is_bounded(storage: Arc<dyn Storage>) {
    let start = storage.revision().await.unwrap();
    let mut slow = storage.watch("/slow/", start).await.unwrap();
    let mut last = 0;
    for round in 0..1000 {
        last = update(&*storage, "/slow/a", &round.to_string()).await;
    }
    let mut expected = 0;
    loop {
        match tokio::time::timeout(SOON, slow.next()).await.expect("the watch says something") {
            Some(Ok(Event::Progress(_))) => {}
            Some(Ok(Event::Put { entry, .. })) => {
                assert_eq!(&*entry.value, expected.to_string().as_bytes());
                expected += 1;
                if entry.mod_revision == last {
                    return;
                }
            }
            Some(Err(Error::Compacted { .. })) => {
                let end = tokio::time::timeout(Duration::from_secs(5), slow.next()).await;
                assert!(matches!(end, Ok(None)), "the watch ends after its error: {end:?}");
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}
