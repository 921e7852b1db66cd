//! The controllers of the kube link.

use std::sync::Arc;

use super::Assembly;
use super::garbage_collector::GarbageCollector;
use super::namespace::Namespaces;
use super::root_ca::RootCa;
use super::service_account::DefaultAccounts;
use crate::generated::controllers::{
    garbage_collector_controller, namespace_controller, root_ca_certificate_publisher_controller,
    serviceaccount_controller,
};

/// Adds them.
pub(super) fn add(assembly: &mut Assembly<'_>) -> Result<(), String> {
    assembly.add(&namespace_controller::SPEC, |parts, _| {
        let namespaces = parts.store("", "v1", "namespaces")?;
        Ok(namespace_controller::Reconciler(Namespaces::new(
            namespaces,
            Arc::clone(&parts.resources),
            Arc::clone(&parts.registration),
        )))
    })?;

    let collector = GarbageCollector::new(Arc::clone(&assembly.parts.resources));
    let graph = collector.graph();
    let queue = assembly.add(&garbage_collector_controller::SPEC, |_, _| {
        Ok(garbage_collector_controller::Reconciler(collector))
    })?;
    if let Some(queue) = queue {
        graph.feed(queue);
    }

    assembly.add(&serviceaccount_controller::SPEC, |parts, _| {
        Ok(serviceaccount_controller::Reconciler(DefaultAccounts {
            namespaces: parts.store("", "v1", "namespaces")?,
            accounts: parts.store("", "v1", "serviceaccounts")?,
        }))
    })?;
    assembly.add(&root_ca_certificate_publisher_controller::SPEC, |parts, _| {
        Ok(root_ca_certificate_publisher_controller::Reconciler(RootCa {
            namespaces: parts.store("", "v1", "namespaces")?,
            config_maps: parts.store("", "v1", "configmaps")?,
            bundle: parts.server_authority.clone(),
        }))
    })?;
    Ok(())
}
