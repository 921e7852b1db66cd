//! Follows the definitions in storage: names are accepted, what has its names is served, what is
//! deleted is cleaned up.
//!
//! Position: one task, one event at a time; the decisions are [`naming`]'s. What was decided holds here at
//! once and is written beside, one write of a definition at a time.
//! Invariant: what is reported as established is served already.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apiwright_chain::Drain;
use apiwright_json::{Object, Value, decode};
use apiwright_meta::status::Reason;
use apiwright_meta::{Status, object};
use apiwright_registry::Store;
use apiwright_storage::{At, Entry, Error, Event, Range, Revision, Watch};
use futures::StreamExt;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::{error, warn};

use crate::cleanup::Cleanup;
use crate::definition::{Decision, Definition, Names};
use crate::naming::{self, Naming, Used};
use crate::status;
use crate::view::CustomResources;
use crate::{approval, conditions};

/// Where definitions are stored.
pub(crate) const PREFIX: &str = "/registry/apiextensions.k8s.io/customresourcedefinitions/";
/// How long a failed cleanup waits before it tries again.
const CLEANUP_RETRY: Duration = Duration::from_secs(5);
/// How many statuses are written at the same time: storage makes few writes of them.
const WRITERS_MAX: usize = 64;

/// Keeps the view and the status of definitions.
pub struct Controller {
    custom: Arc<CustomResources>,
    store: Arc<Store>,
    definitions: BTreeMap<String, Definition>,
    groups: BTreeMap<String, Group>,
    revision: Revision,
    /// The definitions whose status is being written.
    writing: HashSet<String>,
    written: (UnboundedSender<Written>, UnboundedReceiver<Written>),
    writers: Arc<Semaphore>,
    /// The uids of the definitions that are being cleaned up.
    cleaning: Arc<Mutex<HashSet<String>>>,
}

/// What came of a write of a definition's status.
struct Written {
    name: String,
    outcome: Result<Arc<Entry>, Box<Status>>,
}

/// The definitions of a group.
#[derive(Default)]
struct Group {
    /// How they are called.
    definitions: BTreeSet<String>,
    /// What their resources and kinds are called.
    used: Used,
}

impl Controller {
    /// A controller over the store of definitions.
    pub fn new(custom: Arc<CustomResources>, store: Arc<Store>) -> Self {
        Self {
            custom,
            store,
            definitions: BTreeMap::new(),
            groups: BTreeMap::new(),
            revision: 0,
            writing: HashSet::new(),
            written: unbounded_channel(),
            writers: Arc::new(Semaphore::new(WRITERS_MAX)),
            cleaning: Arc::default(),
        }
    }

    /// Reads all definitions and serves those that are established.
    ///
    /// # Errors
    /// Where storage cannot be read.
    pub async fn load(&mut self) -> Result<(), Error> {
        let range = Range { prefix: PREFIX, after: None, limit: 0, at: At::Latest };
        let page = self.store.storage.range(range).await?;
        let mut there = HashSet::new();
        for entry in &page.entries {
            if let Some(definition) = read(entry) {
                there.insert(definition.name.clone());
                self.take(definition);
            }
        }
        let gone: Vec<String> =
            self.definitions.keys().filter(|name| !there.contains(*name)).cloned().collect();
        for name in gone {
            self.forget(&name);
        }
        self.revision = page.revision;
        self.custom.has_applied(self.revision);
        Ok(())
    }

    /// Follows storage from where [`Controller::load`] read it until the drain begins.
    pub async fn follow(mut self, drain: Drain) {
        let mut drain = drain;
        tokio::select! {
            () = self.run() => {}
            () = drain.begun() => {}
        }
    }

    async fn run(&mut self) {
        loop {
            let names: Vec<String> = self.definitions.keys().cloned().collect();
            for name in names {
                self.settle(&name);
            }
            let mut resume = true;
            while resume {
                match self.store.storage.watch(PREFIX, self.revision).await {
                    Ok(watch) => resume = self.events(watch).await,
                    Err(Error::Compacted { .. }) => resume = false,
                    Err(why) => warn!(%why, "cannot watch definitions"),
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            if let Err(why) = self.load().await {
                warn!(%why, "cannot read definitions");
            }
        }
    }

    /// Applies events until the watch ends; gives whether another can go on where it ended.
    async fn events(&mut self, mut watch: Watch) -> bool {
        loop {
            let event = tokio::select! {
                biased;
                Some(written) = self.written.1.recv() => {
                    if !self.has_written(written) {
                        return false;
                    }
                    continue;
                }
                event = watch.next() => event,
            };
            match event {
                Some(Ok(event)) => self.apply(event),
                Some(Err(Error::Compacted { .. })) => return false,
                Some(Err(why)) => {
                    warn!(%why, "a watch of definitions ended");
                    return true;
                }
                None => return true,
            }
        }
    }

    fn apply(&mut self, event: Event) {
        self.revision = event.revision();
        match event {
            Event::Put { entry, .. } => {
                if let Some(definition) = read(&entry) {
                    let name = definition.name.clone();
                    let freed = self.take(definition);
                    self.custom.has_applied(self.revision);
                    self.settle(&name);
                    if freed {
                        self.settle_others(&name);
                    }
                }
            }
            Event::Delete { previous, .. } => {
                let name = previous.key.strip_prefix(PREFIX).unwrap_or_default().to_owned();
                if let Some(group) = self.forget(&name) {
                    self.settle_group(&group, &name);
                }
            }
            Event::Progress(_) => {}
        }
    }

    /// Goes on with a definition whose status was written; gives whether what is known here still holds.
    fn has_written(&mut self, Written { name, outcome }: Written) -> bool {
        self.writing.remove(&name);
        match outcome {
            Ok(entry) => {
                let Some(definition) = read(&entry) else { return true };
                if self.take(definition) {
                    self.settle_others(&name);
                }
                // What has its names becomes established in a second step.
                self.settle(&name);
                true
            }
            // Who deleted it has been there; the event comes.
            Err(status) if status.reason == Some(Reason::NotFound) => true,
            Err(status) => {
                error!(name, why = status.message, "cannot report which names are accepted");
                false
            }
        }
    }

    /// Remembers and serves a definition as it is; gives whether others may have its names now.
    fn take(&mut self, definition: Definition) -> bool {
        self.custom.set(&definition, definition.is_served());
        self.remember(definition)
    }

    /// The same, served as it was.
    fn remember(&mut self, definition: Definition) -> bool {
        let group = self.groups.entry(definition.group.clone()).or_default();
        group.definitions.insert(definition.name.clone());
        group.used.add(&definition.accepted);
        let accepted = definition.accepted.clone();
        let before = self.definitions.insert(definition.name.clone(), definition);
        if let Some(before) = &before
            && let Some(group) = self.groups.get_mut(&before.group)
        {
            group.used.remove(&before.accepted);
        }
        before.is_some_and(|before| before.accepted != accepted && before.accepted != Names::default())
    }

    /// Gives the group of what was there.
    fn forget(&mut self, name: &str) -> Option<String> {
        let definition = self.definitions.remove(name)?;
        self.custom.set(&definition, false);
        if let Some(group) = self.groups.get_mut(&definition.group) {
            group.definitions.remove(name);
            group.used.remove(&definition.accepted);
            if group.definitions.is_empty() {
                self.groups.remove(&definition.group);
            }
        }
        Some(definition.group)
    }

    /// Brings one definition to where it should be, or a step nearer.
    fn settle(&mut self, name: &str) {
        let Some(definition) = self.definitions.get(name) else { return };
        if definition.cleaning {
            self.clean_up(definition);
        }
        let approval = definition.approval.clone();
        let none = Used::default();
        let used = self.groups.get(&definition.group).map_or(&none, |group| &group.used);
        let naming = naming::decide(definition, used);
        if naming.is_none() && approval.is_none() {
            return;
        }
        let uid = definition.uid.clone();
        if let Some(naming) = &naming {
            let decided = Definition { accepted: naming.accepted.clone(), ..definition.clone() };
            // What is served is served before it says so.
            if naming.names_accepted.status == "True" {
                self.custom.set(&decided, true);
            }
            // Nobody else gets these names while they are being written.
            self.remember(decided);
        }
        // What is being written is decided anew when it is.
        if self.writing.insert(name.to_owned()) {
            self.write(name.to_owned(), uid, approval, naming);
        }
    }

    /// Writes what was decided.
    fn write(&self, name: String, uid: String, approval: Option<Decision>, naming: Option<Naming>) {
        let change = move |value: &mut Value| {
            if object::uid(value) != uid {
                return;
            }
            if let Some(approval) = &approval {
                conditions::set(value, approval::CONDITION, approval);
            }
            if let Some(naming) = &naming {
                report(value, naming);
            }
        };
        let (store, writers, written) =
            (Arc::clone(&self.store), Arc::clone(&self.writers), self.written.0.clone());
        tokio::spawn(async move {
            // Nobody closes it.
            let _permit = writers.acquire().await;
            let outcome = status::write(&store, &name, &change).await;
            // Where nobody listens any more, the server ends.
            let _ = written.send(Written { name, outcome });
        });
    }

    /// Reconsiders those of a group that wait for names.
    fn settle_others(&mut self, name: &str) {
        if let Some(group) = self.definitions.get(name).map(|definition| definition.group.clone()) {
            self.settle_group(&group, name);
        }
    }

    fn settle_group(&mut self, group: &str, except: &str) {
        let waiting: Vec<String> = self
            .group(group)
            .filter(|one| one.name != except && one.names != one.accepted)
            .map(|one| one.name.clone())
            .collect();
        for name in waiting {
            self.settle(&name);
        }
    }

    fn group(&self, group: &str) -> impl Iterator<Item = &Definition> {
        let group = self.groups.get(group);
        group.into_iter().flat_map(|group| &group.definitions).filter_map(|name| self.definitions.get(name))
    }

    /// Starts the cleanup of a definition, unless it runs.
    fn clean_up(&self, definition: &Definition) {
        let uid = definition.uid.clone();
        if !self.cleaning.lock().unwrap_or_else(PoisonError::into_inner).insert(uid.clone()) {
            return;
        }
        let serving = self.custom.serving(&definition.group, &definition.names.plural);
        let objects = serving.filter(|_| definition.established).and_then(|serving| serving.stored());
        let cleanup = Cleanup {
            definitions: Arc::clone(&self.store),
            name: definition.name.clone(),
            uid: uid.clone(),
            objects,
        };
        let cleaning = Arc::clone(&self.cleaning);
        tokio::spawn(async move {
            while let Err(why) = cleanup.run().await {
                if why.reason == Some(Reason::NotFound) {
                    break;
                }
                warn!(name = cleanup.name, why = why.message, "cannot clean up a definition; trying again");
                tokio::time::sleep(CLEANUP_RETRY).await;
            }
            cleaning.lock().unwrap_or_else(PoisonError::into_inner).remove(&uid);
        });
    }
}

fn read(entry: &Entry) -> Option<Definition> {
    match decode(&entry.value) {
        Ok((value, _)) => Some(Definition { since: entry.create_revision, ..Definition::read(&value) }),
        Err(why) => {
            error!(key = %entry.key, %why, "cannot read a definition; it defines nothing");
            None
        }
    }
}

/// Writes a decision into the status.
fn report(definition: &mut Value, naming: &Naming) {
    if let Some(status) = definition.at_mut(&["status"]).and_then(Value::as_object_mut) {
        status.insert("acceptedNames", named(&naming.accepted));
    }
    conditions::set(definition, "NamesAccepted", &naming.names_accepted);
    if let Some(established) = &naming.established {
        conditions::set(definition, "Established", established);
    }
}

/// Names in their normal form.
fn named(names: &Names) -> Value {
    let texts = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
    let mut object = Object::new();
    object.push("plural", names.plural.as_str());
    if !names.singular.is_empty() {
        object.push("singular", names.singular.as_str());
    }
    if !names.short_names.is_empty() {
        object.push("shortNames", texts(&names.short_names));
    }
    object.push("kind", names.kind.as_str());
    if !names.list_kind.is_empty() {
        object.push("listKind", names.list_kind.as_str());
    }
    if !names.categories.is_empty() {
        object.push("categories", texts(&names.categories));
    }
    object.into()
}
