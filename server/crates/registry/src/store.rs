//! The store of one resource: the strategy order of every verb around the storage engine.

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::fields::FieldSelector;
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::status::Result;
use apiwright_storage::{Entry, Revision, Storage};
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::facts::ObjectFacts;
use crate::present::Presented;
use crate::resource::Resource;

/// The store of one resource of one version.
pub struct Store {
    /// What is stored.
    pub resource: Arc<Resource>,
    /// Where.
    pub storage: Arc<dyn Storage>,
}

impl Store {
    /// The store of a resource in an engine.
    pub fn new(resource: Arc<Resource>, storage: Arc<dyn Storage>) -> Self {
        Self { resource, storage }
    }

    /// One object. `namespace` is empty for cluster-scoped resources.
    ///
    /// # Errors
    /// 404, 504 for a resourceVersion that has not happened, 500 where storage fails.
    pub async fn get(&self, namespace: &str, name: &str, freshness: Freshness) -> Result<Arc<Entry>> {
        let _ = (namespace, name, freshness);
        todo!()
    }

    /// The objects of a selection, or a page of them.
    ///
    /// # Errors
    /// 400 for bad tokens, 410 where the past is forgotten, 504 for the future, 500 where storage fails.
    pub async fn list(
        &self,
        selection: &Selection,
        freshness: Freshness,
        paging: &Paging,
    ) -> Result<ListPage> {
        let _ = (selection, freshness, paging);
        todo!()
    }

    /// What happens to the objects of a selection.
    ///
    /// # Errors
    /// What can be told before the stream starts; later failures are the stream's last item.
    pub async fn watch(&self, selection: Selection, options: WatchOptions) -> Result<WatchStream> {
        let _ = (selection, options);
        todo!()
    }

    /// Stores a new object (served version, normal form, mutating admission done; metadata.name or
    /// generateName as the client gave it). `check` runs on the object as it would be stored.
    ///
    /// # Errors
    /// 400, 409, 422, whatever `check` says, 500 where storage fails.
    pub async fn create(
        &self,
        write: &WriteOptions,
        namespace: &str,
        object: Value,
        check: &dyn Check,
    ) -> Result<Written> {
        let _ = (write, namespace, object, check);
        todo!()
    }

    /// Replaces an object by what `transform` makes of it; creates it where the strategy or
    /// [`WriteOptions::allow_create`] permits (then `check` gets no old object).
    ///
    /// # Errors
    /// 404, 409, 422, whatever `transform` and `check` say, 500 where storage fails.
    pub async fn update(
        &self,
        write: &WriteOptions,
        namespace: &str,
        name: &str,
        transform: &mut dyn Transform,
        check: &dyn Check,
    ) -> Result<Written> {
        let _ = (write, namespace, name, transform, check);
        todo!()
    }

    /// Deletes an object, or marks it where finalizers or a grace period hold it.
    ///
    /// # Errors
    /// 404, 409 for preconditions, whatever `check` says, 500 where storage fails.
    pub async fn delete(
        &self,
        write: &WriteOptions,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
        check: &dyn Check,
    ) -> Result<Deleted> {
        let _ = (write, namespace, name, options, check);
        todo!()
    }

    /// Deletes what is selected, one after the other. Gives the list as it was before.
    ///
    /// # Errors
    /// The first failure other than 404.
    pub async fn delete_collection(
        &self,
        write: &WriteOptions,
        selection: &Selection,
        freshness: Freshness,
        paging: &Paging,
        options: &DeleteOptions,
        check: &dyn Check,
    ) -> Result<ListPage> {
        let _ = (write, selection, freshness, paging, options, check);
        todo!()
    }

    /// What was derived from a stored object: name, labels, offsets. Cheap after the first call.
    pub fn facts<'a>(&self, entry: &'a Entry) -> &'a ObjectFacts {
        let _ = entry;
        todo!()
    }

    /// An entry ready to be written out in this store's version, with its resourceVersion.
    ///
    /// # Errors
    /// 500 where the object cannot be converted.
    pub fn present(&self, entry: &Arc<Entry>) -> Result<Presented> {
        let _ = entry;
        todo!()
    }

    /// As [`Store::present`], with another resourceVersion: DELETED events carry that of the deletion.
    ///
    /// # Errors
    /// As [`Store::present`].
    pub fn present_at(&self, entry: &Arc<Entry>, revision: Revision) -> Result<Presented> {
        let _ = (entry, revision);
        todo!()
    }

    /// An entry decoded, in this store's version, with its resourceVersion.
    ///
    /// # Errors
    /// 500 where what is stored cannot be decoded or converted.
    pub fn decode(&self, entry: &Arc<Entry>) -> Result<Value> {
        let _ = entry;
        todo!()
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
    /// `sendInitialEvents`.
    pub initial_events: bool,
    /// `allowWatchBookmarks`.
    pub bookmarks: bool,
}

/// The events of a watch. An error ends it and goes to the client as an ERROR event.
pub type WatchStream = BoxStream<'static, Result<WatchEvent>>;

/// Who writes, and how.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The subresource that is written; empty for the object itself.
    pub subresource: String,
    /// The writer's name.
    pub user: String,
    /// Nothing is stored.
    pub dry_run: bool,
    /// Creates what is absent, whatever the strategy says (apply).
    pub allow_create: bool,
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
