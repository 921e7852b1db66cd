//! What an object needs outside of itself: an address, a port, that no other object may have.
//!
//! Position: called by the verbs of a [`Store`] that has a [`Reserve`]; upstream's `BeginCreate`,
//! `BeginUpdate` and `AfterDelete`. A store without one pays nothing.
//! Invariant: every reservation is settled once the write's outcome is known, also where nobody
//! waits for that outcome any more.

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Result;
use apiwright_schema::decode::arrange;
use apiwright_storage::{Change, Entry, Error, Expect, Key, Outcome};
use futures::future::BoxFuture;

use crate::metadata;
use crate::names;
use crate::store::{Store, WriteOptions};

/// Reserves what objects of one resource need.
pub trait Reserve: Send + Sync + 'static {
    /// Reserves for an object that is to be created (named, not yet prepared) and writes what it got
    /// into it. A dry run reserves nothing and answers as if.
    ///
    /// # Errors
    /// Where it cannot have what it asks for.
    fn create<'a>(&'a self, object: &'a mut Value, dry_run: bool) -> BoxFuture<'a, Result<Reservation>>;

    /// As [`Reserve::create`], for an object that is to replace `old`.
    ///
    /// # Errors
    /// Where it cannot have what it asks for.
    fn update<'a>(
        &'a self,
        object: &'a mut Value,
        old: &'a Value,
        dry_run: bool,
    ) -> BoxFuture<'a, Result<Reservation>>;

    /// Gives back what a deleted object had.
    fn release(&self, object: Value) -> BoxFuture<'static, ()>;
}

/// What is held for a write until its outcome is known.
pub type Reservation = Box<dyn Held>;

/// A reservation under way. One that is dropped gives back what it took.
pub trait Held: Send {
    /// Ends it.
    fn settle(self: Box<Self>, fate: Fate) -> BoxFuture<'static, ()>;
}

/// What became of the write that something was reserved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It happened: what was taken is kept, what the old object had and the new one has not goes back.
    Kept,
    /// It did not: what was taken goes back.
    Failed,
    /// Nobody can tell: nothing goes back.
    Unknown,
}

impl Store {
    /// This store, with somebody to reserve what its objects need.
    #[must_use]
    pub fn with_reserve(mut self, reserve: Arc<dyn Reserve>) -> Self {
        self.reserve = Some(reserve);
        self
    }

    /// Reserves for a creation. The name and the namespace are settled first: what is reserved
    /// tells for whom.
    pub(crate) async fn reserve_create(
        &self,
        write: &WriteOptions,
        namespace: &str,
        object: &mut Value,
    ) -> Result<Option<Reservation>> {
        let Some(reserve) = &self.reserve else { return Ok(None) };
        let prefix = object::generate_name(object);
        if !prefix.is_empty() && object::name(object).is_empty() {
            let name = names::generate(prefix);
            object::set_name(object, &name);
        }
        metadata::match_namespace(object, self.namespace_of(namespace))?;
        let reservation = reserve.create(object, write.dry_run).await?;
        arrange(&self.resource.schema, object);
        Ok(Some(reservation))
    }

    /// Reserves for an update of the object itself; writes to subresources need nothing more.
    pub(crate) async fn reserve_update(
        &self,
        write: &WriteOptions,
        object: &mut Value,
        old: &Value,
    ) -> Result<Option<Reservation>> {
        let Some(reserve) = self.reserve.as_ref().filter(|_| write.subresource.is_empty()) else {
            return Ok(None);
        };
        let reservation = reserve.update(object, old, write.dry_run).await?;
        arrange(&self.resource.schema, object);
        Ok(Some(reservation))
    }

    /// Commits a write and settles what was reserved for it.
    pub(crate) async fn commit_reserved(
        &self,
        key: Key,
        expect: Expect,
        change: Change,
        reservation: Option<Reservation>,
    ) -> apiwright_storage::Result<Outcome> {
        let Some(reservation) = reservation else { return self.storage.commit(key, expect, change).await };
        let storage = Arc::clone(&self.storage);
        see_through(async move {
            let outcome = storage.commit(key, expect, change).await;
            let fate = match &outcome {
                Ok(Outcome::Done { .. }) => Fate::Kept,
                Err(Error::Unknown(_)) => Fate::Unknown,
                Ok(Outcome::Mismatch { .. }) | Err(_) => Fate::Failed,
            };
            reservation.settle(fate).await;
            outcome
        })
        .await
    }

    /// Deletes an entry and gives back what its object had.
    pub(crate) async fn commit_deletion(
        &self,
        key: Key,
        entry: &Entry,
        object: &Value,
    ) -> apiwright_storage::Result<Outcome> {
        let expect = Expect::Revision(entry.mod_revision);
        let Some(reserve) = &self.reserve else {
            return self.storage.commit(key, expect, Change::Delete).await;
        };
        let (storage, reserve, object) = (Arc::clone(&self.storage), Arc::clone(reserve), object.clone());
        see_through(async move {
            let outcome = storage.commit(key, expect, Change::Delete).await;
            if matches!(outcome, Ok(Outcome::Done { .. })) {
                reserve.release(object).await;
            }
            outcome
        })
        .await
    }
}

/// Ends a reservation for a write that needed no commit.
pub(crate) async fn settle(reservation: Option<Reservation>, fate: Fate) {
    if let Some(reservation) = reservation {
        reservation.settle(fate).await;
    }
}

/// Gives back at once what was reserved for a write that was refused, so that the next request
/// finds it.
pub(crate) async fn or_fail<T>(ready: Result<T>, reservation: &mut Option<Reservation>) -> Result<T> {
    if ready.is_err() {
        settle(reservation.take(), Fate::Failed).await;
    }
    ready
}

/// Runs a commit and what follows it to the end, also where the request ends early.
async fn see_through(
    work: impl Future<Output = apiwright_storage::Result<Outcome>> + Send + 'static,
) -> apiwright_storage::Result<Outcome> {
    match tokio::spawn(work).await {
        Ok(outcome) => outcome,
        Err(error) => Err(Error::Unknown(error.to_string())),
    }
}
