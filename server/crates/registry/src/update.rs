//! Updating an object: transform what is at hand, check, compare and swap, again where the race was lost.

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, GroupKind, Path, Status, object};
use apiwright_storage::{Annex, At, Entry, Expect, Key, Outcome};
use bytes::Bytes;

use crate::at_hand::AtHand;
use crate::metadata;
use crate::reserve::{Fate, or_fail, settle};
use crate::store::{Check, Store, Transform, WriteOptions, Written};

/// What a writer that worked on an old object is told.
const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// What one round of an update came to.
enum Round {
    Done(Written),
    /// Nothing was written: no change, or a dry run.
    Unchanged(Written),
    /// Storage failed; what became of the write may be unknown.
    Failed(Box<Status>),
    /// Somebody else was faster; this is there now.
    Again(Option<Arc<Entry>>),
}

impl Store {
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
        let key = self.key(namespace, name)?;
        let mut found = self.at_hand(&key, "update").await?;
        loop {
            let request = Request { write, namespace, name, key: &key };
            let end = match self.round(request, found.entry.as_ref(), transform, check).await {
                Ok(Round::Done(written)) => return Ok(written),
                Ok(Round::Failed(status)) => return Err(status),
                Ok(Round::Again(now)) => {
                    found = AtHand::current(now);
                    continue;
                }
                Ok(Round::Unchanged(written)) => Ok(written),
                Err(status) => Err(status),
            };
            match self.newer(&key, &found, "update").await? {
                Some(newer) => found = newer,
                None => return end,
            }
        }
    }

    async fn round(
        &self,
        request: Request<'_>,
        current: Option<&Arc<Entry>>,
        transform: &mut dyn Transform,
        check: &dyn Check,
    ) -> Result<Round> {
        let may_create = request.write.allow_create || self.resource.strategy.create_on_update;
        if current.is_none() && !may_create {
            return Err(Status::not_found(&self.resource.group_resource(), request.name));
        }
        self.check_uid(request.key, request.name, transform.uid(), current.map(|entry| &**entry))?;
        match current {
            None => self.create_by_update(request, transform, check).await,
            Some(entry) => self.replace(request, entry, transform, check).await,
        }
    }

    async fn create_by_update(
        &self,
        request: Request<'_>,
        transform: &mut dyn Transform,
        check: &dyn Check,
    ) -> Result<Round> {
        let mut object = transform.apply(None).await?;
        metadata::resource_version(&object)?;
        let mut reservation = self.reserve_create(request.write, request.namespace, &mut object).await?;
        let ready = self.ready_to_create(request.write, request.namespace, &mut object, check).await;
        let warnings = or_fail(ready, &mut reservation).await?;
        let value = self.encode(&object)?;
        Ok(match self.put_new(request.write, Arc::clone(request.key), value, reservation).await {
            Ok(Ok(entry)) => Round::Done(Written { entry, created: true, warnings }),
            Ok(Err(current)) => Round::Again(current),
            Err(status) => Round::Failed(status),
        })
    }

    async fn replace(
        &self,
        request: Request<'_>,
        entry: &Arc<Entry>,
        transform: &mut dyn Transform,
        check: &dyn Check,
    ) -> Result<Round> {
        let write = request.write;
        let old = self.decode(entry)?;
        let mut object = transform.apply(Some(&old)).await?;
        self.check_version(request.name, &mut object, entry)?;

        let mut reservation = self.reserve_update(write, &mut object, &old).await?;
        let ready = self.ready_to_replace(request, &mut object, &old, check).await;
        let warnings = or_fail(ready, &mut reservation).await?;

        let written = |entry| Written { entry, created: false, warnings };
        if self.vanishes(&object, &old) {
            let value = self.encode(&object)?;
            let gone = self.delete_last(write, request.key, entry, &old).await;
            settle(reservation, Fate::Failed).await;
            let gone_as = written(in_place_of(entry, value));
            return match gone {
                Ok(true) if write.dry_run => Ok(Round::Unchanged(gone_as)),
                Ok(true) => Ok(Round::Done(gone_as)),
                Ok(false) => self.again(request.key).await,
                Err(status) => Ok(Round::Failed(status)),
            };
        }
        // Equal trees may differ in the order of their members, which nobody sees.
        let is_stale = self.storage.is_stale(entry);
        if object == old && !is_stale {
            settle(reservation, Fate::Kept).await;
            return Ok(Round::Unchanged(written(Arc::clone(entry))));
        }
        let value = self.encode(&object)?;
        if value == entry.value && !is_stale {
            settle(reservation, Fate::Kept).await;
            return Ok(Round::Unchanged(written(Arc::clone(entry))));
        }
        if write.dry_run {
            settle(reservation, Fate::Failed).await;
            return Ok(Round::Unchanged(written(in_place_of(entry, value))));
        }
        let expect = Expect::Revision(entry.mod_revision);
        let key = Arc::clone(request.key);
        let outcome = self.commit_reserved(key, expect, self.put(value), reservation).await;
        Ok(match outcome {
            Ok(Outcome::Done { entry, .. }) => Round::Done(written(entry)),
            Ok(Outcome::Mismatch { current, .. }) => Round::Again(current),
            Err(error) => Round::Failed(self.storage_error(error, "update")),
        })
    }

    /// Prepares, checks and lets validating admission check what is to replace `old`; gives warnings.
    async fn ready_to_replace(
        &self,
        request: Request<'_>,
        object: &mut Value,
        old: &Value,
        check: &dyn Check,
    ) -> Result<Vec<String>> {
        self.prepare_update(request.write, request.namespace, object, old)?;
        self.validate_update(Self::context(request.write), object, old)?;
        let warnings = self.resource.hooks.warnings(object, Some(old));
        check.check(Some(object), Some(old)).await?;
        Ok(warnings)
    }

    async fn again(&self, key: &Key) -> Result<Round> {
        let read = self.storage.get(key, At::Latest).await;
        let (_, current) = read.map_err(|error| self.storage_error(error, "update"))?;
        Ok(Round::Again(current))
    }

    /// Whether an update takes the last thing away that held a deleted object.
    fn vanishes(&self, object: &Value, old: &Value) -> bool {
        object::deletion_timestamp(old).is_some()
            && object::deletion_grace_period_seconds(old).is_none_or(|seconds| seconds == 0)
            && object::finalizers(object).next().is_none()
            && self.resource.hooks.may_vanish(object)
    }

    /// Deletes an object that nothing holds any more; `false` where it was changed meanwhile.
    async fn delete_last(&self, write: &WriteOptions, key: &Key, entry: &Entry, old: &Value) -> Result<bool> {
        if write.dry_run {
            return Ok(true);
        }
        let outcome = self.commit_deletion(Arc::clone(key), entry, old).await;
        match outcome.map_err(|error| self.storage_error(error, "update"))? {
            // Another writer may have taken the same finalizer away: what is gone is gone.
            Outcome::Done { .. } | Outcome::Mismatch { current: None, .. } => Ok(true),
            Outcome::Mismatch { .. } => Ok(false),
        }
    }

    /// Refuses where the body names the uid of another object.
    fn check_uid(&self, key: &str, name: &str, wanted: Option<&str>, current: Option<&Entry>) -> Result<()> {
        let Some(wanted) = wanted.filter(|uid| !uid.is_empty()) else { return Ok(()) };
        let uid = current.map(|entry| self.facts(entry).uid.as_str()).unwrap_or_default();
        if wanted == uid {
            return Ok(());
        }
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
             Precondition failed: UID in precondition: {wanted}, UID in object meta: {uid}"
        );
        Err(Status::conflict(&self.resource.group_resource(), name, why))
    }

    /// Refuses an update of an old object, and a blind one where the strategy wants a version.
    fn check_version(&self, name: &str, object: &mut Value, entry: &Entry) -> Result<()> {
        let wanted = metadata::resource_version(object)?;
        let resource = self.resource.group_resource();
        if wanted == entry.mod_revision {
            return Ok(());
        }
        if wanted != 0 {
            return Err(Status::conflict(&resource, name, MODIFIED));
        }
        if self.resource.strategy.unconditional_update {
            object::set_resource_version(object, &entry.mod_revision.to_string());
            return Ok(());
        }
        let mut errors = ErrorList::new();
        let path = Path::new("metadata").child("resourceVersion");
        errors.invalid(path, 0, "must be specified for an update");
        let kind = GroupKind { group: resource.group, kind: resource.resource };
        Err(Status::invalid(&kind, name, &errors))
    }
}

/// What an update is about.
#[derive(Clone, Copy)]
struct Request<'a> {
    write: &'a WriteOptions,
    namespace: &'a str,
    name: &'a str,
    key: &'a Key,
}

/// An entry with another value that was not stored.
pub(crate) fn in_place_of(entry: &Entry, value: Bytes) -> Arc<Entry> {
    Arc::new(Entry {
        key: Arc::clone(&entry.key),
        value,
        create_revision: entry.create_revision,
        mod_revision: entry.mod_revision,
        version: entry.version,
        annex: Annex::default(),
    })
}
