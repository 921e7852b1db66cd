//! The baseline standard: nothing that is known to let a pod out of its box.

use std::collections::BTreeSet;

use apiwright_json::Value;
use apiwright_meta::object;

use super::fields::{
    Bad, bad_values, containers, named, of_pod, picked, plural, quoted, security, setters, texts,
};
use super::verdict::Fault;
use crate::plugins::values::{items, text};

/// Capabilities that container runtimes grant anyway.
const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

const SYSCTLS: [&str; 12] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
];

const SE_LINUX_TYPES: [&str; 5] =
    ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];
const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

pub(crate) fn app_armor_profile(pod: &Value) -> Option<Fault> {
    let bad =
        bad_values(pod, &["appArmorProfile", "type"], |kind| ["RuntimeDefault", "Localhost"].contains(&kind));
    let annotations: Vec<String> = object::annotations(pod)
        .filter(|(key, _)| key.starts_with(APP_ARMOR_ANNOTATION))
        .filter(|(_, profile)| {
            !profile.is_empty() && *profile != "runtime/default" && !profile.starts_with("localhost/")
        })
        .map(|(key, profile)| format!("{key}=\"{profile}\""))
        .collect();
    let mut details = Vec::new();
    if !bad.is_empty() {
        let values = quoted(&bad.values);
        details.push(format!("{} must not set AppArmor profile type to {values}", bad.setters()));
    }
    if !annotations.is_empty() {
        let word = plural("annotation", "annotations", annotations.len());
        details.push(format!("{word} {}", annotations.join(", ")));
    }
    let count = bad.values.len() + annotations.len();
    let reason = plural("forbidden AppArmor profile", "forbidden AppArmor profiles", count);
    (count > 0).then(|| Fault::new(reason, details.join(" and ")))
}

pub(crate) fn capabilities(pod: &Value) -> Option<Fault> {
    added_capabilities(pod, &CAPABILITIES).map(|detail| Fault::new("non-default capabilities", detail))
}

/// What is said of containers that add capabilities besides these.
pub(crate) fn added_capabilities(pod: &Value, allowed: &[&str]) -> Option<String> {
    fn added(container: &Value) -> impl Iterator<Item = &str> {
        texts(security(container, &["capabilities", "add"]))
    }
    let bad = picked(pod, |container| added(container).any(|one| !allowed.contains(&one)));
    let values: BTreeSet<&str> =
        containers(pod).flat_map(added).filter(|one| !allowed.contains(one)).collect();
    (!bad.is_empty()).then(|| {
        format!("{} must not include {} in securityContext.capabilities.add", named(&bad), quoted(values))
    })
}

pub(crate) fn host_namespaces(pod: &Value) -> Option<Fault> {
    let set = |member: &&str| pod.at(&["spec", member]).and_then(Value::as_bool).unwrap_or_default();
    let shared: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
        .iter()
        .filter(|one| set(one))
        .map(|one| format!("{one}=true"))
        .collect();
    (!shared.is_empty()).then(|| Fault::new("host namespaces", shared.join(", ")))
}

pub(crate) fn host_path_volumes(pod: &Value) -> Option<Fault> {
    let volumes: Vec<&str> = items(pod, &["spec", "volumes"])
        .filter(|volume| volume.get("hostPath").is_some())
        .map(|volume| text(volume, "name"))
        .collect();
    let word = plural("volume", "volumes", volumes.len());
    (!volumes.is_empty()).then(|| Fault::new("hostPath volumes", format!("{word} {}", quoted(&volumes))))
}

pub(crate) fn host_ports(pod: &Value) -> Option<Fault> {
    fn ports_of(container: &Value) -> impl Iterator<Item = i64> {
        let ports =
            items(container, &["ports"]).filter_map(|port| port.get("hostPort").and_then(Value::as_i64));
        ports.filter(|port| *port != 0)
    }
    let bad = picked(pod, |container| ports_of(container).next().is_some());
    let ports: BTreeSet<String> = containers(pod).flat_map(ports_of).map(|port| port.to_string()).collect();
    let word = plural("hostPort", "hostPorts", ports.len());
    let verb = plural("uses", "use", bad.len());
    let list = ports.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    (!bad.is_empty()).then(|| Fault::new(word, format!("{} {verb} {word} {list}", named(&bad))))
}

pub(crate) fn host_probes_and_lifecycle(pod: &Value) -> Option<Fault> {
    const HANDLERS: [&[&str]; 5] = [
        &["livenessProbe"],
        &["readinessProbe"],
        &["startupProbe"],
        &["lifecycle", "postStart"],
        &["lifecycle", "preStop"],
    ];
    let hosts_of = |container: &'_ Value| -> Vec<String> {
        let handlers = HANDLERS.iter().filter_map(|path| container.at(path));
        let hosts = handlers
            .flat_map(|handler| ["httpGet", "tcpSocket"].map(|kind| handler.text_at(&[kind, "host"])));
        hosts.filter(|host| !host.is_empty()).map(str::to_owned).collect()
    };
    let bad = picked(pod, |container| !hosts_of(container).is_empty());
    let hosts: BTreeSet<String> = containers(pod).flat_map(hosts_of).collect();
    let word = plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.len());
    let verb = plural("uses", "use", bad.len());
    (!bad.is_empty()).then(|| {
        Fault::new("probe or lifecycle host", format!("{} {verb} {word} {}", named(&bad), quoted(&hosts)))
    })
}

pub(crate) fn privileged(pod: &Value) -> Option<Fault> {
    let bad = picked(pod, |container| is_true(security(container, &["privileged"])));
    (!bad.is_empty()).then(|| {
        Fault::new("privileged", format!("{} must not set securityContext.privileged=true", named(&bad)))
    })
}

pub(crate) fn proc_mount(pod: &Value) -> Option<Fault> {
    let Bad { containers, values, .. } = bad_values(pod, &["procMount"], |kind| kind == "Default");
    (!values.is_empty()).then(|| {
        let detail =
            format!("{} must not set securityContext.procMount to {}", named(&containers), quoted(values));
        Fault::new("procMount", detail)
    })
}

pub(crate) fn se_linux_options(pod: &Value) -> Option<Fault> {
    let fine = |kind: &str| SE_LINUX_TYPES.contains(&kind);
    let types = bad_values(pod, &["seLinuxOptions", "type"], fine);
    let users = bad_values(pod, &["seLinuxOptions", "user"], str::is_empty);
    let roles = bad_values(pod, &["seLinuxOptions", "role"], str::is_empty);
    let all = [&types, &users, &roles];
    let by_pod = all.iter().any(|bad| bad.pod);
    let by = picked(pod, |container| all.iter().any(|bad| bad.containers.contains(&text(container, "name"))));
    let mut data = Vec::new();
    if !types.is_empty() {
        data.push(format!("{} {}", plural("type", "types", types.values.len()), quoted(&types.values)));
    }
    if !users.is_empty() {
        data.push("user may not be set".into());
    }
    if !roles.is_empty() {
        data.push("role may not be set".into());
    }
    (!data.is_empty()).then(|| {
        let who = setters(by_pod, &by);
        Fault::new(
            "seLinuxOptions",
            format!("{who} set forbidden securityContext.seLinuxOptions: {}", data.join("; ")),
        )
    })
}

pub(crate) fn seccomp_profile(pod: &Value) -> Option<Fault> {
    let bad = bad_values(pod, &["seccompProfile", "type"], is_confined);
    (!bad.is_empty()).then(|| Fault::new("seccompProfile", unconfined(&bad)))
}

/// Whether a seccomp profile confines at all.
pub(crate) fn is_confined(kind: &str) -> bool {
    ["RuntimeDefault", "Localhost"].contains(&kind)
}

/// What is said of those that are not confined.
pub(crate) fn unconfined(bad: &Bad<'_>) -> String {
    format!("{} must not set securityContext.seccompProfile.type to {}", bad.setters(), quoted(&bad.values))
}

pub(crate) fn sysctls(pod: &Value) -> Option<Fault> {
    let list = of_pod(pod, &["sysctls"]).and_then(Value::as_array);
    let names = list.into_iter().flatten().map(|sysctl| text(sysctl, "name"));
    let bad: Vec<&str> = names.filter(|name| !SYSCTLS.contains(name)).collect();
    (!bad.is_empty()).then(|| Fault::new("forbidden sysctls", bad.join(", ")))
}

pub(crate) fn windows_host_process(pod: &Value) -> Option<Fault> {
    let path = ["windowsOptions", "hostProcess"];
    let by_pod = is_true(of_pod(pod, &path));
    let bad = picked(pod, |container| is_true(security(container, &path)));
    (by_pod || !bad.is_empty()).then(|| {
        let who = setters(by_pod, &bad);
        Fault::new(
            "hostProcess",
            format!("{who} must not set securityContext.windowsOptions.hostProcess=true"),
        )
    })
}

fn is_true(value: Option<&Value>) -> bool {
    value.and_then(Value::as_bool).unwrap_or_default()
}
