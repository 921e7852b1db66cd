//! Views of what is stored, kept in memory: read once, then every change as storage tells it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use apiwright_chain::Drain;
use apiwright_storage::{At, Error, Event, Range, Revision, Storage, Watch};
use futures::StreamExt;
use tracing::warn;

/// How long a watch that failed is left alone.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Something that is made of the objects below some prefixes.
pub trait View: Send + Sync + 'static {
    /// The prefixes of the keys that count.
    fn prefixes(&self) -> &'static [&'static str];

    /// Takes one object in, or out. `which` is the place of its prefix, the key is what follows it.
    fn apply(&self, which: usize, key: &str, value: Option<&[u8]>);

    /// Forgets all objects of a prefix whose keys are not among these.
    fn retain(&self, which: usize, keys: &HashSet<&str>);
}

/// The revisions up to which each prefix is known.
#[derive(Clone, Debug)]
pub struct Loaded(Vec<Revision>);

/// Reads everything.
///
/// # Errors
/// When storage cannot be read.
pub async fn load<V: View>(view: &V, storage: &dyn Storage) -> Result<Loaded, Error> {
    let mut revisions = Vec::new();
    for which in 0..view.prefixes().len() {
        revisions.push(load_prefix(view, storage, which).await?);
    }
    Ok(Loaded(revisions))
}

/// Follows storage from where [`load`] read it until the drain begins.
pub async fn follow<V: View>(view: Arc<V>, storage: Arc<dyn Storage>, from: Loaded, mut drain: Drain) {
    let all = from.0.into_iter().enumerate().map(|(which, revision)| {
        let (view, storage) = (view.as_ref(), storage.as_ref());
        async move { follow_prefix(view, storage, which, revision).await }
    });
    tokio::select! {
        _ = futures::future::join_all(all) => {}
        () = drain.begun() => {}
    }
}

async fn load_prefix<V: View>(view: &V, storage: &dyn Storage, which: usize) -> Result<Revision, Error> {
    let prefix = view.prefixes()[which];
    let page = storage.range(Range { prefix, after: None, limit: 0, at: At::Latest }).await?;
    let mut there = HashSet::new();
    for entry in &page.entries {
        let key = entry.key.strip_prefix(prefix).unwrap_or_default();
        view.apply(which, key, Some(&entry.value));
        there.insert(key);
    }
    view.retain(which, &there);
    Ok(page.revision)
}

async fn follow_prefix<V: View>(view: &V, storage: &dyn Storage, which: usize, mut revision: Revision) {
    let prefix = view.prefixes()[which];
    loop {
        match storage.watch(prefix, revision).await {
            Ok(watch) => revision = take(view, which, watch, revision).await,
            Err(Error::Compacted { .. }) => match load_prefix(view, storage, which).await {
                Ok(loaded) => revision = loaded,
                Err(why) => warn!(prefix, %why, "cannot read"),
            },
            Err(why) => warn!(prefix, %why, "cannot watch"),
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Applies events until the watch ends; gives the revision to go on from.
async fn take<V: View>(view: &V, which: usize, mut watch: Watch, mut revision: Revision) -> Revision {
    let prefix = view.prefixes()[which];
    while let Some(event) = watch.next().await {
        let event = match event {
            Ok(event) => event,
            Err(Error::Compacted { .. }) => return revision,
            Err(why) => {
                warn!(prefix, %why, "a watch ended");
                return revision;
            }
        };
        revision = event.revision();
        let (key, value) = match &event {
            Event::Put { entry, .. } => (&entry.key, Some(entry.value.as_ref())),
            Event::Delete { previous, .. } => (&previous.key, None),
            Event::Progress(_) => continue,
        };
        view.apply(which, key.strip_prefix(prefix).unwrap_or_default(), value);
    }
    revision
}
