//! Kinds that upstream can still decode and nobody serves any more. A body of one is refused for its
//! version, not for its kind.

/// Group, version, kinds and the group that has them today.
const OLD: &[(&str, &str, &[&str], &str)] = &[
    ("apps", "v1beta1", &["ControllerRevision", "Deployment", "StatefulSet"], "apps"),
    (
        "apps",
        "v1beta2",
        &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
        "apps",
    ),
    ("apps", "v1beta1", &["Scale"], "autoscaling"),
    ("apps", "v1beta2", &["Scale"], "autoscaling"),
    ("authentication.k8s.io", "v1alpha1", &["SelfSubjectReview"], "authentication.k8s.io"),
    ("authentication.k8s.io", "v1beta1", &["SelfSubjectReview", "TokenReview"], "authentication.k8s.io"),
    (
        "authorization.k8s.io",
        "v1beta1",
        &[
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        ],
        "authorization.k8s.io",
    ),
    ("batch", "v1beta1", &["CronJob"], "batch"),
    ("certificates.k8s.io", "v1beta1", &["CertificateSigningRequest"], "certificates.k8s.io"),
    ("coordination.k8s.io", "v1beta1", &["Lease"], "coordination.k8s.io"),
    ("discovery.k8s.io", "v1beta1", &["EndpointSlice"], "discovery.k8s.io"),
    ("extensions", "v1beta1", &["DaemonSet", "Deployment", "ReplicaSet"], "apps"),
    ("extensions", "v1beta1", &["Ingress", "NetworkPolicy"], "networking.k8s.io"),
    ("extensions", "v1beta1", &["Scale"], "autoscaling"),
    (FLOWCONTROL, "v1beta1", &["FlowSchema", "PriorityLevelConfiguration"], FLOWCONTROL),
    (FLOWCONTROL, "v1beta2", &["FlowSchema", "PriorityLevelConfiguration"], FLOWCONTROL),
    (FLOWCONTROL, "v1beta3", &["FlowSchema", "PriorityLevelConfiguration"], FLOWCONTROL),
    ("networking.k8s.io", "v1beta1", &["Ingress", "IngressClass"], "networking.k8s.io"),
    ("node.k8s.io", "v1alpha1", &["RuntimeClass"], "node.k8s.io"),
    ("node.k8s.io", "v1beta1", &["RuntimeClass"], "node.k8s.io"),
    ("policy", "v1beta1", &["Eviction", "PodDisruptionBudget"], "policy"),
    (RBAC, "v1alpha1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"], RBAC),
    (RBAC, "v1beta1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"], RBAC),
    ("scheduling.k8s.io", "v1alpha1", &["PriorityClass"], "scheduling.k8s.io"),
    ("scheduling.k8s.io", "v1beta1", &["PriorityClass"], "scheduling.k8s.io"),
    (STORAGE, "v1alpha1", &["CSIStorageCapacity", "VolumeAttachment"], STORAGE),
    (
        STORAGE,
        "v1beta1",
        &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"],
        STORAGE,
    ),
];
const FLOWCONTROL: &str = "flowcontrol.apiserver.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const STORAGE: &str = "storage.k8s.io";

/// The group that has an old kind today.
pub(crate) fn group_now(group: &str, version: &str, kind: &str) -> Option<&'static str> {
    OLD.iter()
        .find(|(of, in_version, kinds, _)| *of == group && *in_version == version && kinds.contains(&kind))
        .map(|(.., now)| *now)
}

/// Whether a body of an old version is as good as one of today's: kubectl of old days evicts by it.
pub(crate) fn is_accepted(api_version: &str, kind: &str) -> bool {
    api_version == "policy/v1beta1" && kind == "Eviction"
}

#[cfg(test)]
mod tests {
    use super::group_now;

    #[test]
    fn old_kinds_have_moved() {
        assert_eq!(group_now("extensions", "v1beta1", "Scale"), Some("autoscaling"));
        assert_eq!(group_now("extensions", "v1beta1", "Deployment"), Some("apps"));
        assert_eq!(group_now("apps", "v1beta1", "DaemonSet"), None);
        assert_eq!(group_now("apps", "v1", "Deployment"), None);
    }
}
