//! The controllers of the kube link.

use std::sync::Arc;

use super::Assembly;
use super::certificates::{Approving, Cleaner, Signing};
use super::cluster_roles::Aggregation;
use super::garbage_collector::GarbageCollector;
use super::identity_leases::IdentityLeases;
use super::kubernetes_endpoints::KubernetesEndpoints;
use super::kubernetes_service::KubernetesService;
use super::namespace::Namespaces;
use super::node_ttl::NodeTtl;
use super::root_ca::RootCa;
use super::service_account::DefaultAccounts;
use super::volume_protection::{Claims, Volumes};
use crate::generated::controllers::{
    certificatesigningrequest_approving_controller as approving,
    certificatesigningrequest_cleaner_controller as cleaner,
    certificatesigningrequest_signing_controller as signing, clusterrole_aggregation_controller,
    garbage_collector_controller, identity_lease_cleanup, kubernetes_endpoints, kubernetes_service,
    namespace_controller, persistentvolume_protection_controller as volumes,
    persistentvolumeclaim_protection_controller as claims, root_ca_certificate_publisher_controller,
    serviceaccount_controller, ttl_controller,
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
    let roles = assembly.parts.store("rbac.authorization.k8s.io", "v1", "clusterroles")?;
    assembly.add(&clusterrole_aggregation_controller::SPEC, |_, informers| {
        Ok(clusterrole_aggregation_controller::Reconciler(Aggregation::new(informers.cache(&roles))))
    })?;
    let nodes = assembly.parts.store("", "v1", "nodes")?;
    assembly.add(&ttl_controller::SPEC, |_, informers| {
        Ok(ttl_controller::Reconciler(NodeTtl::new(informers.cache(&nodes))))
    })?;
    if let Some(leases) = assembly.parts.stores.get("coordination.k8s.io", "v1", "leases") {
        assembly.add(&identity_lease_cleanup::SPEC, |_, _| {
            Ok(identity_lease_cleanup::Reconciler(IdentityLeases { leases }))
        })?;
    }
    if let Some(services) = assembly.parts.stores.get("", "v1", "services") {
        assembly.add(&kubernetes_service::SPEC, |parts, _| {
            Ok(kubernetes_service::Reconciler(KubernetesService {
                services,
                stores: parts.stores.clone(),
                placeholders: Arc::clone(&parts.placeholders),
            }))
        })?;
    }
    endpoints(assembly)?;
    let pods = assembly.parts.store("", "v1", "pods")?;
    assembly.add(&claims::SPEC, |parts, informers| {
        let claims = parts.store("", "v1", "persistentvolumeclaims")?;
        Ok(claims::Reconciler(Claims { claims, pods: informers.cache(&pods) }))
    })?;
    assembly.add(&volumes::SPEC, |parts, _| {
        Ok(volumes::Reconciler(Volumes { volumes: parts.store("", "v1", "persistentvolumes")? }))
    })?;
    certificates(assembly)
}

/// Where clients are told who serves.
fn endpoints(assembly: &mut Assembly<'_>) -> Result<(), String> {
    let parts = assembly.parts;
    let (Some(membership), Ok(family)) = (&parts.membership, parts.placeholders.service_range_first.parse())
    else {
        return Ok(());
    };
    let stores = (
        parts.stores.get("", "v1", "endpoints"),
        parts.stores.get("discovery.k8s.io", "v1", "endpointslices"),
    );
    let (Some(endpoints), Some(slices)) = stores else { return Ok(()) };
    let queue = assembly.add(&kubernetes_endpoints::SPEC, |_, _| {
        let membership = Arc::clone(membership);
        Ok(kubernetes_endpoints::Reconciler(KubernetesEndpoints { endpoints, slices, membership, family }))
    })?;
    if let Some(queue) = queue {
        membership.feed(queue);
    }
    Ok(())
}

/// Where certificates are requested: who approves, signs and cleans up.
fn certificates(assembly: &mut Assembly<'_>) -> Result<(), String> {
    let stores = &assembly.parts.stores;
    let Some(requests) = stores.get("certificates.k8s.io", "v1", "certificatesigningrequests") else {
        return Ok(());
    };
    assembly.add(&approving::SPEC, |parts, _| {
        let authorizer = Arc::clone(&parts.authorizer);
        Ok(approving::Reconciler(Approving { requests: Arc::clone(&requests), authorizer }))
    })?;
    assembly.add(&signing::SPEC, |parts, _| {
        let authority = (parts.signing_authority)()?;
        Ok(signing::Reconciler(Signing { requests: Arc::clone(&requests), authority }))
    })?;
    assembly
        .add(&cleaner::SPEC, |_, _| Ok(cleaner::Reconciler(Cleaner { requests: Arc::clone(&requests) })))?;
    Ok(())
}
