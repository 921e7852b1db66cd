//! The webhooks of all configurations of a kind, as storage has them.
//!
//! Invariant: readers load a pointer; configurations are in the order of their names, their
//! webhooks in the order in which they stand there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use apiwright_chain::Drain;
use apiwright_json::decode;
use apiwright_storage::{At, Error, Event, Range, Revision, Storage, Watch};
use arc_swap::ArcSwapOption;
use futures::StreamExt;
use parking_lot::Mutex;
use tracing::{error, warn};

use crate::client::Clients;
use crate::hook::Hook;

/// How long to wait where storage cannot be watched.
const RETRY: Duration = Duration::from_millis(100);

/// The webhooks of one kind of configuration.
pub(crate) struct Configurations {
    /// `/registry/mutatingwebhookconfigurations/`.
    prefix: String,
    clients: Clients,
    by_name: Mutex<BTreeMap<String, Arc<[Arc<Hook>]>>>,
    /// All of them; `None` until they were read.
    hooks: ArcSwapOption<Vec<Arc<Hook>>>,
}

impl Configurations {
    /// None read yet.
    pub(crate) fn new(plural: &str, clients: Clients) -> Self {
        Self {
            prefix: format!("/registry/{plural}/"),
            clients,
            by_name: Mutex::default(),
            hooks: ArcSwapOption::empty(),
        }
    }

    /// All webhooks, in the order in which they are called; `None` until they were read.
    pub(crate) fn hooks(&self) -> Option<Arc<Vec<Arc<Hook>>>> {
        self.hooks.load_full()
    }

    /// Whether there may be a webhook of this kind.
    pub(crate) fn any(&self, is: impl Fn(&Hook) -> bool) -> bool {
        self.hooks.load().as_ref().is_none_or(|hooks| hooks.iter().any(|hook| is(hook)))
    }

    /// Reads them all.
    ///
    /// # Errors
    /// When storage cannot be read.
    pub(crate) async fn load(&self, storage: &dyn Storage) -> Result<Revision, Error> {
        let everything = Range { prefix: &self.prefix, after: None, limit: 0, at: At::Latest };
        let page = storage.range(everything).await?;
        let mut all = BTreeMap::new();
        for entry in &page.entries {
            let name = entry.key.strip_prefix(&*self.prefix).unwrap_or_default();
            all.insert(name.to_owned(), self.read(name, &entry.value));
        }
        let mut by_name = self.by_name.lock();
        *by_name = all;
        self.publish(&by_name);
        Ok(page.revision)
    }

    /// Follows storage from where [`Configurations::load`] read it until the drain begins.
    pub(crate) async fn follow(self: Arc<Self>, storage: Arc<dyn Storage>, from: Revision, mut drain: Drain) {
        tokio::select! {
            () = self.follow_all(storage.as_ref(), from) => {}
            () = drain.begun() => {}
        }
    }

    async fn follow_all(&self, storage: &dyn Storage, mut revision: Revision) {
        loop {
            match storage.watch(&self.prefix, revision).await {
                Ok(watch) => revision = self.drain_watch(watch, revision).await,
                Err(Error::Compacted { .. }) => match self.load(storage).await {
                    Ok(loaded) => revision = loaded,
                    Err(why) => warn!(self.prefix, %why, "cannot read"),
                },
                Err(why) => warn!(self.prefix, %why, "cannot watch"),
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Takes events until the watch ends; gives the revision to go on from.
    async fn drain_watch(&self, mut watch: Watch, mut revision: Revision) -> Revision {
        while let Some(event) = watch.next().await {
            let event = match event {
                Ok(event) => event,
                Err(Error::Compacted { .. }) => return revision,
                Err(why) => {
                    warn!(self.prefix, %why, "a watch ended");
                    return revision;
                }
            };
            revision = event.revision();
            let Some(name) = event.key().and_then(|key| key.strip_prefix(&*self.prefix)) else { continue };
            let mut by_name = self.by_name.lock();
            match &event {
                Event::Put { entry, .. } => by_name.insert(name.to_owned(), self.read(name, &entry.value)),
                _ => by_name.remove(name),
            };
            self.publish(&by_name);
        }
        revision
    }

    fn read(&self, name: &str, json: &[u8]) -> Arc<[Arc<Hook>]> {
        match decode(json) {
            Ok((configuration, _)) => {
                Hook::all(&configuration, &self.clients).into_iter().map(Arc::new).collect()
            }
            Err(why) => {
                error!(name, %why, "cannot read a webhook configuration; its webhooks are not called");
                Arc::default()
            }
        }
    }

    fn publish(&self, by_name: &BTreeMap<String, Arc<[Arc<Hook>]>>) {
        let all = by_name.values().flat_map(|hooks| hooks.iter().cloned()).collect();
        self.hooks.store(Some(Arc::new(all)));
    }
}
