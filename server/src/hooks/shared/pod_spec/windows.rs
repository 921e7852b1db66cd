//! What only Windows has, and what it has not.

use apiwright_json::Value;
use apiwright_meta::Path;
use apiwright_meta::field::quoted;

use super::validate::Context;
use super::{CONTAINER_LISTS, flag};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

const NOT_ON_WINDOWS: &str = "cannot be set for a windows pod";
const CREDENTIAL_BYTES_MAX: usize = 64 * 1024;

/// What a pod on Windows cannot have; the first part of the path is missing where the spec has it.
const POD: [(&str, &str); 15] = [
    ("securityContext", "appArmorProfile"),
    ("securityContext", "seLinuxOptions"),
    ("", "hostUsers"),
    ("", "hostPID"),
    ("", "hostIPC"),
    ("securityContext", "seccompProfile"),
    ("securityContext", "fsGroup"),
    ("securityContext", "fsGroupChangePolicy"),
    ("securityContext", "sysctls"),
    ("", "shareProcessNamespace"),
    ("securityContext", "runAsUser"),
    ("securityContext", "runAsGroup"),
    ("securityContext", "supplementalGroups"),
    ("securityContext", "supplementalGroupsPolicy"),
    ("securityContext", "seLinuxChangePolicy"),
];

/// What a container on Windows cannot have.
const CONTAINER: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// The faults of what the operating system cannot do.
pub(super) fn os(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    let Some(os) = context.spec.get("os") else { return };
    match os.text_at(&["name"]) {
        "" => out.required(path.child("os").child("name"), "cannot be empty"),
        "linux" => linux(context, path, out),
        "windows" => windows(context, path, out),
        other => out.not_supported(path.child("os"), quoted(other), &["linux", "windows"]),
    }
}

fn linux(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    let why = "windows options cannot be set for a linux pod";
    if context.spec.at(&["securityContext", "windowsOptions"]).is_some() {
        out.forbidden(path.child("securityContext").child("windowsOptions"), why);
    }
    each_security(context, path, |security, path| {
        if security.get("windowsOptions").is_some() {
            out.forbidden(path.child("windowsOptions"), why);
        }
    });
}

fn windows(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    for (part, member) in POD {
        let (holder, path) = match part {
            "" => (Some(context.spec), path.clone()),
            part => (context.spec.get(part), path.child(part)),
        };
        let is_host = member == "hostPID" || member == "hostIPC";
        let is_set =
            |holder: &Value| if is_host { flag(holder, member) } else { holder.get(member).is_some() };
        if holder.is_some_and(is_set) {
            out.forbidden(path.child(member), NOT_ON_WINDOWS);
        }
    }
    each_security(context, path, |security, path| {
        for member in CONTAINER.into_iter().filter(|member| security.get(member).is_some()) {
            out.forbidden(path.child(member), NOT_ON_WINDOWS);
        }
    });
}

fn each_security(context: &Context<'_>, path: &Path, mut look: impl FnMut(&Value, &Path)) {
    for list in CONTAINER_LISTS {
        for (at, container) in cells::items(context.spec, &[list]).iter().enumerate() {
            if let Some(security) = container.get("securityContext") {
                look(security, &path.child(list).index(at).child("securityContext"));
            }
        }
    }
}

/// The faults of the options of one security context.
pub(super) fn options(security: &Value, path: &Path, out: &mut Faults<'_>) {
    let Some(options) = security.get("windowsOptions") else { return };
    if let Some(name) = options.get("gmsaCredentialSpecName").and_then(Value::as_str) {
        let faults = apiwright_meta::names::dns1123_subdomain(name);
        out.invalid_each(&path.child("gmsaCredentialSpecName"), name, faults);
    }
    if let Some(spec) = options.get("gmsaCredentialSpec").and_then(Value::as_str) {
        let path = path.child("gmsaCredentialSpec");
        if spec.is_empty() {
            out.invalid(path, quoted(spec), "gmsaCredentialSpec cannot be an empty string");
        } else if spec.len() > CREDENTIAL_BYTES_MAX {
            out.invalid(path, quoted(spec), "gmsaCredentialSpec size must be under 64 KiB");
        }
    }
    if let Some(user) = options.get("runAsUserName").and_then(Value::as_str) {
        user_name(user, &path.child("runAsUserName"), out);
    }
}

/// `DOMAIN\user` or `user`.
fn user_name(user: &str, path: &Path, out: &mut Faults<'_>) {
    let mut refuse = |why: &str| out.invalid(path.clone(), quoted(user), why);
    if user.is_empty() {
        refuse("runAsUserName cannot be an empty string");
        return;
    }
    if user.chars().any(char::is_control) {
        refuse("runAsUserName cannot contain control characters");
        return;
    }
    let parts: Vec<&str> = user.split('\\').collect();
    let (domain, name) = match parts.as_slice() {
        [name] => (None, *name),
        [domain, name] => (Some(*domain), *name),
        _ => {
            refuse("runAsUserName cannot contain more than one backslash");
            return;
        }
    };
    if let Some(domain) = domain {
        if domain.len() >= 256 {
            refuse("runAsUserName's Domain length must be under 256 characters");
        }
        if !is_netbios(domain) && !is_dns(domain) {
            refuse("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
        }
    }
    if name.is_empty() {
        refuse("runAsUserName's User cannot be empty");
    } else if name.len() > 104 {
        refuse("runAsUserName's User length must not be longer than 104 characters");
    }
    if !name.is_empty() && name.chars().all(|c| c == '.' || c == ' ') {
        refuse("runAsUserName's User cannot contain only periods or spaces");
    }
    if name.contains(['"', '/', '\\', '[', ']', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@']) {
        refuse("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
    }
}

fn is_netbios(domain: &str) -> bool {
    (1..=15).contains(&domain.chars().count())
        && !domain.starts_with('.')
        && !domain.contains(['\\', '/', ':', '*', '?', '"', '<', '>', '|'])
}

fn is_dns(domain: &str) -> bool {
    domain.split('.').all(|label| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

/// The faults of pods whose containers are processes of a Windows host.
pub(super) fn host_process(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    let wish = |security: Option<&Value>| {
        security.and_then(|one| one.at(&["windowsOptions", "hostProcess"])).and_then(Value::as_bool)
    };
    let pod = wish(context.spec.get("securityContext"));
    let (mut some, mut all) = (false, true);
    for list in CONTAINER_LISTS {
        for (at, container) in cells::items(context.spec, &[list]).iter().enumerate() {
            let own = wish(container.get("securityContext"));
            if let (Some(pod), Some(own)) = (pod, own)
                && pod != own
            {
                let path = path.child(list).index(at).child("securityContext").child("windowsOptions");
                let why = format!("pod hostProcess value must be identical if both are specified, was {pod}");
                out.invalid(path.child("hostProcess"), own, &why);
            }
            let effective = own.or(pod).unwrap_or_default();
            some |= effective;
            all &= effective;
        }
    }
    if !some {
        return;
    }
    if !all {
        let why =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        out.invalid(path.clone(), quoted(""), why);
    }
    if !flag(context.spec, "hostNetwork") {
        out.invalid(
            path.child("hostNetwork"),
            false,
            "hostNetwork must be true if pod contains any hostProcess containers",
        );
    }
}
