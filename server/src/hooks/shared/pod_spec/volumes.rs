//! Volumes: each has a name of its own and one source.

use std::collections::HashMap;

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{Path, names};

use super::validate::{Context, Owner};
use super::{downward, number, projected};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::volume_source;

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

/// The faults of a pod spec's volumes; gives those that have none by name, and whether a claim is behind them.
pub(super) fn faults<'a>(context: &Context<'a>, list: &Path, out: &mut Faults<'_>) -> HashMap<&'a str, bool> {
    let volumes = cells::items(context.spec, &["volumes"]);
    let mut sound = HashMap::new();
    for (at, volume) in volumes.iter().enumerate() {
        let path = list.index(at);
        let name = volume.text_at(&["name"]);
        let before = out.0.len();
        sources(context, volume, &path, out);
        out.declared_below(&path.child("name"));
        if sound.contains_key(name) {
            out.duplicate(path.child("name"), quoted(name));
        }
        if out.0.len() == before {
            let has_claim =
                ["persistentVolumeClaim", "ephemeral"].iter().any(|one| volume.get(one).is_some());
            sound.insert(name, has_claim);
        }
        foreign_claim(context, volume, &path, out);
    }
    sound
}

/// The claim of a volume is not one that another volume of the pod makes.
fn foreign_claim(context: &Context<'_>, volume: &Value, path: &Path, out: &mut Faults<'_>) {
    let claim = volume.text_at(&["persistentVolumeClaim", "claimName"]);
    let (false, Owner::Pod(pod)) = (claim.is_empty(), context.owner) else { return };
    let makes = |other: &Value| {
        let name = other.text_at(&["name"]);
        other.get("ephemeral").is_some()
            && claim.strip_prefix(pod).and_then(|rest| rest.strip_prefix('-')) == Some(name)
    };
    if !pod.is_empty() && cells::items(context.spec, &["volumes"]).iter().any(makes) {
        let why = "must not reference a PVC that gets created for an ephemeral volume";
        out.invalid(path.child("persistentVolumeClaim").child("claimName"), quoted(claim), why);
    }
}

fn sources(context: &Context<'_>, volume: &Value, path: &Path, out: &mut Faults<'_>) {
    let mut found = false;
    for (source, refused) in SOURCES {
        let Some(value) = volume.get(source) else { continue };
        if std::mem::replace(&mut found, true) {
            out.forbidden(path.child(refused), "may not specify more than 1 volume type");
            out.drop_below(&path.child(source));
            continue;
        }
        let own = path.child(source);
        match source {
            "emptyDir" => empty_dir(value, &own, out),
            "gitRepo" => {
                out.declared_below(&own);
                volume_source::descending(value.text_at(&["directory"]), &own.child("directory"), out);
            }
            "secret" => keyed(value, "secretName", &own, out),
            "configMap" => keyed(value, "name", &own, out),
            "downwardAPI" => {
                mode(value, "defaultMode", &own, out);
                // The files are told apart by nothing.
                for file in cells::items(value, &["items"]) {
                    downward_file(file, &own, out);
                }
            }
            "projected" => projected::faults(value, &own, out),
            "ephemeral" => ephemeral(context, volume, value, path, out),
            "image" => {
                if context.is_pod() && value.text_at(&["reference"]).is_empty() {
                    out.required(own.child("reference"), "");
                }
                out.declared(&own.child("pullPolicy"));
            }
            _ => {
                let of = volume_source::Of::Pod(volume.text_at(&["name"]));
                volume_source::faults(source, value, of, path, out);
            }
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

pub(super) fn key_to_path(item: &Value, path: &Path, out: &mut Faults<'_>) {
    out.declared(&path.child("key"));
    out.declared(&path.child("path"));
    volume_source::local(item.text_at(&["path"]), &path.child("path"), out);
    mode(item, "mode", path, out);
}

pub(super) fn downward_file(file: &Value, path: &Path, out: &mut Faults<'_>) {
    if file.text_at(&["path"]).is_empty() {
        out.required(path.child("path"), "");
    }
    volume_source::local(file.text_at(&["path"]), &path.child("path"), out);
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

pub(super) fn mode(object: &Value, member: &str, path: &Path, out: &mut Faults<'_>) {
    if let Some(mode) = number(object, member).filter(|mode| !(0..=0o777).contains(mode)) {
        out.invalid(path.child(member), mode, MODE);
    }
}
