//! The store of one resource: the strategy order of every verb around the storage engine.

use std::sync::Arc;
use std::time::Duration;

use apiwright_json::Value;
use apiwright_meta::fields::FieldSelector;
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::status::Result;
use apiwright_schema::{Ref, Struct};
use apiwright_storage::{Entry, Facet, Revision, Storage};
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::facet;
use crate::facts::FieldPaths;
use crate::hooks::Notes;
use crate::reserve::Reserve;
use crate::resource::Resource;

/// The store of one resource of one version. Each verb has its file; this one has what they share.
#[derive(Clone)]
pub struct Store {
    /// What is stored.
    pub resource: Arc<Resource>,
    /// Where.
    pub storage: Arc<dyn Storage>,
    pub(crate) fields: Arc<FieldPaths>,
    /// For each of them, what the storage has an index of.
    pub(crate) facets: Arc<[Option<Arc<dyn Facet>>]>,
    pub(crate) reserve: Option<Arc<dyn Reserve>>,
    /// The type that is stored, where it is not this version's.
    pub(crate) stored_type: Option<Ref<Struct>>,
    /// When the resource came to be.
    pub(crate) since: Revision,
}

impl Store {
    /// The store of a resource in an engine.
    pub fn new(resource: Arc<Resource>, storage: Arc<dyn Storage>) -> Self {
        let fields = Arc::new(FieldPaths::of(&resource));
        let facets = facet::of(&resource, &fields).into();
        Self { resource, storage, fields, facets, reserve: None, stored_type: None, since: 0 }
    }

    /// The same, storing objects of another version's type, which brings them to its normal form.
    #[must_use]
    pub fn stored_as(mut self, ty: Ref<Struct>) -> Self {
        self.stored_type = Some(ty);
        self
    }

    /// The same, of a resource that there is since some write: whoever watches from before it does not
    /// know of it, and is told to list.
    #[must_use]
    pub fn known_since(mut self, since: Revision) -> Self {
        self.since = since;
        self
    }
}

/// Which objects a collection request is about.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Empty for all namespaces and for cluster-scoped resources.
    pub namespace: String,
    /// `labelSelector`.
    pub labels: LabelSelector,
    /// `fieldSelector`.
    pub fields: FieldSelector,
}

/// How far a read may lag, as the query said it: `resourceVersion` and `resourceVersionMatch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// No resourceVersion: the latest.
    #[default]
    Latest,
    /// `0`: anything.
    Any,
    /// At least this revision.
    NotOlderThan(Revision),
    /// Exactly this revision.
    Exact(Revision),
}

/// The paging of a list.
#[derive(Clone, Debug, Default)]
pub struct Paging {
    /// 0 for everything.
    pub limit: usize,
    /// The `continue` token; empty for the first page.
    pub token: String,
}

/// A list's objects.
#[derive(Debug)]
pub struct ListPage {
    /// The list's resourceVersion.
    pub revision: Revision,
    /// The objects.
    pub entries: Vec<Arc<Entry>>,
    /// The next page's token; empty at the end.
    pub token: String,
    /// How many objects follow, where that is known.
    pub remaining: Option<u64>,
}

/// What a watch delivers.
#[derive(Clone, Debug)]
pub enum WatchEvent {
    /// An object came into the selection.
    Added(Arc<Entry>),
    /// An object of the selection changed.
    Modified(Arc<Entry>),
    /// An object left the selection or was deleted: as it last was in it, and the revision of that.
    Deleted(Arc<Entry>, Revision),
    /// Everything up to the revision was delivered; whether this ends the initial events.
    Bookmark(Revision, bool),
}

/// What a watch asks for.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// `resourceVersion`: `None` where it is unset.
    pub from: Option<Revision>,
    /// Whether the objects that are there come first: `sendInitialEvents`, which upstream's defaults
    /// set where the query has no resourceVersion or `0`.
    pub initial_events: bool,
    /// `allowWatchBookmarks`.
    pub bookmarks: bool,
    /// When the caller ends the watch: a last bookmark comes shortly before.
    pub timeout: Option<Duration>,
}

/// The events of a watch. An error ends it and goes to the client as an ERROR event.
pub type WatchStream = BoxStream<'static, Result<WatchEvent>>;

/// Who writes, and how.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The subresource that is written; empty for the object itself.
    pub subresource: String,
    /// Who writes.
    pub user: Writer,
    /// Nothing is stored.
    pub dry_run: bool,
    /// Creates what is absent, whatever the strategy says (apply).
    pub allow_create: bool,
    /// What validation warns of.
    pub notes: Notes,
}

/// Who writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    /// The name.
    pub name: String,
    /// A unique id, where one is known.
    pub uid: String,
    /// Groups.
    pub groups: Vec<String>,
    /// What else is known.
    pub extra: Vec<(String, Vec<String>)>,
}

impl<T: Into<String>> From<T> for Writer {
    /// One of whom only the name is known: a part of the server itself.
    fn from(name: T) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// Makes the object to store from the one that is stored; called again where a write lost a race.
pub trait Transform: Send {
    /// `old` is `None` where nothing is stored (PUT creating).
    fn apply<'a>(&'a mut self, old: Option<&'a Value>) -> BoxFuture<'a, Result<Value>>;

    /// The uid that the stored object must have: that of a PUT's body, where it has one.
    fn uid(&self) -> Option<&str> {
        None
    }
}

/// The last word before a write: validating admission.
pub trait Check: Send + Sync {
    /// `new` is `None` for a deletion, `old` for a creation.
    fn check<'a>(&'a self, new: Option<&'a Value>, old: Option<&'a Value>) -> BoxFuture<'a, Result<()>>;
}

/// A write that happened (or would have, in a dry run).
#[derive(Clone, Debug)]
pub struct Written {
    /// The object as it is stored. In a dry run of a creation its `mod_revision` is 0.
    pub entry: Arc<Entry>,
    /// Whether it was created.
    pub created: bool,
    /// Texts for Warning headers.
    pub warnings: Vec<String>,
}

/// `DeleteOptions`.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// Seconds of grace; `None` for the kind's default.
    pub grace_period_seconds: Option<i64>,
    /// Only if it has this uid.
    pub uid: Option<String>,
    /// Only if it has this resourceVersion.
    pub resource_version: Option<String>,
    /// `propagationPolicy` (or the deprecated `orphanDependents`).
    pub propagation: Option<Propagation>,
}

/// What becomes of an object's dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// How a deletion ended.
#[derive(Clone, Debug)]
pub enum Deleted {
    /// It is gone: as it last was.
    Gone(Arc<Entry>),
    /// It is marked, and goes when its finalizers or its grace period have.
    Marked(Arc<Entry>),
}

impl Deleted {
    /// The object, gone or marked.
    pub fn entry(&self) -> &Arc<Entry> {
        match self {
            Self::Gone(entry) | Self::Marked(entry) => entry,
        }
    }
}
