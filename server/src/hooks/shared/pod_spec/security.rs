//! Security contexts of pods and containers.

use apiwright_json::Value;
use apiwright_meta::Path;
use apiwright_meta::field::{go_value, quoted};

use super::validate::Context;
use super::{flag, number, windows};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::volume_source;

const ID_MAX: i64 = i32::MAX as i64;
const PROFILE_BYTES_MAX: usize = 4095;
const SYSCTL_BYTES_MAX: usize = 253;
const SYSCTL: &str = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

/// The faults of a pod's security context.
pub(super) fn pod(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    let Some(security) = context.spec.get("securityContext") else { return };
    for member in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(number(security, member), &path.child(member), out);
    }
    for (at, group) in cells::items(security, &["supplementalGroups"]).iter().enumerate() {
        id(group.as_i64(), &path.child("supplementalGroups").index(at), out);
    }
    if flag(context.spec, "hostPID") && flag(context.spec, "shareProcessNamespace") {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        out.invalid(path.child("shareProcessNamespace"), true, why);
    }
    sysctls(context, security, &path.child("sysctls"), out);
    out.declared(&path.child("fsGroupChangePolicy"));
    seccomp(security, &path.child("seccompProfile"), out);
    windows::options(security, &path.child("windowsOptions"), out);
    app_armor(security, &path.child("appArmorProfile"), out);
    out.declared(&path.child("supplementalGroupsPolicy"));
    if let Some(policy) = security.get("seLinuxChangePolicy").and_then(Value::as_str)
        && !["MountOption", "Recursive"].contains(&policy)
    {
        out.not_supported(path.child("seLinuxChangePolicy"), quoted(policy), &["MountOption", "Recursive"]);
    }
}

/// The faults of a container's security context.
pub(super) fn container(context: &Context<'_>, security: &Value, path: &Path, out: &mut Faults<'_>) {
    for member in ["runAsUser", "runAsGroup"] {
        id(number(security, member), &path.child(member), out);
    }
    out.declared(&path.child("procMount"));
    if security.text_at(&["procMount"]) == "Unmasked" && context.host_users {
        let why = "`hostUsers` must be false to use `Unmasked`";
        out.invalid(path.child("procMount"), quoted("Unmasked"), why);
    }
    seccomp(security, &path.child("seccompProfile"), out);
    if security.get("allowPrivilegeEscalation").and_then(Value::as_bool) == Some(false) {
        if flag(security, "privileged") {
            let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            out.invalid(path.clone(), shown(security), why);
        }
        let added = cells::items(security, &["capabilities", "add"]);
        if added.iter().any(|one| one.as_str() == Some("CAP_SYS_ADMIN")) {
            let why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            out.invalid(path.clone(), shown(security), why);
        }
    }
    windows::options(security, &path.child("windowsOptions"), out);
    app_armor(security, &path.child("appArmorProfile"), out);
}

/// As Go's encoder prints upstream's internal type.
fn shown(security: &Value) -> String {
    let ty = crate::generated::catalogue().definition("io.k8s.api.core.v1.Container");
    ty.and_then(|ty| ty.field("securityContext"))
        .map_or_else(|| go_value(security), |field| apiwright_schema::go::internal(&field.node, security))
}

fn id(id: Option<i64>, path: &Path, out: &mut Faults<'_>) {
    if let Some(id) = id.filter(|id| !(0..=ID_MAX).contains(id)) {
        out.invalid(path.clone(), id, &format!("must be between 0 and {ID_MAX}, inclusive"));
    }
}

fn sysctls(context: &Context<'_>, security: &Value, path: &Path, out: &mut Faults<'_>) {
    let mut seen = std::collections::HashSet::new();
    for (at, sysctl) in cells::items(security, &["sysctls"]).iter().enumerate() {
        let path = path.index(at).child("name");
        let name = sysctl.text_at(&["name"]);
        if name.is_empty() {
            out.required(path.clone(), "");
        } else if name.len() > SYSCTL_BYTES_MAX || !name.split(['.', '/']).all(is_sysctl_segment) {
            let why = format!("must have at most {SYSCTL_BYTES_MAX} characters and match regex {SYSCTL}");
            out.invalid(path.clone(), quoted(name), &why);
        } else if !seen.insert(name) {
            out.duplicate(path.clone(), quoted(name));
        }
        let dotted = name.replace('/', ".");
        let is_ipc = ["kernel.shm", "kernel.msg", "fs.mqueue."].iter().any(|one| dotted.starts_with(one))
            || dotted == "kernel.sem";
        if dotted.starts_with("net.") && flag(context.spec, "hostNetwork") {
            out.invalid(path, quoted(name), "may not be specified when 'hostNetwork' is true");
        } else if is_ipc && flag(context.spec, "hostIPC") {
            out.invalid(path, quoted(name), "may not be specified when 'hostIPC' is true");
        }
    }
}

fn is_sysctl_segment(segment: &str) -> bool {
    let is_plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = segment.as_bytes();
    bytes.first().is_some_and(|&c| is_plain(c))
        && bytes.last().is_some_and(|&c| is_plain(c))
        && bytes.iter().all(|&c| is_plain(c) || c == b'-' || c == b'_')
}

fn seccomp(security: &Value, path: &Path, out: &mut Faults<'_>) {
    let Some(profile) = security.get("seccompProfile") else { return };
    let local = profile.get("localhostProfile").and_then(Value::as_str);
    let local_path = path.child("localhostProfile");
    match profile.text_at(&["type"]) {
        "" => out.required(path.child("type"), "type is required when seccompProfile is set"),
        _ => out.declared(&path.child("type")),
    }
    match (profile.text_at(&["type"]), local) {
        ("Localhost", None) => out.required(local_path, "must be set when seccomp type is Localhost"),
        ("Localhost", Some(local)) => volume_source::descending(local, &local_path, out),
        (kind, Some(local)) => {
            let value = format!("{{\"Type\":{},\"LocalhostProfile\":{}}}", quoted(kind), quoted(local));
            out.invalid(local_path, value, "can only be set when seccomp type is Localhost");
        }
        (_, None) => {}
    }
}

fn app_armor(security: &Value, path: &Path, out: &mut Faults<'_>) {
    const MUST: &str = "must be set when AppArmor type is Localhost";
    let Some(profile) = security.get("appArmorProfile") else { return };
    let local = profile.get("localhostProfile").and_then(Value::as_str);
    let local_path = path.child("localhostProfile");
    match (profile.text_at(&["type"]), local) {
        ("", _) => out.required(path.child("type"), "type is required when appArmorProfile is set"),
        ("Localhost", None) => out.required(local_path, MUST),
        ("Localhost", Some(local)) => {
            if local.trim() != local {
                out.invalid(local_path.clone(), quoted(local), "must not be padded with whitespace");
            } else if local.is_empty() {
                out.required(local_path.clone(), MUST);
            }
            if local.len() > PROFILE_BYTES_MAX {
                out.too_long(local_path, PROFILE_BYTES_MAX);
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(local)) => {
            out.invalid(local_path, quoted(local), "can only be set when AppArmor type is Localhost");
        }
        _ => {}
    }
    out.declared(&path.child("type"));
}
