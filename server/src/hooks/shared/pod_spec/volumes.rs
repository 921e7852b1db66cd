//! Volumes: each has a name of its own and one source.

use std::collections::HashSet;

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{Path, names};

use super::validate::{Context, Owner};
use super::{downward, number};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const FIELDS: [&str; 5] =
    ["metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"];

/// The sources in the order in which they are checked, and their names where a second one is refused.
const SOURCES: [(&str, &str); 30] = [
    ("emptyDir", "emptyDir"),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

/// The faults of a pod spec's volumes.
pub(super) fn faults(context: &Context<'_>, list: &Path, out: &mut Faults<'_>) {
    let mut seen = HashSet::new();
    for (at, volume) in cells::items(context.spec, &["volumes"]).iter().enumerate() {
        let path = list.index(at);
        let name = volume.text_at(&["name"]);
        sources(context, volume, &path, out);
        out.declared_below(&path.child("name"));
        if !seen.insert(name) && names::dns1123_label(name).is_empty() {
            out.duplicate(path.child("name"), quoted(name));
        }
    }
}

fn sources(context: &Context<'_>, volume: &Value, path: &Path, out: &mut Faults<'_>) {
    let mut found = false;
    for (source, refused) in SOURCES {
        let Some(value) = volume.get(source) else { continue };
        if std::mem::replace(&mut found, true) {
            out.forbidden(path.child(refused), "may not specify more than 1 volume type");
            continue;
        }
        let own = path.child(source);
        match source {
            "emptyDir" => empty_dir(value, &own, out),
            "hostPath" => {
                out.declared(&own.child("path"));
                no_steps_back(value.text_at(&["path"]), &own.child("path"), out);
            }
            "gitRepo" => {
                out.declared_below(&own);
                descending_path(value.text_at(&["directory"]), &own.child("directory"), out);
            }
            "secret" => keyed(value, "secretName", &own, out),
            "configMap" => keyed(value, "name", &own, out),
            "nfs" => {
                out.declared_below(&own);
                let export = value.text_at(&["path"]);
                if !export.starts_with('/') {
                    out.invalid(own.child("path"), quoted(export), "must be an absolute path");
                }
            }
            "downwardAPI" => {
                mode(value, "defaultMode", &own, out);
                // The files are told apart by nothing.
                for file in cells::items(value, &["items"]) {
                    downward_file(file, &own, out);
                }
            }
            "projected" => projected(value, &own, out),
            "csi" => csi(value, &own, out),
            "ephemeral" => ephemeral(context, volume, value, path, out),
            "image" => {
                if context.is_pod() && value.text_at(&["reference"]).is_empty() {
                    out.required(own.child("reference"), "");
                }
                out.declared(&own.child("pullPolicy"));
            }
            _ => {}
        }
        out.declared_below(&own);
    }
    if !found {
        out.required(path.clone(), "must specify a volume type");
    }
}

fn empty_dir(source: &Value, path: &Path, out: &mut Faults<'_>) {
    let Some(limit) = source.get("sizeLimit").and_then(|limit| Quantity::from_value(limit).ok()) else {
        return;
    };
    if limit.sign() < 0 {
        out.forbidden(path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity");
    }
}

/// Keys of a Secret or a `ConfigMap`.
fn keyed(source: &Value, name: &str, path: &Path, out: &mut Faults<'_>) {
    out.declared(&path.child(name));
    mode(source, "defaultMode", path, out);
    for (at, item) in cells::items(source, &["items"]).iter().enumerate() {
        key_to_path(item, &path.child("items").index(at), out);
    }
}

fn key_to_path(item: &Value, path: &Path, out: &mut Faults<'_>) {
    out.declared(&path.child("key"));
    out.declared(&path.child("path"));
    local_path(item.text_at(&["path"]), &path.child("path"), out);
    mode(item, "mode", path, out);
}

fn downward_file(file: &Value, path: &Path, out: &mut Faults<'_>) {
    if file.text_at(&["path"]).is_empty() {
        out.required(path.child("path"), "");
    }
    local_path(file.text_at(&["path"]), &path.child("path"), out);
    match (file.get("fieldRef"), file.get("resourceFieldRef")) {
        (Some(field), resource) => {
            downward::field(field, &FIELDS, &path.child("fieldRef"), out);
            if resource.is_some() {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                out.invalid(path.clone(), quoted("resource"), why);
            }
        }
        (None, Some(resource)) => downward::resource(resource, true, &path.child("resourceFieldRef"), out),
        (None, None) => out.required(path.clone(), "one of fieldRef and resourceFieldRef is required"),
    }
    mode(file, "mode", path, out);
}

fn projected(volume: &Value, path: &Path, out: &mut Faults<'_>) {
    mode(volume, "defaultMode", path, out);
    let mut taken = HashSet::new();
    let mut take = |file: &str, shown: &str, out: &mut Faults<'_>| {
        if !file.is_empty() && !taken.insert(file.to_owned()) {
            out.invalid(path.clone(), quoted(shown), "conflicting duplicate paths");
        }
    };
    for (at, source) in cells::items(volume, &["sources"]).iter().enumerate() {
        let own = path.child("sources").index(at);
        let mut kinds = 0;
        for kind in [
            "secret",
            "configMap",
            "downwardAPI",
            "serviceAccountToken",
            "clusterTrustBundle",
            "podCertificate",
        ] {
            let Some(value) = source.get(kind) else { continue };
            kinds += 1;
            let own = own.child(kind);
            match kind {
                "secret" | "configMap" => {
                    let name = value.text_at(&["name"]);
                    if name.is_empty() {
                        out.required(own.child("name"), "");
                    }
                    for (at, item) in cells::items(value, &["items"]).iter().enumerate() {
                        key_to_path(item, &own.child("items").index(at), out);
                        take(item.text_at(&["path"]), name, out);
                    }
                }
                "downwardAPI" => {
                    for file in cells::items(value, &["items"]) {
                        downward_file(file, &own, out);
                        let file = file.text_at(&["path"]);
                        take(file, file, out);
                    }
                }
                "serviceAccountToken" => token(value, &own, path, out),
                "clusterTrustBundle" => {
                    trust_bundle(value, &own, out);
                    let file = value.text_at(&["path"]);
                    take(file, file, out);
                }
                _ => {}
            }
        }
        if kinds > 1 {
            out.forbidden(own, "may not specify more than 1 volume type per source");
        }
    }
}

fn token(token: &Value, path: &Path, volume: &Path, out: &mut Faults<'_>) {
    let seconds = number(token, "expirationSeconds").unwrap_or_default();
    if seconds < 600 {
        let why = "may not specify a duration less than 10 minutes";
        out.invalid(path.child("expirationSeconds"), seconds, why);
    }
    if seconds > 1 << 32 {
        let why = "may not specify a duration larger than 2^32 seconds";
        out.invalid(path.child("expirationSeconds"), seconds, why);
    }
    match token.text_at(&["path"]) {
        "" => out.declared(&path.child("path")),
        file => local_path(file, &volume.child("path"), out),
    }
}

fn trust_bundle(bundle: &Value, path: &Path, out: &mut Faults<'_>) {
    let text = |member: &str| bundle.get(member).and_then(Value::as_str);
    match (text("name"), text("signerName")) {
        (Some(_), Some(_)) => {
            let shown = apiwright_meta::field::go_value(bundle);
            out.invalid(path.clone(), shown, "only one of name and signerName may be used");
        }
        (Some(""), None) => out.required(path.child("name"), "must be a valid object name"),
        (None, Some("")) => out.required(path.child("signerName"), "must be a valid signer name"),
        (None, None) => out.required(path.clone(), "either name or signerName must be specified"),
        _ => {}
    }
    let file = bundle.text_at(&["path"]);
    if file.is_empty() {
        out.required(path.child("path"), "");
    }
    local_path(file, &path.child("path"), out);
}

fn csi(source: &Value, path: &Path, out: &mut Faults<'_>) {
    let driver = source.text_at(&["driver"]);
    out.declared(&path.child("driver"));
    if driver.len() > 63 {
        out.too_long(path.child("driver"), 63);
    }
    if !driver.is_empty() {
        out.invalid_each(&path.child("driver"), driver, names::dns1123_subdomain(&driver.to_lowercase()));
    }
    if let Some(secret) = source.get("nodePublishSecretRef") {
        let path = path.child("nodePublishSecretRef").child("name");
        match secret.text_at(&["name"]) {
            "" => out.required(path, ""),
            name => out.invalid_each(&path, name, names::dns1123_subdomain(name)),
        }
    }
}

/// A claim of the pod's own is called after both.
fn ephemeral(context: &Context<'_>, volume: &Value, source: &Value, path: &Path, out: &mut Faults<'_>) {
    let own = path.child("ephemeral");
    match source.get("volumeClaimTemplate") {
        None => out.required(own.child("volumeClaimTemplate"), ""),
        Some(template) => {
            let path = own.child("volumeClaimTemplate");
            out.declared_below(&path);
            if let Some(spec) = template.get("spec") {
                crate::hooks::core::claim_spec_faults(spec, &path.child("spec"), out);
            }
        }
    }
    let name = volume.text_at(&["name"]);
    if let Owner::Pod(pod) = context.owner
        && !pod.is_empty()
        && !name.is_empty()
    {
        let claim = format!("{pod}-{name}");
        for why in names::dns1123_subdomain(&claim) {
            let why = format!("PVC name {}: {why}", quoted(&claim));
            out.invalid(path.child("name"), quoted(name), &why);
        }
    }
}

fn mode(object: &Value, member: &str, path: &Path, out: &mut Faults<'_>) {
    if let Some(mode) = number(object, member).filter(|mode| !(0..=0o777).contains(mode)) {
        out.invalid(path.child(member), mode, MODE);
    }
}

/// A path that stays below its root.
pub(super) fn descending_path(text: &str, path: &Path, out: &mut Faults<'_>) {
    if text.starts_with('/') {
        out.invalid(path.clone(), quoted(text), "must be a relative path");
    }
    no_steps_back(text, path, out);
}

/// A path below its root whose names are free.
pub(super) fn local_path(text: &str, path: &Path, out: &mut Faults<'_>) {
    descending_path(text, path, out);
    if text.starts_with("..") && !text.split('/').any(|part| part == "..") {
        out.invalid(path.clone(), quoted(text), "must not start with '..'");
    }
}

fn no_steps_back(text: &str, path: &Path, out: &mut Faults<'_>) {
    if text.split('/').any(|part| part == "..") {
        out.invalid(path.clone(), quoted(text), "must not contain '..'");
    }
}
