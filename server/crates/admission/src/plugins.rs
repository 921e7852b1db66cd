//! The plugins that are compiled in, one a file.

use std::sync::Arc;

use crate::objects::Objects;
use crate::permits::Permits;
use crate::plugin::Plugin;

mod certificate_signers;
mod certificate_subject_restriction;
mod default_class;
mod default_toleration_seconds;
mod limit_ranger;
mod limits;
mod namespace_lifecycle;
mod node_restriction;
mod persistent_volume_claim_resize;
mod pod_resources;
mod pod_security;
mod priority;
mod resource_quota;
mod runtime_class;
mod service_account;
mod service_account_secrets;
mod storage_object_in_use_protection;
mod taint_nodes_by_condition;
pub(crate) mod values;

pub use default_toleration_seconds::Tolerations;
pub use resource_quota::observed as quota;

/// Every plugin that is compiled in.
pub fn built_in(
    objects: &Objects,
    permits: &Arc<dyn Permits>,
    tolerations: Tolerations,
) -> Vec<Arc<dyn Plugin>> {
    let objects = || objects.clone();
    let permits = || Arc::clone(permits);
    vec![
        Arc::new(namespace_lifecycle::NamespaceLifecycle::new(objects())),
        Arc::new(taint_nodes_by_condition::TaintNodesByCondition),
        Arc::new(limit_ranger::LimitRanger::new(objects())),
        Arc::new(service_account::ServiceAccount::new(objects())),
        Arc::new(node_restriction::NodeRestriction::new(objects(), permits())),
        Arc::new(pod_security::PodSecurity::new(objects())),
        Arc::new(priority::Priority::new(objects())),
        Arc::new(default_toleration_seconds::DefaultTolerationSeconds(tolerations)),
        Arc::new(default_class::DefaultClass::of_storage(objects())),
        Arc::new(storage_object_in_use_protection::StorageObjectInUseProtection),
        Arc::new(persistent_volume_claim_resize::PersistentVolumeClaimResize::new(objects())),
        Arc::new(runtime_class::RuntimeClass::new(objects())),
        Arc::new(certificate_signers::CertificateSigners::approval(permits())),
        Arc::new(certificate_signers::CertificateSigners::signing(permits())),
        Arc::new(certificate_subject_restriction::CertificateSubjectRestriction),
        Arc::new(default_class::DefaultClass::of_ingresses(objects())),
        Arc::new(resource_quota::ResourceQuota::new(objects())),
    ]
}
