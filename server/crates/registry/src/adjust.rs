//! Changing a stored object outside of its strategy: what the server does by itself, such as
//! binding a pod or counting down a budget.
//!
//! Absence: neither hooks nor validation run, and no generation is counted.

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_storage::{Entry, Expect, Outcome};
use bytes::Bytes;

use crate::at_hand::AtHand;
use crate::store::Store;

impl Store {
    /// Changes an object, again where a race was lost; a dry run stores nothing.
    ///
    /// # Errors
    /// 404, whatever `change` says, 500 where storage fails.
    pub async fn adjust(
        &self,
        namespace: &str,
        name: &str,
        dry_run: bool,
        change: &mut (dyn FnMut(&mut Value) -> Result<()> + Send),
    ) -> Result<Arc<Entry>> {
        let key = self.key(namespace, name)?;
        let mut found = self.at_hand(&key, "update").await?;
        loop {
            let end = match self.adjusted(&found, name, change) {
                Ok((entry, value)) if dry_run || value == entry.value => Ok(entry),
                Ok((entry, value)) => {
                    let expect = Expect::Revision(entry.mod_revision);
                    let outcome = self.storage.commit(Arc::clone(&key), expect, self.put(value)).await;
                    match outcome.map_err(|error| self.storage_error(error, "update"))? {
                        Outcome::Done { entry, .. } => return Ok(entry),
                        Outcome::Mismatch { current, .. } => found = AtHand::current(current),
                    }
                    continue;
                }
                Err(status) => Err(status),
            };
            match self.newer(&key, &found, "update").await? {
                Some(newer) => found = newer,
                None => return end,
            }
        }
    }

    /// An entry, and what it is to be replaced by.
    fn adjusted(
        &self,
        found: &AtHand,
        name: &str,
        change: &mut (dyn FnMut(&mut Value) -> Result<()> + Send),
    ) -> Result<(Arc<Entry>, Bytes)> {
        let entry = found.entry.clone();
        let entry = entry.ok_or_else(|| Status::not_found(&self.resource.group_resource(), name))?;
        let mut object = self.decode(&entry)?;
        change(&mut object)?;
        let value = self.encode(&object)?;
        Ok((entry, value))
    }
}
