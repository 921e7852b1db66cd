//! What every engine promises, one function a promise.
//!
//! Each takes an engine that may hold other data: it works below its own prefix and assumes no
//! particular revision.

mod concurrency;
mod lifetime;
mod reads;
mod selections;
mod watches;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use apiwright_storage::{
    At, Change, Entry, Event, Expect, Key, Outcome, Page, Range, Revision, Storage, Watch,
};
use bytes::Bytes;
use futures::StreamExt;

pub use concurrency::{counters_lose_no_increment, reads_never_go_back};
pub use lifetime::{close_ends_everything, entries_expire};
pub use reads::{
    compaction_forgets, ranges_have_edges, the_future_cannot_be_read, the_past_can_be_read,
    what_is_at_hand_can_be_read,
};
pub use selections::{a_watch_of_some_misses_none, selections_are_parts_of_ranges};
pub use watches::{
    a_watch_may_start_in_the_future, a_watch_misses_and_repeats_nothing, a_watch_sees_only_its_prefix,
    a_watch_tells_its_progress, an_unread_watch_is_bounded,
};
pub use writes::{revisions_only_grow, writes_compare_first};

/// Makes each property a test of the engine that `$factory` makes, an async closure or function
/// from `&str`, the test's name, to something that dereferences to a `Storage`. In front of it may
/// come attributes for all tests.
#[macro_export]
macro_rules! storage_contract {
    ($(#[$attribute:meta])* $factory:expr) => {
        $crate::storage_contract! {
            @tests [$(#[$attribute])*] $factory;
            revisions_only_grow, writes_compare_first, ranges_have_edges, the_past_can_be_read,
            the_future_cannot_be_read, what_is_at_hand_can_be_read, compaction_forgets, a_watch_misses_and_repeats_nothing,
            a_watch_sees_only_its_prefix, a_watch_may_start_in_the_future, a_watch_tells_its_progress,
            an_unread_watch_is_bounded, entries_expire, counters_lose_no_increment, reads_never_go_back,
            selections_are_parts_of_ranges, a_watch_of_some_misses_none,
            close_ends_everything
        }
    };
    (@tests $attributes:tt $factory:expr; $($property:ident),*) => {
        $($crate::storage_contract! { @test $attributes $factory; $property })*
    };
    (@test [$($attribute:tt)*] $factory:expr; $property:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        $($attribute)*
        async fn $property() {
            let Some(engine) = ($factory)(stringify!($property)).await else { return };
            $crate::contract::$property(engine.storage()).await;
        }
    };
}

/// An engine and what has to live as long as it does, a directory or a process.
pub struct Subject<T> {
    storage: Arc<dyn Storage>,
    _keep: T,
}

impl<T> Subject<T> {
    /// The engine and what it needs.
    pub fn new(storage: impl Storage, keep: T) -> Self {
        Self { storage: Arc::new(storage), _keep: keep }
    }

    /// The engine.
    pub fn storage(&self) -> Arc<dyn Storage> {
        self.storage.clone()
    }
}

/// How long anything may take that is to happen at once.
const SOON: Duration = Duration::from_secs(20);

async fn put(storage: &dyn Storage, key: &str, expect: Expect, value: &str) -> Outcome {
    let change = Change::Put { value: Bytes::copy_from_slice(value.as_bytes()), ttl_seconds: None };
    storage.commit(Key::from(key), expect, change).await.expect("a put is answered")
}

async fn create(storage: &dyn Storage, key: &str, value: &str) -> Revision {
    done(put(storage, key, Expect::Absent, value).await).0
}

async fn update(storage: &dyn Storage, key: &str, value: &str) -> Revision {
    let (_, current) = storage.get(key, At::Latest).await.expect("a get is answered");
    let expect = current.map_or(Expect::Absent, |entry| Expect::Revision(entry.mod_revision));
    done(put(storage, key, expect, value).await).0
}

async fn delete(storage: &dyn Storage, key: &str) -> Revision {
    let (_, current) = storage.get(key, At::Latest).await.expect("a get is answered");
    let expect = Expect::Revision(current.expect("there is something to delete").mod_revision);
    done(storage.commit(Key::from(key), expect, Change::Delete).await.expect("a delete is answered")).0
}

#[track_caller]
fn done(outcome: Outcome) -> (Revision, Arc<Entry>) {
    match outcome {
        Outcome::Done { revision, entry } => (revision, entry),
        Outcome::Mismatch { .. } => panic!("the write did not happen: {outcome:?}"),
    }
}

#[track_caller]
fn mismatch(outcome: Outcome) -> Option<Arc<Entry>> {
    match outcome {
        Outcome::Mismatch { current, .. } => current,
        Outcome::Done { .. } => panic!("the write happened: {outcome:?}"),
    }
}

async fn list(storage: &dyn Storage, prefix: &str, at: At) -> Page {
    storage.range(Range { prefix, after: None, limit: 0, at }).await.expect("a range is answered")
}

fn text(entry: &Entry) -> String {
    String::from_utf8_lossy(&entry.value).into_owned()
}

/// The entries as `key=value`, the prefix cut off.
fn contents(page: &Page, prefix: &str) -> Vec<String> {
    let line = |entry: &Arc<Entry>| format!("{}={}", entry.key.trim_start_matches(prefix), text(entry));
    page.entries.iter().map(line).collect()
}

/// The next change of a watch, progress skipped.
async fn next_change(watch: &mut Watch) -> Event {
    loop {
        let event = tokio::time::timeout(SOON, watch.next()).await.expect("a change comes soon");
        match event.expect("the watch goes on").expect("the watch is fine") {
            Event::Progress(_) => {}
            event => return event,
        }
    }
}

/// A change as text.
fn describe(event: &Event) -> String {
    match event {
        Event::Put { entry, previous: None } => format!("create {}", text(entry)),
        Event::Put { entry, previous: Some(previous) } => {
            format!("update {} {}", text(previous), text(entry))
        }
        Event::Delete { previous, .. } => format!("delete {}", text(previous)),
        Event::Progress(_) => "progress".into(),
    }
}
