//! Policies with what binds them, as storage has them.
//!
//! Invariant: readers load a pointer; policies and their bindings are in the order of their names.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use apiwright_admission::matching::Criteria;
use apiwright_chain::Drain;
use apiwright_json::{Value, decode};
use apiwright_meta::object;
use apiwright_storage::{At, Error, Event, Range, Revision, Storage, Watch};
use arc_swap::ArcSwapOption;
use futures::StreamExt;
use parking_lot::Mutex;
use tracing::{error, warn};

use crate::definitions::Policy;
use crate::params::ParamRef;

/// How long to wait where storage cannot be watched.
const RETRY: Duration = Duration::from_millis(100);

/// What makes a policy effective.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) name: String,
    policy: String,
    /// None for all that the policy matches.
    pub(crate) criteria: Option<Criteria>,
    pub(crate) param_ref: Option<ParamRef>,
    pub(crate) actions: Vec<String>,
}

/// A policy and its bindings.
#[derive(Debug)]
pub(crate) struct Hook {
    pub(crate) policy: Arc<Policy>,
    pub(crate) bindings: Vec<Arc<Binding>>,
}

/// The policies of one kind.
pub(crate) struct Policies {
    definitions: String,
    bindings: String,
    known: Mutex<Known>,
    /// All that are bound; `None` until they were read.
    hooks: ArcSwapOption<Vec<Hook>>,
}

#[derive(Default)]
struct Known {
    policies: BTreeMap<String, Arc<Policy>>,
    bindings: BTreeMap<String, Arc<Binding>>,
}

impl Binding {
    fn of(binding: &Value) -> Self {
        let resources = binding.at(&["spec", "matchResources"]).filter(|resources| !resources.is_null());
        let actions = binding.at(&["spec", "validationActions"]).and_then(Value::as_array);
        Self {
            name: object::name(binding).to_owned(),
            policy: binding.text_at(&["spec", "policyName"]).to_owned(),
            criteria: resources.map(Criteria::of_match_resources),
            param_ref: ParamRef::of(binding),
            actions: actions.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }
}

impl Policies {
    /// None read yet.
    pub(crate) fn new(plural: &str, bindings: &str) -> Self {
        Self {
            definitions: format!("/registry/{plural}/"),
            bindings: format!("/registry/{bindings}/"),
            known: Mutex::default(),
            hooks: ArcSwapOption::empty(),
        }
    }

    /// All that are bound; `None` until they were read.
    pub(crate) fn hooks(&self) -> Option<Arc<Vec<Hook>>> {
        self.hooks.load_full()
    }

    /// Whether there may be a policy of this kind.
    pub(crate) fn any(&self, is: impl Fn(&Hook) -> bool) -> bool {
        self.hooks.load().as_ref().is_none_or(|hooks| hooks.iter().any(is))
    }

    /// The places in storage that are followed.
    pub(crate) fn prefixes(&self) -> [&str; 2] {
        [&self.definitions, &self.bindings]
    }

    /// Reads all below a prefix.
    ///
    /// # Errors
    /// When storage cannot be read.
    pub(crate) async fn load(&self, storage: &dyn Storage, prefix: &str) -> Result<Revision, Error> {
        let everything = Range { prefix, after: None, limit: 0, at: At::Latest };
        let page = storage.range(everything).await?;
        let mut known = self.known.lock();
        if prefix == self.definitions {
            known.policies.clear();
        } else {
            known.bindings.clear();
        }
        for entry in &page.entries {
            let name = entry.key.strip_prefix(prefix).unwrap_or_default();
            self.put(&mut known, prefix, name, &entry.value);
        }
        self.publish(&known);
        Ok(page.revision)
    }

    /// Follows a prefix from where [`Policies::load`] read it until the drain begins.
    pub(crate) async fn follow(
        self: Arc<Self>,
        storage: Arc<dyn Storage>,
        prefix: String,
        from: Revision,
        mut drain: Drain,
    ) {
        tokio::select! {
            () = self.follow_all(storage.as_ref(), &prefix, from) => {}
            () = drain.begun() => {}
        }
    }

    async fn follow_all(&self, storage: &dyn Storage, prefix: &str, mut revision: Revision) {
        loop {
            match storage.watch(prefix, revision).await {
                Ok(watch) => revision = self.drain_watch(watch, prefix, revision).await,
                Err(Error::Compacted { .. }) => match self.load(storage, prefix).await {
                    Ok(loaded) => revision = loaded,
                    Err(why) => warn!(prefix, %why, "cannot read"),
                },
                Err(why) => warn!(prefix, %why, "cannot watch"),
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Takes events until the watch ends; gives the revision to go on from.
    async fn drain_watch(&self, mut watch: Watch, prefix: &str, mut revision: Revision) -> Revision {
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
            let Some(name) = event.key().and_then(|key| key.strip_prefix(prefix)) else { continue };
            let mut known = self.known.lock();
            match &event {
                Event::Put { entry, .. } => self.put(&mut known, prefix, name, &entry.value),
                _ if prefix == self.definitions => {
                    known.policies.remove(name);
                }
                _ => {
                    known.bindings.remove(name);
                }
            }
            self.publish(&known);
        }
        revision
    }

    fn put(&self, known: &mut Known, prefix: &str, name: &str, json: &[u8]) {
        match decode(json) {
            Ok((policy, _)) if prefix == self.definitions => {
                known.policies.insert(name.to_owned(), Arc::new(Policy::of(&policy)));
            }
            Ok((binding, _)) => {
                known.bindings.insert(name.to_owned(), Arc::new(Binding::of(&binding)));
            }
            Err(why) => error!(prefix, name, %why, "cannot read a policy or its binding"),
        }
    }

    fn publish(&self, known: &Known) {
        let bound = |policy: &Arc<Policy>| {
            let bindings: Vec<_> =
                known.bindings.values().filter(|binding| binding.policy == policy.name).cloned().collect();
            (!bindings.is_empty()).then(|| Hook { policy: Arc::clone(policy), bindings })
        };
        self.hooks.store(Some(Arc::new(known.policies.values().filter_map(bound).collect())));
    }
}
