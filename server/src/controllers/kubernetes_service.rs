//! The service `kubernetes`, which comes back when it is deleted.

use std::sync::Arc;

use apiwright_controllers::{Next, Result};
use apiwright_meta::Status;
use apiwright_registry::Store;

use super::look_up;
use crate::bootstrap::{self, Placeholders};
use crate::chain::Stores;
use crate::generated::controllers::kubernetes_service::{Controller, Facts, Service};
use crate::generated::{BOOTSTRAP, catalogue};

const NAMESPACE: &str = "default";

/// Keeps the service.
pub(super) struct KubernetesService {
    pub(super) services: Arc<Store>,
    pub(super) stores: Stores,
    pub(super) placeholders: Arc<Placeholders>,
}

impl Controller for KubernetesService {
    type Observed = ();

    async fn observe(&self, key: &str) -> Result<(Facts, ())> {
        let found = look_up::object(&self.services, NAMESPACE, key).await?;
        let service = if found.is_some() { Service::Present } else { Service::Absent };
        Ok((Facts { service }, ()))
    }

    async fn create(&self, _key: &str, (): ()) -> Result<Next> {
        let stores = |group: &str, version: &str, plural: &str| {
            let needed = matches!(plural, "services" | "namespaces");
            needed.then(|| self.stores.get(group, version, plural)).flatten()
        };
        let made = bootstrap::ensure(BOOTSTRAP, &self.placeholders, catalogue(), stores).await;
        made.map_err(Status::internal).map(|_| Next::Done)
    }
}
