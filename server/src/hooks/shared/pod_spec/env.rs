//! Environment variables and where their values come from.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{Path, names};

use super::downward;
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::volume_source;

/// The fields of a pod that variables can have.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// The faults of a container's variables.
pub(super) fn faults(container: &Value, path: &Path, out: &mut Faults<'_>) {
    for (at, variable) in cells::items(container, &["env"]).iter().enumerate() {
        let path = path.child("env").index(at);
        let name = variable.text_at(&["name"]);
        out.declared(&path.child("name"));
        if !name.is_empty() {
            out.invalid_each(&path.child("name"), name, names::relaxed_env_var_name(name));
        }
        if let Some(source) = variable.get("valueFrom") {
            value_from(variable, source, &path.child("valueFrom"), out);
        }
    }
    let list = path.child("envFrom");
    for (at, source) in cells::items(container, &["envFrom"]).iter().enumerate() {
        let path = list.index(at);
        let prefix = source.text_at(&["prefix"]);
        if !prefix.is_empty() {
            out.invalid_each(&path.child("prefix"), prefix, names::relaxed_env_var_name(prefix));
        }
        let mut sources = 0;
        for member in ["configMapRef", "secretRef"] {
            if let Some(source) = source.get(member) {
                sources += 1;
                object_name(source, &path.child(member), out);
            }
        }
        if sources == 0 {
            out.invalid(list.clone(), quoted(""), "must specify one of: `configMapRef` or `secretRef`");
        } else if sources > 1 {
            out.invalid(list.clone(), quoted(""), "may not have more than one field specified at a time");
        }
    }
}

fn value_from(variable: &Value, source: &Value, path: &Path, out: &mut Faults<'_>) {
    let mut sources = 0;
    for member in ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"] {
        let Some(one) = source.get(member) else { continue };
        let path = path.child(member);
        sources += 1;
        match member {
            "fieldRef" => downward::field(one, &FIELDS, &path, out),
            "resourceFieldRef" => downward::resource(one, false, &path, out),
            "fileKeyRef" => file_key(one, &path, out),
            _ => key_of(one, &path, out),
        }
    }
    if sources == 0 {
        let why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        out.invalid(path.clone(), quoted(""), why);
    } else if !variable.text_at(&["value"]).is_empty() {
        out.invalid(path.clone(), quoted(""), "may not be specified when `value` is not empty");
    } else if sources > 1 {
        out.invalid(path.clone(), quoted(""), "may not have more than one field specified at a time");
    }
}

/// The key of a ConfigMap or a Secret.
fn key_of(source: &Value, path: &Path, out: &mut Faults<'_>) {
    let name = source.text_at(&["name"]);
    out.drop_below(&path.child("name"));
    out.invalid_each(&path.child("name"), name, names::dns1123_subdomain(name));
    key(source, path, out);
}

fn file_key(source: &Value, path: &Path, out: &mut Faults<'_>) {
    match source.text_at(&["volumeName"]) {
        "" => out.required(path.child("volumeName"), ""),
        name => out.invalid_each(&path.child("volumeName"), name, names::dns1123_label(name)),
    }
    match source.text_at(&["path"]) {
        "" => out.required(path.child("path"), ""),
        file => volume_source::local(file, &path.child("path"), out),
    }
    match source.text_at(&["key"]) {
        "" => out.required(path.child("key"), ""),
        key => out.invalid_each(&path.child("key"), key, names::relaxed_env_var_name(key)),
    }
}

fn object_name(source: &Value, path: &Path, out: &mut Faults<'_>) {
    match source.text_at(&["name"]) {
        "" => out.required(path.child("name"), ""),
        // Upstream takes it for the beginning of one.
        name => out.invalid_each(&path.child("name"), name, names::name_is_dns_subdomain(name, true)),
    }
}

fn key(source: &Value, path: &Path, out: &mut Faults<'_>) {
    match source.text_at(&["key"]) {
        "" => out.required(path.child("key"), ""),
        key => out.invalid_each(&path.child("key"), key, names::config_map_key(key)),
    }
}
