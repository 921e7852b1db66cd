//! Writes the descriptions of Kubernetes' types, which are long and not ours, from a library that
//! has them: one line a type or field, in the order of their names. See `src/descriptions.rs`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use k8s_openapi::schemars::SchemaGenerator;
use serde_json::Value;

/// Collects the schemas of types, and with them those of all types that they refer to.
macro_rules! schemas {
    ($generator:ident: $($($module:ident)::+::{$($kind:ident),* $(,)?};)*) => {
        $({
            use k8s_openapi::$($module)::+ as types;
            $($generator.subschema_for::<types::$kind>();)*
        })*
    };
}

fn main() -> std::io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let mut generator = SchemaGenerator::default();
    schemas! { generator:
        api::admissionregistration::v1::{
            MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration,
            ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration,
        };
        api::admissionregistration::v1alpha1::{MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding};
        api::admissionregistration::v1beta1::{MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding};
        api::apiserverinternal::v1alpha1::{StorageVersion};
        api::apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
        api::authentication::v1::{SelfSubjectReview, TokenRequest, TokenReview};
        api::authorization::v1::{
            LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview,
        };
        api::autoscaling::v1::{HorizontalPodAutoscaler, Scale};
        api::autoscaling::v2::{HorizontalPodAutoscaler};
        api::batch::v1::{CronJob, Job};
        api::certificates::v1::{CertificateSigningRequest};
        api::certificates::v1alpha1::{ClusterTrustBundle};
        api::certificates::v1beta1::{ClusterTrustBundle, PodCertificateRequest};
        api::coordination::v1::{Lease};
        api::coordination::v1alpha2::{LeaseCandidate};
        api::coordination::v1beta1::{LeaseCandidate};
        api::core::v1::{
            Binding, ComponentStatus, ConfigMap, Endpoints, Event, LimitRange, Namespace, Node,
            PersistentVolume, Pod, PodTemplate, ReplicationController, ResourceQuota, Secret, Service,
            ServiceAccount,
        };
        api::discovery::v1::{EndpointSlice};
        api::events::v1::{Event};
        api::flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration};
        api::networking::v1::{IPAddress, Ingress, IngressClass, NetworkPolicy, ServiceCIDR};
        api::networking::v1beta1::{IPAddress, ServiceCIDR};
        api::node::v1::{RuntimeClass};
        api::policy::v1::{Eviction, PodDisruptionBudget};
        api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
        api::resource::v1::{DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice};
        api::resource::v1alpha3::{DeviceTaintRule, ResourcePoolStatusRequest};
        api::resource::v1beta1::{DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice};
        api::resource::v1beta2::{
            DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice,
        };
        api::scheduling::v1::{PriorityClass};
        api::scheduling::v1alpha2::{PodGroup, Workload};
        api::storage::v1::{
            CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass,
        };
        api::storage::v1beta1::{VolumeAttributesClass};
        api::storagemigration::v1beta1::{StorageVersionMigration};
        apiextensions_apiserver::pkg::apis::apiextensions::v1::{CustomResourceDefinition};
        apimachinery::pkg::apis::meta::v1::{
            APIGroup, APIGroupList, APIResource, APIResourceList, APIVersions, Patch, Status,
        };
        apimachinery::pkg::version::{Info};
        kube_aggregator::pkg::apis::apiregistration::v1::{APIService};
    }
    let definitions: BTreeMap<String, Value> = generator.take_definitions(true).into_iter().collect();
    let mut text = String::new();
    for (name, schema) in &definitions {
        line(&mut text, name, "", schema);
        let fields = schema.get("properties").and_then(Value::as_object);
        let fields: BTreeMap<_, _> = fields.into_iter().flatten().collect();
        for (field, schema) in fields {
            line(&mut text, name, field, schema);
        }
    }
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    std::fs::write(Path::new(&out).join("descriptions.tsv"), text)
}

/// Definition, field (empty for the type), description; separated by tabs, line ends escaped.
fn line(text: &mut String, definition: &str, field: &str, schema: &Value) {
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        let description = description.replace('\\', r"\\").replace('\n', r"\n").replace('\t', r"\t");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{definition}\t{field}\t{description}");
    }
}
