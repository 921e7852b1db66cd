//! The controllers of the kube link.

use std::sync::Arc;

use apiwright_controllers::Identity;

use super::certificates::{Approving, Cleaner, Signing};
use super::cluster_roles::Aggregation;
use super::flow_schema_status::{self as of_flow_schemas, FlowSchemaStatus};
use super::garbage_collector::GarbageCollector;
use super::identity_leases::IdentityLeases;
use super::kubernetes_endpoints::KubernetesEndpoints;
use super::kubernetes_service::KubernetesService;
use super::namespace::Namespaces;
use super::node_ttl::NodeTtl;
use super::policy_status::PolicyStatus;
use super::quota::Quotas;
use super::root_ca::RootCa;
use super::service_account::DefaultAccounts;
use super::volume_protection::{Claims, Classes, Volumes};
use super::{
    Assembly, cluster_roles, garbage_collector, namespace, node_ttl, policy_status, quota, root_ca,
    service_account, volume_protection,
};
use crate::generated::controllers::{
    certificatesigningrequest_approving_controller as approving,
    certificatesigningrequest_cleaner_controller as cleaner,
    certificatesigningrequest_signing_controller as signing, clusterrole_aggregation_controller,
    flow_schema_status, garbage_collector_controller, identity_lease_cleanup, kubernetes_endpoints,
    kubernetes_service, namespace_controller, persistentvolume_protection_controller as volumes,
    persistentvolumeclaim_protection_controller as claims, resourcequota_controller,
    root_ca_certificate_publisher_controller, serviceaccount_controller, ttl_controller,
    validatingadmissionpolicy_status_controller, volumeattributesclass_protection_controller as classes,
};

/// Who approves, signs and cleans up certificates.
const CERTIFICATES: Identity = Identity::manager("system:serviceaccount:kube-system:certificate-controller");

/// Adds them.
pub(super) fn add(assembly: &mut Assembly<'_>) -> Result<(), String> {
    assembly.add(&namespace_controller::SPEC, |parts, _| {
        let namespaces = parts.store("", "v1", "namespaces")?;
        Ok(namespace_controller::Reconciler(Namespaces::new(
            namespaces,
            Arc::clone(&parts.resources),
            Arc::clone(&parts.registration),
            parts.writer(namespace::IDENTITY),
        )))
    })?;

    let collector = GarbageCollector::new(
        Arc::clone(&assembly.parts.resources),
        assembly.parts.writer(garbage_collector::IDENTITY),
        assembly.parts.store("", "v1", "events")?,
    );
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
            writer: parts.writer(service_account::IDENTITY),
        }))
    })?;
    assembly.add(&root_ca_certificate_publisher_controller::SPEC, |parts, _| {
        Ok(root_ca_certificate_publisher_controller::Reconciler(RootCa {
            namespaces: parts.store("", "v1", "namespaces")?,
            config_maps: parts.store("", "v1", "configmaps")?,
            bundle: parts.server_authority.clone(),
            writer: parts.writer(root_ca::IDENTITY),
        }))
    })?;
    let roles = assembly.parts.store("rbac.authorization.k8s.io", "v1", "clusterroles")?;
    assembly.add(&clusterrole_aggregation_controller::SPEC, |parts, informers| {
        let writer = parts.writer(cluster_roles::IDENTITY);
        Ok(clusterrole_aggregation_controller::Reconciler(Aggregation::new(informers.cache(&roles), writer)))
    })?;
    let nodes = assembly.parts.store("", "v1", "nodes")?;
    assembly.add(&ttl_controller::SPEC, |parts, informers| {
        let writer = parts.writer(node_ttl::IDENTITY);
        Ok(ttl_controller::Reconciler(NodeTtl::new(informers.cache(&nodes), writer)))
    })?;
    if let Some(leases) = assembly.parts.stores.get("coordination.k8s.io", "v1", "leases") {
        assembly.add(&identity_lease_cleanup::SPEC, |parts, _| {
            let writer = parts.writer(Identity::API_SERVER);
            Ok(identity_lease_cleanup::Reconciler(IdentityLeases { leases, writer }))
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
    if let Some(quotas) = assembly.parts.stores.get("", "v1", "resourcequotas") {
        assembly.add(&resourcequota_controller::SPEC, |parts, _| {
            let (resources, writer) = (Arc::clone(&parts.resources), parts.writer(quota::IDENTITY));
            Ok(resourcequota_controller::Reconciler(Quotas::new(quotas, resources, writer)))
        })?;
    }
    volumes_and_claims(assembly)?;
    flow_schemas(assembly)?;
    let group = "admissionregistration.k8s.io";
    if let Some(policies) = assembly.parts.stores.get(group, "v1", "validatingadmissionpolicies") {
        assembly.add(&validatingadmissionpolicy_status_controller::SPEC, |parts, _| {
            let openapi = Arc::clone(&parts.openapi);
            let writer = parts.writer(policy_status::IDENTITY);
            let status = PolicyStatus { policies, openapi, writer };
            Ok(validatingadmissionpolicy_status_controller::Reconciler(status))
        })?;
    }
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
    let queue = assembly.add(&kubernetes_endpoints::SPEC, |parts, _| {
        let membership = Arc::clone(membership);
        let writer = parts.writer(Identity::API_SERVER);
        Ok(kubernetes_endpoints::Reconciler(KubernetesEndpoints {
            endpoints,
            slices,
            membership,
            writer,
            family,
        }))
    })?;
    if let Some(queue) = queue {
        membership.feed(queue);
    }
    Ok(())
}

/// What is told of flow schemas.
fn flow_schemas(assembly: &mut Assembly<'_>) -> Result<(), String> {
    let store = |plural| assembly.parts.stores.get("flowcontrol.apiserver.k8s.io", "v1", plural);
    let (Some(schemas), Some(levels)) = (store("flowschemas"), store("prioritylevelconfigurations")) else {
        return Ok(());
    };
    assembly.add(&flow_schema_status::SPEC, |parts, informers| {
        let writer = parts.writer(of_flow_schemas::IDENTITY);
        let schemas = informers.cache(&schemas);
        Ok(flow_schema_status::Reconciler(FlowSchemaStatus { schemas, levels, writer }))
    })?;
    Ok(())
}

/// What holds volumes, claims and their classes while they are used.
fn volumes_and_claims(assembly: &mut Assembly<'_>) -> Result<(), String> {
    let pods = assembly.parts.store("", "v1", "pods")?;
    assembly.add(&claims::SPEC, |parts, informers| {
        let store = parts.store("", "v1", "persistentvolumeclaims")?;
        let writer = parts.writer(volume_protection::CLAIMS_IDENTITY);
        Ok(claims::Reconciler(Claims { store, pods: informers.cache(&pods), writer }))
    })?;
    assembly.add(&volumes::SPEC, |parts, _| {
        let store = parts.store("", "v1", "persistentvolumes")?;
        let writer = parts.writer(volume_protection::VOLUMES_IDENTITY);
        Ok(volumes::Reconciler(Volumes { store, writer }))
    })?;
    if let Some(of_attributes) = assembly.parts.stores.get("storage.k8s.io", "v1", "volumeattributesclasses")
    {
        let volumes = assembly.parts.store("", "v1", "persistentvolumes")?;
        let claims = assembly.parts.store("", "v1", "persistentvolumeclaims")?;
        assembly.add(&classes::SPEC, |parts, informers| {
            let (volumes, claims) = (informers.cache(&volumes), informers.cache(&claims));
            let writer = parts.writer(volume_protection::CLASSES_IDENTITY);
            Ok(classes::Reconciler(Classes { store: of_attributes, volumes, claims, writer }))
        })?;
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
        Ok(approving::Reconciler(Approving {
            requests: Arc::clone(&requests),
            authorizer,
            writer: parts.writer(CERTIFICATES),
        }))
    })?;
    assembly.add(&signing::SPEC, |parts, _| {
        let authority = (parts.signing_authority)()?;
        Ok(signing::Reconciler(Signing {
            requests: Arc::clone(&requests),
            authority,
            writer: parts.writer(CERTIFICATES),
        }))
    })?;
    assembly.add(&cleaner::SPEC, |parts, _| {
        let writer = parts.writer(CERTIFICATES);
        Ok(cleaner::Reconciler(Cleaner { requests: Arc::clone(&requests), writer }))
    })?;
    Ok(())
}
