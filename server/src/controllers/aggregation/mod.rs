//! The aggregator's controllers: which APIServices there are, what follows from them, whether their
//! servers answer.

mod authentication_info;
mod autoregistration;
mod check;
mod condition;
mod definitions;
mod desired;
mod local;
mod metrics;
mod registration;
mod remote;

use std::sync::{Arc, Mutex, PoisonError};

use apiwright_controllers::Identity;

use super::Assembly;
use crate::generated::controllers::{
    apiservice_registration, autoregister, cluster_authentication_info, crd_registration, local_available,
    remote_available,
};
pub use authentication_info::Info;
pub use desired::Desired;
pub use metrics::{Figures, Unavailable};

use authentication_info::AuthenticationInfo;
use autoregistration::Autoregister;
use definitions::CrdRegistration;
use local::LocalAvailable;
use registration::Register;
use remote::{Index, RemoteAvailable};

/// Adds the controllers, where APIServices are served.
pub(super) fn add(assembly: &mut Assembly<'_>) -> Result<(), String> {
    let parts = assembly.parts;
    if let (Some(config_maps), Some(namespaces)) =
        (parts.stores.get("", "v1", "configmaps"), parts.stores.get("", "v1", "namespaces"))
    {
        assembly.add(&cluster_authentication_info::SPEC, |parts, _| {
            let info = Arc::clone(&parts.authentication_info);
            Ok(cluster_authentication_info::Reconciler(AuthenticationInfo {
                config_maps,
                namespaces,
                info,
                writer: parts.writer(Identity::API_SERVER),
            }))
        })?;
    }
    let Some(api_services) = parts.stores.get("apiregistration.k8s.io", "v1", "apiservices") else {
        return Ok(());
    };
    let queue = assembly.add(&autoregister::SPEC, |parts, informers| {
        let services = informers.cache(&api_services);
        Ok(autoregister::Reconciler(Autoregister::new(
            services,
            Arc::clone(&parts.desired),
            parts.writer(Identity::API_SERVER),
        )))
    })?;
    if let Some(queue) = queue {
        parts.desired.tell(&queue);
    }
    assembly.add(&crd_registration::SPEC, |parts, _| {
        Ok(crd_registration::Reconciler(CrdRegistration::new(Arc::clone(&parts.desired))))
    })?;
    assembly.add(&apiservice_registration::SPEC, |parts, informers| {
        let services = informers.cache(&api_services);
        let registration = Arc::clone(&parts.registration);
        Ok(apiservice_registration::Reconciler(Register { services, registration }))
    })?;
    assembly.add(&local_available::SPEC, |parts, informers| {
        let writer = parts.writer(Identity::API_SERVER);
        Ok(local_available::Reconciler(LocalAvailable { services: informers.cache(&api_services), writer }))
    })?;
    if let (Some(services), Some(slices)) =
        (parts.stores.get("", "v1", "services"), parts.stores.get("discovery.k8s.io", "v1", "endpointslices"))
    {
        let index = Arc::new(Mutex::new(Index::default()));
        let routes = parts.registration.shared_routes();
        let queue = assembly.add(&remote_available::SPEC, |_, informers| {
            Ok(remote_available::Reconciler(RemoteAvailable {
                api_services: informers.cache(&api_services),
                services: informers.cache(&services),
                slices,
                writer: parts.writer(Identity::API_SERVER),
                routes: Arc::clone(&routes),
                index: Arc::clone(&index),
                metrics: Arc::clone(&parts.metrics),
            }))
        })?;
        if let Some(queue) = queue {
            routes.on_unreachable(move |service| {
                let index = index.lock().unwrap_or_else(PoisonError::into_inner);
                index.users(&service.namespace, &service.name).for_each(|name| queue.add(name));
            });
        }
    }
    Ok(())
}
