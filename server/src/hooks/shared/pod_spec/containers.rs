//! Containers: regular, init and ephemeral ones.

use std::collections::HashSet;

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{Path, names};

use super::validate::Context;
use super::{devices, env, flag, number, probes, requirements, security};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

const EPHEMERAL: &str = "cannot be set for an Ephemeral Container";
const NO_SIDECAR: &str = "may not be set for init containers without restartPolicy=Always";

/// What an ephemeral container may not have, in the order of upstream's type.
const NOT_EPHEMERAL: [&str; 8] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
];

/// The faults of the regular containers.
pub(super) fn regular(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    out.declared(path);
    let containers = cells::items(context.spec, &["containers"]);
    let mut names = HashSet::new();
    for (at, container) in containers.iter().enumerate() {
        let path = path.index(at);
        common(context, container, &path, out);
        let name = container.text_at(&["name"]);
        if !names.insert(name) {
            out.duplicate(path.child("name"), quoted(name));
        }
        probes::faults(context, container, &path, out);
        restart_policy(container, &path, out);
    }
    host_ports(containers.iter().enumerate().map(|(at, one)| (path.index(at), one)), out);
    for (at, container) in containers.iter().enumerate().filter(|_| context.is_pod()) {
        padded_image(container, &path.index(at), out);
    }
}

/// The faults of the init containers.
pub(super) fn init(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    let mut names: HashSet<&str> = names_of(context.spec, "containers").collect();
    for (at, container) in cells::items(context.spec, &["initContainers"]).iter().enumerate() {
        let path = path.index(at);
        common(context, container, &path, out);
        restart_policy(container, &path, out);
        let name = container.text_at(&["name"]);
        if !name.is_empty() && !names.insert(name) {
            out.duplicate(path.child("name"), quoted(name));
        }
        host_ports(std::iter::once((path.clone(), container)), out);
        if is_sidecar(container) {
            probes::faults(context, container, &path, out);
        } else {
            for member in probes::MEMBERS.iter().filter(|member| container.get(member).is_some()) {
                out.forbidden(path.child(member), NO_SIDECAR);
            }
        }
        if context.is_pod() {
            padded_image(container, &path, out);
        }
    }
}

/// The faults of the ephemeral containers.
pub(super) fn ephemeral(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    let others: HashSet<&str> =
        ["containers", "initContainers"].iter().flat_map(|list| names_of(context.spec, list)).collect();
    let mut names = others.clone();
    for (at, container) in cells::items(context.spec, &["ephemeralContainers"]).iter().enumerate() {
        let path = path.index(at);
        common(context, container, &path, out);
        padded_image(container, &path, out);
        let name = container.text_at(&["name"]);
        if !names.insert(name) {
            out.duplicate(path.child("name"), quoted(name));
        }
        let target = container.text_at(&["targetContainerName"]);
        if !target.is_empty() && !others.contains(target) {
            out.not_found(path.child("targetContainerName"), quoted(target));
        }
        for member in NOT_EPHEMERAL.into_iter().chain(["lifecycle"]) {
            let is_empty_struct =
                |value: &Value| value.as_object().is_some_and(apiwright_json::Object::is_empty);
            let value = container.get(member);
            if value.is_some_and(|value| member != "resources" || !is_empty_struct(value)) {
                out.forbidden(path.child(member), EPHEMERAL);
            }
        }
        for (at, mount) in cells::items(container, &["volumeMounts"]).iter().enumerate() {
            for member in ["subPath", "subPathExpr"] {
                if !mount.text_at(&[member]).is_empty() {
                    out.forbidden(path.child("volumeMounts").index(at).child(member), EPHEMERAL);
                }
            }
        }
    }
}

/// Whether an init container keeps running.
pub(super) fn is_sidecar(container: &Value) -> bool {
    container.text_at(&["restartPolicy"]) == "Always"
}

/// What is asked of every container.
fn common(context: &Context<'_>, container: &Value, path: &Path, out: &mut Faults<'_>) {
    for member in ["name", "image", "terminationMessagePolicy"] {
        out.declared(&path.child(member));
    }
    ports(container, &path.child("ports"), out);
    env::faults(container, path, out);
    devices::mounts(context, container, &path.child("volumeMounts"), out);
    devices::devices(context, container, &path.child("volumeDevices"), out);
    out.declared(&path.child("imagePullPolicy"));
    requirements::container(context, container, &path.child("resources"), out);
    requirements::resize_policy(context, container, &path.child("resizePolicy"), out);
    if let Some(security) = container.get("securityContext") {
        security::container(context, security, &path.child("securityContext"), out);
    }
}

fn ports(container: &Value, path: &Path, out: &mut Faults<'_>) {
    let mut seen = HashSet::new();
    for (at, port) in cells::items(container, &["ports"]).iter().enumerate() {
        let path = path.index(at);
        let name = port.text_at(&["name"]);
        if !name.is_empty() {
            let faults = names::port_name(name);
            if faults.is_empty() && !seen.insert(name) {
                out.duplicate(path.child("name"), quoted(name));
            }
            out.invalid_each(&path.child("name"), name, faults);
        }
        match number(port, "containerPort").unwrap_or_default() {
            0 => out.required(path.child("containerPort"), ""),
            number => port_number(number, &path.child("containerPort"), out),
        }
        match number(port, "hostPort").unwrap_or_default() {
            0 => {}
            number => port_number(number, &path.child("hostPort"), out),
        }
        out.declared_below(&path);
    }
}

fn port_number(number: i64, path: &Path, out: &mut Faults<'_>) {
    for why in names::port_num(number) {
        out.invalid(path.clone(), number, &why);
    }
}

/// A port of the host belongs to one container.
fn host_ports<'a>(containers: impl Iterator<Item = (Path, &'a Value)>, out: &mut Faults<'_>) {
    let mut seen = HashSet::new();
    for (path, container) in containers {
        for (at, port) in cells::items(container, &["ports"]).iter().enumerate() {
            let number = number(port, "hostPort").unwrap_or_default();
            if number == 0 {
                continue;
            }
            let text = format!("{}/{}/{number}", port.text_at(&["protocol"]), port.text_at(&["hostIP"]));
            let path = path.child("ports").index(at).child("hostPort");
            if seen.contains(&text) {
                out.duplicate(path, quoted(&text));
            } else {
                seen.insert(text);
            }
        }
    }
}

/// How a container starts again, and by which rules.
fn restart_policy(container: &Value, path: &Path, out: &mut Faults<'_>) {
    const POLICIES: [&str; 3] = ["Always", "Never", "OnFailure"];
    let policy = container.get("restartPolicy").and_then(Value::as_str);
    if let Some(policy) = policy.filter(|policy| !POLICIES.contains(policy)) {
        out.not_supported(path.child("restartPolicy"), quoted(policy), &POLICIES);
    }
    let rules = cells::items(container, &["restartPolicyRules"]);
    let rules_path = path.child("restartPolicyRules");
    if !rules.is_empty() && policy.is_none() {
        out.required(path.child("restartPolicy"), "must specify restartPolicy when restart rules are used");
    }
    if rules.len() > 20 {
        out.too_many(rules_path.clone(), rules.len(), 20);
    }
    for (at, rule) in rules.iter().enumerate() {
        let path = rules_path.index(at);
        match rule.text_at(&["action"]) {
            "Restart" | "RestartAllContainers" => {}
            "" => out.required(path.child("action"), ""),
            other => {
                out.not_supported(path.child("action"), quoted(other), &["Restart", "RestartAllContainers"]);
            }
        }
        let Some(codes) = rule.get("exitCodes") else {
            out.required(path.child("exitCodes"), "must be specified");
            continue;
        };
        let path = path.child("exitCodes");
        match codes.text_at(&["operator"]) {
            "In" | "NotIn" => {}
            "" => out.required(path.child("operator"), ""),
            other => out.not_supported(path.child("operator"), quoted(other), &["In", "NotIn"]),
        }
        match cells::items(codes, &["values"]).len() {
            0 => out.invalid(path.child("values"), "[]", "must specify at least one value"),
            count if count > 255 => out.too_many(path.child("values"), count, 255),
            _ => {}
        }
    }
}

fn padded_image(container: &Value, path: &Path, out: &mut Faults<'_>) {
    let image = container.text_at(&["image"]);
    if image.trim() != image {
        out.invalid(path.child("image"), quoted(image), "must not have leading or trailing whitespace");
    }
}

fn names_of<'a>(spec: &'a Value, list: &str) -> impl Iterator<Item = &'a str> {
    cells::items(spec, &[list]).iter().map(|container| container.text_at(&["name"]))
}

/// Whether a container has all rights.
pub(super) fn is_privileged(container: &Value) -> bool {
    container.get("securityContext").is_some_and(|security| flag(security, "privileged"))
}
