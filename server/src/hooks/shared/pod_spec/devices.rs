//! What containers mount, and which devices they see.

use std::collections::HashSet;

use apiwright_json::Value;
use apiwright_meta::Path;
use apiwright_meta::field::quoted;

use super::validate::Context;
use super::{containers, flag};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::volume_source;

/// The faults of a container's mounts.
pub(super) fn mounts(context: &Context<'_>, container: &Value, list: &Path, out: &mut Faults<'_>) {
    let devices = cells::items(container, &["volumeDevices"]);
    let mut seen = HashSet::new();
    for (at, mount) in cells::items(container, &["volumeMounts"]).iter().enumerate() {
        let path = list.index(at);
        let (name, mounted) = (mount.text_at(&["name"]), mount.text_at(&["mountPath"]));
        out.declared(&path.child("name"));
        let volume = context.volumes.get(name);
        if volume.is_none() {
            out.not_found(path.child("name"), quoted(name));
        }
        out.declared(&path.child("mountPath"));
        if !seen.insert(mounted) {
            out.invalid(path.child("mountPath"), quoted(mounted), "must be unique");
        }
        if devices.iter().any(|device| device.text_at(&["name"]) == name) {
            out.invalid(path.child("name"), quoted(name), "must not already exist in volumeDevices");
        }
        if devices.iter().any(|device| device.text_at(&["devicePath"]) == mounted) {
            let why = "must not already exist as a path in volumeDevices";
            out.invalid(path.child("mountPath"), quoted(mounted), why);
        }
        sub_paths(mount, &path, list, out);
        propagation(container, mount, &path, list, out);
        recursive(mount, &list.child("recursiveReadOnly"), out);
    }
}

fn sub_paths(mount: &Value, path: &Path, list: &Path, out: &mut Faults<'_>) {
    let (sub, expression) = (mount.text_at(&["subPath"]), mount.text_at(&["subPathExpr"]));
    if !sub.is_empty() {
        volume_source::descending(sub, &list.child("subPath"), out);
    }
    if !expression.is_empty() {
        if !sub.is_empty() {
            let why = "subPathExpr and subPath are mutually exclusive";
            out.invalid(path.child("subPathExpr"), quoted(expression), why);
        }
        volume_source::descending(expression, &list.child("subPathExpr"), out);
    }
}

/// Only who has all rights can mount for others.
fn propagation(container: &Value, mount: &Value, path: &Path, list: &Path, out: &mut Faults<'_>) {
    out.declared(&path.child("mountPropagation"));
    if mount.text_at(&["mountPropagation"]) == "Bidirectional" && !containers::is_privileged(container) {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        out.forbidden(list.child("mountPropagation"), why);
    }
}

fn recursive(mount: &Value, path: &Path, out: &mut Faults<'_>) {
    let Some(mode) = mount.get("recursiveReadOnly").and_then(Value::as_str) else { return };
    match mode {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !flag(mount, "readOnly") {
                out.forbidden(path.clone(), "may only be specified when readOnly is true");
            }
            if !matches!(mount.text_at(&["mountPropagation"]), "" | "None") {
                out.forbidden(
                    path.clone(),
                    "may only be specified when mountPropagation is None or not specified",
                );
            }
        }
        other => out.not_supported(path.clone(), quoted(other), &["Disabled", "Enabled", "IfPossible"]),
    }
}

/// The faults of a container's devices.
pub(super) fn devices(context: &Context<'_>, container: &Value, list: &Path, out: &mut Faults<'_>) {
    let mounts = cells::items(container, &["volumeMounts"]);
    let (mut names, mut paths) = (HashSet::new(), HashSet::new());
    for (at, device) in cells::items(container, &["volumeDevices"]).iter().enumerate() {
        let path = list.index(at);
        let (name, seen_at) = (device.text_at(&["name"]), device.text_at(&["devicePath"]));
        out.declared(&path.child("name"));
        if names.contains(name) {
            out.invalid(path.child("name"), quoted(name), "must be unique");
        }
        match context.volumes.get(name) {
            None => out.not_found(path.child("name"), quoted(name)),
            Some(false) => {
                let why =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                out.invalid(path.child("name"), quoted(name), why);
            }
            Some(true) => {}
        }
        out.declared(&path.child("devicePath"));
        if paths.contains(seen_at) {
            out.invalid(path.child("devicePath"), quoted(seen_at), "must be unique");
        }
        if seen_at.split('/').any(|part| part == "..") {
            out.invalid(path.child("devicePath"), quoted(seen_at), "can not contain backsteps ('..')");
        } else {
            paths.insert(seen_at);
        }
        if mounts.iter().any(|mount| mount.text_at(&["name"]) == name) {
            out.invalid(path.child("name"), quoted(name), "must not already exist in volumeMounts");
        }
        if mounts.iter().any(|mount| mount.text_at(&["mountPath"]) == seen_at) {
            let why = "must not already exist as a path in volumeMounts";
            out.invalid(path.child("devicePath"), quoted(seen_at), why);
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
}
