//! Reading one object.

use std::sync::Arc;

use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_storage::Entry;

use crate::errors;
use crate::store::{Freshness, Store};

impl Store {
    /// One object. `namespace` is empty for cluster-scoped resources.
    ///
    /// # Errors
    /// 404, 504 for a resourceVersion that has not happened, 500 where storage fails.
    pub async fn get(&self, namespace: &str, name: &str, freshness: Freshness) -> Result<Arc<Entry>> {
        let key = self.key(namespace, name)?;
        let read = self.storage.get(&key, freshness.at()).await;
        let (_, entry) = read.map_err(|error| self.storage_error(error, "get"))?;
        entry.ok_or_else(|| Status::not_found(&self.resource.group_resource(), name))
    }

    /// What a storage error is answered with.
    pub(crate) fn storage_error(&self, error: apiwright_storage::Error, operation: &str) -> Box<Status> {
        errors::of_storage(error, &self.resource.group_resource(), operation)
    }
}
