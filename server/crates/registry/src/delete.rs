//! Deleting an object: at once, or marked until its grace period and its finalizers are over.

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_meta::time::Time;
use apiwright_meta::{Status, object};
use apiwright_storage::{Annex, Entry, Expect, Key, Outcome, Revision};

use crate::at_hand::AtHand;
use crate::deletion::{self, Begin};
use crate::hooks::DeletionStep;
use crate::store::{Check, DeleteOptions, Deleted, Store, WriteOptions};
use crate::update::in_place_of;

impl Store {
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
        let key = self.key(namespace, name)?;
        let deletion = Deletion { store: self, write, name, key: &key, check };
        let mut options = options.clone();
        let mut found = self.at_hand(&key, "delete").await?;
        loop {
            let round = match &found.entry {
                Some(entry) => deletion.round(Arc::clone(entry), &mut options).await,
                None => Err(Status::not_found(&self.resource.group_resource(), name)),
            };
            let end = match round {
                Ok(Round::Done(deleted)) if deleted.entry().mod_revision != found.revision() => {
                    return Ok(deleted);
                }
                Ok(Round::Failed(status)) => return Err(status),
                Ok(Round::Again(now)) => {
                    found = AtHand::current(now);
                    continue;
                }
                // Nothing was written: it waits already, or this is a dry run.
                Ok(Round::Done(deleted)) => Ok(deleted),
                Err(status) => Err(status),
            };
            match self.newer(&key, &found, "delete").await? {
                Some(newer) => found = newer,
                None => return end,
            }
        }
    }
}

/// What one round of a deletion came to.
enum Round {
    Done(Deleted),
    /// Storage failed; what became of the write may be unknown.
    Failed(Box<Status>),
    /// Somebody else was faster; this is there now.
    Again(Option<Arc<Entry>>),
}

/// What storing a mark came to.
enum Marked {
    Stored(Arc<Entry>),
    Failed(Box<Status>),
    Again(Option<Arc<Entry>>),
}

/// One deletion under way.
struct Deletion<'a> {
    store: &'a Store,
    write: &'a WriteOptions,
    name: &'a str,
    key: &'a Key,
    check: &'a dyn Check,
}

impl Deletion<'_> {
    async fn round(&self, entry: Arc<Entry>, options: &mut DeleteOptions) -> Result<Round> {
        let store = self.store;
        let hooks = &*store.resource.hooks;
        let old = store.decode(&entry)?;
        let mut object = old.clone();
        match hooks.begin_deletion(&mut object) {
            DeletionStep::Delete => {}
            DeletionStep::Mark => return self.mark_first(&entry, &old, object, options).await,
            DeletionStep::Wait => {
                self.check_stored(&old, options)?;
                return Ok(Round::Done(Deleted::Marked(entry)));
            }
        }

        deletion::check_preconditions(&store.resource, &old, options)?;
        let now = Time::now().seconds;
        let graceful = store.resource.strategy.graceful_delete;
        let begin = deletion::begin(graceful, hooks, &mut object, options, now);
        if begin == Begin::Pending {
            return Ok(Round::Done(Deleted::Marked(entry)));
        }
        let finalizers = deletion::finalizers_for(hooks, &object, options.propagation);
        let held = object::finalizers(&object).next().is_some();
        if begin == Begin::Immediate && !held && finalizers.is_none() {
            return self.delete_now(entry, &old).await;
        }

        self.check.check(None, Some(&old)).await?;
        if let Some(finalizers) = finalizers {
            object::set_finalizers(&mut object, finalizers);
        }
        let held = object::finalizers(&object).next().is_some();
        match begin {
            Begin::Immediate if !held => return self.delete_now(entry, &old).await,
            Begin::Immediate => deletion::mark_as_deleting(&mut object, now),
            Begin::Graceful(_) | Begin::Pending => {}
        }
        let entry = match self.store_mark(&entry, &old, &object).await? {
            Marked::Stored(entry) => entry,
            Marked::Failed(status) => return Ok(Round::Failed(status)),
            Marked::Again(now) => return Ok(Round::Again(now)),
        };
        if held || matches!(begin, Begin::Graceful(seconds) if seconds > 0) {
            return Ok(Round::Done(Deleted::Marked(entry)));
        }
        if self.write.dry_run {
            return Ok(Round::Done(Deleted::Gone(entry)));
        }
        // The mark is this request's own change: a precondition on the version before it is met.
        if options.resource_version.is_some() {
            options.resource_version = Some(entry.mod_revision.to_string());
        }
        let marked = store.decode(&entry)?;
        match self.delete_now(Arc::clone(&entry), &marked).await? {
            Round::Again(None) => Ok(Round::Done(Deleted::Gone(entry))),
            round => Ok(round),
        }
    }

    /// Deletes what nothing holds.
    async fn delete_now(&self, entry: Arc<Entry>, old: &Value) -> Result<Round> {
        self.check.check(None, Some(old)).await?;
        if self.write.dry_run {
            return Ok(Round::Done(Deleted::Gone(entry)));
        }
        let outcome = self.store.commit_deletion(Arc::clone(self.key), &entry, old).await;
        Ok(match outcome {
            Ok(Outcome::Done { revision, .. }) => Round::Done(Deleted::Gone(at_revision(&entry, revision))),
            Ok(Outcome::Mismatch { current, .. }) => Round::Again(current),
            Err(error) => Round::Failed(self.store.storage_error(error, "delete")),
        })
    }

    /// Stores what a hook made of an object that is to wait (a namespace that is to be emptied).
    async fn mark_first(
        &self,
        entry: &Arc<Entry>,
        old: &Value,
        mut object: Value,
        options: &DeleteOptions,
    ) -> Result<Round> {
        self.check_stored(old, options)?;
        self.check.check(None, Some(old)).await?;
        if object::deletion_timestamp(&object).is_none() {
            object::set_deletion(&mut object, Some(&apiwright_meta::time::now()), None);
        }
        let hooks = &*self.store.resource.hooks;
        if let Some(finalizers) = deletion::finalizers_for(hooks, &object, options.propagation) {
            object::set_finalizers(&mut object, finalizers);
        }
        Ok(match self.store_mark(entry, old, &object).await? {
            Marked::Stored(entry) => Round::Done(Deleted::Marked(entry)),
            Marked::Failed(status) => Round::Failed(status),
            Marked::Again(now) => Round::Again(now),
        })
    }

    /// Preconditions of objects that wait: upstream words them as storage does.
    fn check_stored(&self, old: &Value, options: &DeleteOptions) -> Result<()> {
        let checks = [
            ("UID", object::uid(old), options.uid.as_deref()),
            ("ResourceVersion", object::resource_version(old), options.resource_version.as_deref()),
        ];
        for (what, stored, wanted) in checks {
            if let Some(wanted) = wanted.filter(|wanted| *wanted != stored) {
                let why = format!(
                    "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {stored}"
                );
                return Err(Status::conflict(&self.store.resource.group_resource(), self.name, why));
            }
        }
        Ok(())
    }

    async fn store_mark(&self, entry: &Arc<Entry>, old: &Value, object: &Value) -> Result<Marked> {
        if object == old {
            return Ok(Marked::Stored(Arc::clone(entry)));
        }
        let value = self.store.encode(object)?;
        if self.write.dry_run {
            return Ok(Marked::Stored(in_place_of(entry, value)));
        }
        let expect = Expect::Revision(entry.mod_revision);
        let outcome = self.store.storage.commit(Arc::clone(self.key), expect, self.store.put(value)).await;
        Ok(match outcome {
            Ok(Outcome::Done { entry, .. }) => Marked::Stored(entry),
            Ok(Outcome::Mismatch { current, .. }) => Marked::Again(current),
            Err(error) => Marked::Failed(self.store.storage_error(error, "update")),
        })
    }
}

/// An object as it last was, with the revision of its deletion.
fn at_revision(entry: &Entry, revision: Revision) -> Arc<Entry> {
    Arc::new(Entry {
        key: Arc::clone(&entry.key),
        value: entry.value.clone(),
        create_revision: entry.create_revision,
        mod_revision: revision,
        version: entry.version,
        annex: Annex::default(),
    })
}
