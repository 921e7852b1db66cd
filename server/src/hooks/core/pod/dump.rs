//! A pod spec as errors show it: JSON of upstream's internal type, which keeps the host's
//! namespaces in the security context.

use apiwright_json::Value;
use apiwright_meta::field::go_value;
use apiwright_schema::go::internal;

use crate::generated::catalogue;

/// The members of the internal type in their order, with the names that they have there.
const MEMBERS: [(&str, &str); 36] = [
    ("volumes", "Volumes"),
    ("initContainers", "InitContainers"),
    ("containers", "Containers"),
    ("ephemeralContainers", "EphemeralContainers"),
    ("restartPolicy", "RestartPolicy"),
    ("terminationGracePeriodSeconds", "TerminationGracePeriodSeconds"),
    ("activeDeadlineSeconds", "ActiveDeadlineSeconds"),
    ("dnsPolicy", "DNSPolicy"),
    ("nodeSelector", "NodeSelector"),
    ("serviceAccountName", "ServiceAccountName"),
    ("automountServiceAccountToken", "AutomountServiceAccountToken"),
    ("nodeName", "NodeName"),
    ("securityContext", "SecurityContext"),
    ("imagePullSecrets", "ImagePullSecrets"),
    ("hostname", "Hostname"),
    ("subdomain", "Subdomain"),
    ("setHostnameAsFQDN", "SetHostnameAsFQDN"),
    ("affinity", "Affinity"),
    ("schedulerName", "SchedulerName"),
    ("tolerations", "Tolerations"),
    ("hostAliases", "HostAliases"),
    ("priorityClassName", "PriorityClassName"),
    ("priority", "Priority"),
    ("preemptionPolicy", "PreemptionPolicy"),
    ("dnsConfig", "DNSConfig"),
    ("readinessGates", "ReadinessGates"),
    ("runtimeClassName", "RuntimeClassName"),
    ("overhead", "Overhead"),
    ("enableServiceLinks", "EnableServiceLinks"),
    ("topologySpreadConstraints", "TopologySpreadConstraints"),
    ("os", "OS"),
    ("schedulingGates", "SchedulingGates"),
    ("resourceClaims", "ResourceClaims"),
    ("resources", "Resources"),
    ("hostnameOverride", "HostnameOverride"),
    ("schedulingGroup", "SchedulingGroup"),
];

/// What the internal security context has before its own members.
const HOST: [(&str, &str); 5] = [
    ("hostNetwork", "HostNetwork"),
    ("hostPID", "HostPID"),
    ("hostIPC", "HostIPC"),
    ("shareProcessNamespace", "ShareProcessNamespace"),
    ("hostUsers", "HostUsers"),
];

/// The members of the internal security context.
const SECURITY: [(&str, &str); 13] = [
    ("seLinuxOptions", "SELinuxOptions"),
    ("windowsOptions", "WindowsOptions"),
    ("runAsUser", "RunAsUser"),
    ("runAsGroup", "RunAsGroup"),
    ("runAsNonRoot", "RunAsNonRoot"),
    ("supplementalGroups", "SupplementalGroups"),
    ("supplementalGroupsPolicy", "SupplementalGroupsPolicy"),
    ("fsGroup", "FSGroup"),
    ("fsGroupChangePolicy", "FSGroupChangePolicy"),
    ("sysctls", "Sysctls"),
    ("seccompProfile", "SeccompProfile"),
    ("appArmorProfile", "AppArmorProfile"),
    ("seLinuxChangePolicy", "SELinuxChangePolicy"),
];

/// The spec as JSON.
pub(super) fn spec(spec: &Value) -> String {
    object(&MEMBERS, |member| match member {
        "securityContext" => match spec.get(member) {
            None => "null".into(),
            Some(security) => {
                let host = object(&HOST, |member| one("PodSpec", spec, member));
                let own = object(&SECURITY, |member| one("PodSecurityContext", security, member));
                format!("{},{}", host.trim_end_matches('}'), own.trim_start_matches('{'))
            }
        },
        _ => one("PodSpec", spec, member),
    })
}

fn object(members: &[(&str, &str)], value: impl Fn(&str) -> String) -> String {
    let members: Vec<String> =
        members.iter().map(|(member, name)| format!("\"{name}\":{}", value(member))).collect();
    format!("{{{}}}", members.join(","))
}

fn one(ty: &str, object: &Value, member: &str) -> String {
    let ty = catalogue().definition(&format!("io.k8s.api.core.v1.{ty}"));
    match (object.get(member), ty.and_then(|ty| ty.field(member))) {
        (Some(value), Some(field)) => internal(&field.node, value),
        (Some(value), None) => go_value(value),
        // What is not a pointer has a value in any case.
        (None, _) if matches!(member, "hostNetwork" | "hostPID" | "hostIPC") => "false".into(),
        (None, Some(field)) if !field.pointer && is_text(member) => "\"\"".into(),
        (None, _) => "null".into(),
    }
}

fn is_text(member: &str) -> bool {
    matches!(
        member,
        "restartPolicy"
            | "dnsPolicy"
            | "serviceAccountName"
            | "nodeName"
            | "hostname"
            | "subdomain"
            | "schedulerName"
            | "priorityClassName"
    )
}

/// An ephemeral container as JSON.
pub(super) fn container(container: &Value) -> String {
    let ty = catalogue().definition("io.k8s.api.core.v1.PodSpec");
    let list = Value::Array(vec![container.clone()]);
    match ty.and_then(|ty| ty.field("ephemeralContainers")) {
        Some(field) => {
            let shown = internal(&field.node, &list);
            shown.trim_start_matches('[').trim_end_matches(']').to_owned()
        }
        None => go_value(container),
    }
}
