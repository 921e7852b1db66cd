//! All checks of a standard, in the order in which faults are told.

use apiwright_json::Value;

use super::policy::{Level, Standard};
use super::{baseline, restricted};

/// What is wrong with a pod: short reasons with details.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults(pub(crate) Vec<Fault>);

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) reason: String,
    pub(crate) detail: String,
}

/// A check: what is wrong with a pod, or nothing.
pub(crate) type Check = fn(pod: &Value) -> Option<Fault>;

/// The baseline's checks, by their upstream ids; the restricted standard has its own where noted.
const BASELINE: [(Check, bool); 12] = [
    (baseline::app_armor_profile, false),
    (baseline::capabilities, true),
    (baseline::host_namespaces, false),
    (baseline::host_path_volumes, true),
    (baseline::host_ports, false),
    (baseline::host_probes_and_lifecycle, false),
    (baseline::privileged, false),
    (baseline::proc_mount, false),
    (baseline::se_linux_options, false),
    (baseline::seccomp_profile, true),
    (baseline::sysctls, false),
    (baseline::windows_host_process, false),
];

/// The restricted standard's checks and the minor releases that brought them.
const RESTRICTED: [(Check, u32); 6] = [
    (restricted::allow_privilege_escalation, 8),
    (restricted::capabilities, 22),
    (restricted::volumes, 0),
    (restricted::run_as_non_root, 0),
    (restricted::run_as_user, 23),
    (restricted::seccomp_profile, 19),
];

/// What a pod (or a pod's template) does that a standard forbids.
pub(crate) fn evaluate(standard: &Standard, pod: &Value) -> Option<Faults> {
    if standard.level == Level::Privileged {
        return None;
    }
    let is_restricted = standard.level == Level::Restricted;
    let mut faults: Vec<Fault> = BASELINE
        .iter()
        .filter(|(_, replaced)| !(is_restricted && *replaced))
        .filter_map(|(check, _)| check(pod))
        .collect();
    if is_restricted {
        let checks = RESTRICTED.iter().filter(|(_, since)| standard.version.has(*since));
        faults.extend(checks.filter_map(|(check, _)| check(pod)));
    }
    (!faults.is_empty()).then_some(Faults(faults))
}

impl Faults {
    /// `host namespaces (hostNetwork=true), …`
    pub(crate) fn details(&self) -> String {
        let shown = |fault: &Fault| match fault.detail.as_str() {
            "" => fault.reason.clone(),
            detail => format!("{} ({detail})", fault.reason),
        };
        self.0.iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    /// The reasons alone.
    pub(crate) fn reasons(&self) -> String {
        self.0.iter().map(|fault| fault.reason.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl Fault {
    /// A fault with its detail.
    pub(crate) fn new(reason: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { reason: reason.into(), detail: detail.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::Version;
    use super::*;

    fn details(level: Level, spec: &str) -> Option<String> {
        let pod = apiwright_json::decode(format!("{{\"spec\":{spec}}}").as_bytes()).unwrap().0;
        evaluate(&Standard { level, version: Version::Latest }, &pod).map(|faults| faults.details())
    }

    #[test]
    fn what_kube_apiserver_says() {
        for (level, spec, want) in [
            (Level::Baseline, r#"{"containers":[{"name":"c"}]}"#, None),
            (
                Level::Baseline,
                r#"{"containers":[{"name":"c","securityContext":{"privileged":true,"capabilities":{"add":["SYS_ADMIN","NET_ADMIN"]},"procMount":"Default"},"ports":[{"containerPort":80,"hostPort":80}]}],"hostNetwork":true,"hostPID":true,"volumes":[{"name":"h","hostPath":{"path":"/"}}],"securityContext":{"sysctls":[{"name":"kernel.msgmax","value":"1"}],"seccompProfile":{"type":"Unconfined"},"seLinuxOptions":{"type":"spc_t"}}}"#,
                Some(
                    "non-default capabilities (container \"c\" must not include \"NET_ADMIN\", \"SYS_ADMIN\" in securityContext.capabilities.add), \
                     host namespaces (hostNetwork=true, hostPID=true), hostPath volumes (volume \"h\"), hostPort (container \"c\" uses hostPort 80), \
                     privileged (container \"c\" must not set securityContext.privileged=true), \
                     seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type \"spc_t\"), \
                     seccompProfile (pod must not set securityContext.seccompProfile.type to \"Unconfined\"), forbidden sysctls (kernel.msgmax)",
                ),
            ),
            (
                Level::Restricted,
                r#"{"containers":[{"name":"c"}]}"#,
                Some(
                    "allowPrivilegeEscalation != false (container \"c\" must set securityContext.allowPrivilegeEscalation=false), \
                     unrestricted capabilities (container \"c\" must set securityContext.capabilities.drop=[\"ALL\"]), \
                     runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true), \
                     seccompProfile (pod or container \"c\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")",
                ),
            ),
            (
                Level::Restricted,
                r#"{"containers":[{"name":"a","securityContext":{"runAsUser":0,"capabilities":{"add":["NET_BIND_SERVICE"],"drop":["ALL"]},"allowPrivilegeEscalation":false}},{"name":"b","securityContext":{"runAsNonRoot":false,"seccompProfile":{"type":"Localhost"}}}],"initContainers":[{"name":"i"}],"volumes":[{"name":"n","nfs":{"path":"/"}}]}"#,
                Some(
                    "allowPrivilegeEscalation != false (containers \"i\", \"b\" must set securityContext.allowPrivilegeEscalation=false), \
                     unrestricted capabilities (containers \"i\", \"b\" must set securityContext.capabilities.drop=[\"ALL\"]), \
                     restricted volume types (volume \"n\" uses restricted volume type \"nfs\"), \
                     runAsNonRoot != true (container \"b\" must not set securityContext.runAsNonRoot=false), \
                     runAsUser=0 (container \"a\" must not set runAsUser=0), \
                     seccompProfile (pod or containers \"i\", \"a\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")",
                ),
            ),
            (
                Level::Restricted,
                r#"{"containers":[{"name":"c","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}],"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}}"#,
                None,
            ),
        ] {
            assert_eq!(details(level, spec).as_deref(), want);
        }
    }
}
