//! The stores of other resources, for acts that reach beyond their own.

use std::sync::Arc;

use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_registry::Store;
use apiwright_storage::Storage;

use crate::generated::catalogue;

/// The store of a resource's first version.
///
/// # Errors
/// 500 where there is no such resource.
pub(super) fn store(group: &str, plural: &str, storage: &Arc<dyn Storage>) -> Result<Store> {
    let versions = catalogue().groups.iter().filter(|one| *one.name == *group);
    let resources = versions
        .flat_map(|group| group.versions.iter())
        .flat_map(apiwright_registry::catalogue::Version::shared);
    let resource = resources
        .into_iter()
        .find(|resource| *resource.plural == *plural)
        .ok_or_else(|| Status::internal(format!("nobody serves {plural}")))?;
    Ok(Store::new(resource, Arc::clone(storage)))
}
