//! Sources that are served over a network.

use apiwright_json::{Object, Value};
use apiwright_meta::{Path, names};

use super::{Faults, Of, needed, refuse, secret};

const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
const TENANT_BYTES_MAX: usize = 64;

pub(super) fn nfs(source: &Value, own: &Path, out: &mut Faults<'_>) {
    out.declared_below(own);
    let export = source.text_at(&["path"]);
    if !export.starts_with('/') {
        refuse(own.child("path"), export, "must be an absolute path", out);
    }
}

pub(super) fn gluster(source: &Value, own: &Path, out: &mut Faults<'_>) {
    out.declared_below(own);
    let path = own.child("endpointsNamespace");
    match source.get("endpointsNamespace").and_then(Value::as_str) {
        None => {}
        Some("") => {
            let why = "if the endpointnamespace is set, it must be a valid namespace name";
            refuse(path, "", why, out);
        }
        Some(name) => out.invalid_each(&path, name, names::name_is_dns_label(name, false)),
    }
}

pub(super) fn flocker(source: &Value, own: &Path, out: &mut Faults<'_>) {
    let (name, uuid) = (source.text_at(&["datasetName"]), source.text_at(&["datasetUUID"]));
    if name.is_empty() && uuid.is_empty() {
        out.required(own.clone(), "one of datasetName and datasetUUID is required");
    }
    if !name.is_empty() && !uuid.is_empty() {
        let why = "datasetName and datasetUUID can not be specified simultaneously";
        refuse(own.clone(), "resource", why, out);
    }
    if name.contains('/') {
        refuse(own.child("datasetName"), name, "must not contain '/'", out);
    }
}

pub(super) fn quobyte(source: &Value, own: &Path, out: &mut Faults<'_>) {
    let registry = source.text_at(&["registry"]);
    if registry.is_empty() {
        out.required(own.child("registry"), PAIRS);
    } else if source.text_at(&["tenant"]).len() > TENANT_BYTES_MAX {
        out.required(own.child("tenant"), "must be a UUID and may not exceed a length of 64 characters");
    } else {
        for _ in registry.split(',').filter(|pair| !is_host_and_port(pair)) {
            refuse(own.child("registry"), registry, PAIRS, out);
        }
    }
    needed(source, "volume", own, out);
}

/// As Go splits them: `host:port`, `[host]:port`.
fn is_host_and_port(pair: &str) -> bool {
    let Some((host, _)) = pair.rsplit_once(':') else { return false };
    match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').is_some_and(|inner| !inner.contains(['[', ']'])),
        None => !host.contains([':', '[', ']']),
    }
}

pub(super) fn storage_os(source: &Value, of: Of<'_>, own: &Path, out: &mut Faults<'_>) {
    let (name, namespace) = (source.text_at(&["volumeName"]), source.text_at(&["volumeNamespace"]));
    if name.is_empty() {
        out.required(own.child("volumeName"), "");
    } else {
        out.invalid_each(&own.child("volumeName"), name, names::dns1123_label(name));
    }
    if !namespace.is_empty() {
        out.invalid_each(&own.child("volumeNamespace"), namespace, names::dns1123_label(namespace));
    }
    secret(source, of, own, out);
}

pub(super) fn flex(source: &Value, own: &Path, out: &mut Faults<'_>) {
    out.declared(&own.child("driver"));
    for key in source.get("options").and_then(Value::as_object).into_iter().flat_map(Object::keys) {
        let domain = key.split_once('/').map_or(key.as_str(), |(domain, _)| domain);
        let domain = format!(".{}", domain.to_lowercase());
        if domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io") {
            let why = "kubernetes.io and k8s.io namespaces are reserved";
            refuse(own.child("options").key(key), key, why, out);
        }
    }
}
