//! Creating an object: the order of upstream's `Store.Create`.

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::status::{Reason, Result};
use apiwright_meta::{Status, object};
use apiwright_storage::{Annex, At, Change, Entry, Expect, Key, Outcome};
use bytes::Bytes;

use crate::metadata;
use crate::reserve::{Fate, Reservation, or_fail, settle};
use crate::store::{Check, Store, WriteOptions, Written};

/// How many names are tried for a generateName.
const NAMES_TRIED_MAX: usize = 8;

impl Store {
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
        let generated = object::name(&object).is_empty() && !object::generate_name(&object).is_empty();
        if generated {
            for _ in 1..NAMES_TRIED_MAX {
                match self.create_once(write, namespace, object.clone(), check).await {
                    Err(status) if status.reason == Some(Reason::AlreadyExists) => {}
                    other => return other,
                }
            }
        }
        self.create_once(write, namespace, object, check).await
    }

    async fn create_once(
        &self,
        write: &WriteOptions,
        namespace: &str,
        mut object: Value,
        check: &dyn Check,
    ) -> Result<Written> {
        let mut reservation = self.reserve_create(write, namespace, &mut object).await?;
        let ready = self.ready_to_create(write, namespace, &mut object, check).await;
        let warnings = or_fail(ready, &mut reservation).await?;
        let key = self.key(namespace, object::name(&object))?;
        if !write.dry_run && metadata::resource_version(&object).is_ok_and(|version| version != 0) {
            return Err(Status::unclassified("resourceVersion should not be set on objects to be created"));
        }
        let value = self.encode(&object)?;
        match self.put_new(write, key, value, reservation).await? {
            Ok(entry) => Ok(Written { entry, created: true, warnings }),
            Err(current) => Err(self.already_exists(&object, current.as_deref())),
        }
    }

    /// Prepares, checks and lets validating admission check what is to be created; gives warnings.
    pub(crate) async fn ready_to_create(
        &self,
        write: &WriteOptions,
        namespace: &str,
        object: &mut Value,
        check: &dyn Check,
    ) -> Result<Vec<String>> {
        self.prepare_create(write, namespace, object)?;
        self.validate_create(Self::context(write), object)?;
        let warnings = self.resource.hooks.warnings(object, None);
        check.check(Some(object), None).await?;
        Ok(warnings)
    }

    /// Puts a value where nothing is; gives what is there instead.
    pub(crate) async fn put_new(
        &self,
        write: &WriteOptions,
        key: Key,
        value: Bytes,
        reservation: Option<Reservation>,
    ) -> Result<std::result::Result<Arc<Entry>, Option<Arc<Entry>>>> {
        if write.dry_run {
            let read = self.storage.get(&key, At::Latest).await;
            let (_, current) = read.map_err(|error| self.storage_error(error, "create"))?;
            settle(reservation, Fate::Failed).await;
            return Ok(match current {
                Some(current) => Err(Some(current)),
                None => Ok(unstored(key, value)),
            });
        }
        let outcome = self.commit_reserved(key, Expect::Absent, self.put(value), reservation).await;
        match outcome.map_err(|error| self.storage_error(error, "create"))? {
            Outcome::Done { entry, .. } => Ok(Ok(entry)),
            Outcome::Mismatch { current, .. } => Ok(Err(current)),
        }
    }

    /// The change that stores a value of this resource.
    pub(crate) fn put(&self, value: Bytes) -> Change {
        let ttl = self.resource.storage.ttl_seconds;
        Change::Put { value, ttl_seconds: (ttl > 0).then_some(ttl) }
    }

    /// 409, in words that tell made-up names and objects on their way out.
    pub(crate) fn already_exists(&self, object: &Value, current: Option<&Entry>) -> Box<Status> {
        let resource = self.resource.group_resource();
        let name = object::name(object);
        let mut status = if object::generate_name(object).is_empty() {
            Status::already_exists(&resource, name)
        } else {
            Status::generate_name_conflict(&resource, name, 1)
        };
        if current.is_some_and(|entry| self.facts(entry).deleting) {
            status.message = format!("object is being deleted: {}", status.message);
        }
        status
    }
}

/// What a dry run would have created.
fn unstored(key: Key, value: Bytes) -> Arc<Entry> {
    Arc::new(Entry { key, value, create_revision: 0, mod_revision: 0, version: 0, annex: Annex::default() })
}
