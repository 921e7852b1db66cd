//! What makes a `PersistentVolume` valid.

use apiwright_json::{Object, Value};
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{ErrorList, Path, object};
use apiwright_schema::go::internal;

use crate::generated::catalogue;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::{diff, node_selector, storage, volume_source};

const POLICIES: [&str; 3] = ["Delete", "Recycle", "Retain"];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

/// The sources in the order in which they are checked.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// The sources in the order of upstream's internal type, with the names that they have there.
const INTERNAL_SOURCES: [(&str, &str); 22] = [
    ("gcePersistentDisk", "GCEPersistentDisk"),
    ("awsElasticBlockStore", "AWSElasticBlockStore"),
    ("hostPath", "HostPath"),
    ("glusterfs", "Glusterfs"),
    ("nfs", "NFS"),
    ("rbd", "RBD"),
    ("quobyte", "Quobyte"),
    ("iscsi", "ISCSI"),
    ("flexVolume", "FlexVolume"),
    ("cinder", "Cinder"),
    ("cephfs", "CephFS"),
    ("fc", "FC"),
    ("flocker", "Flocker"),
    ("azureFile", "AzureFile"),
    ("vsphereVolume", "VsphereVolume"),
    ("azureDisk", "AzureDisk"),
    ("photonPersistentDisk", "PhotonPersistentDisk"),
    ("portworxVolume", "PortworxVolume"),
    ("scaleIO", "ScaleIO"),
    ("local", "Local"),
    ("storageos", "StorageOS"),
    ("csi", "CSI"),
];

/// The faults of any volume.
pub(super) fn volume(object: &Value, errors: &mut ErrorList) {
    let Some(spec) = object.get("spec") else { return };
    let path = Path::new("spec");
    let errors = &mut Faults::take(errors, &path);
    storage::mode_faults(spec, "", &path, errors);
    capacity(spec, &path.child("capacity"), errors);
    known(spec, "persistentVolumeReclaimPolicy", &POLICIES, &path, errors);
    if let Some(affinity) = spec.get("nodeAffinity") {
        let path = path.child("nodeAffinity").child("required");
        match affinity.get("required") {
            Some(required) => node_selector::faults(required, &path, errors),
            None => errors.required(path, "must specify required node constraints"),
        }
    }
    sources(spec, object::name(object), &path, errors);
    let host_path = spec.at(&["hostPath", "path"]).and_then(Value::as_str);
    if host_path.is_some_and(is_root) && spec.text_at(&["persistentVolumeReclaimPolicy"]) == "Recycle" {
        let path = path.child("persistentVolumeReclaimPolicy");
        errors.forbidden(path, "may not be 'recycle' for a hostPath mount of '/'");
    }
    storage::class_faults(spec, "storageClassName", &path, errors);
    known(spec, "volumeMode", &VOLUME_MODES, &path, errors);
    attributes_class(spec, &path, errors);
}

fn attributes_class(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let Some(class) = spec.get("volumeAttributesClassName").and_then(Value::as_str) else { return };
    if class.is_empty() {
        errors.required(path.child("volumeAttributesClassName"), "an empty string is disallowed");
    }
    storage::class_faults(spec, "volumeAttributesClassName", path, errors);
    if spec.get("csi").is_none() {
        errors.required(path.child("csi"), "has to be specified when using volumeAttributesClassName");
    }
}

/// The faults of a volume that an attachment brings along: most of it is not the attachment's to say.
pub fn inline_faults(spec: &Value, path: &Path, errors: &mut ErrorList) {
    const ONLY_HERE: &str = "may not be specified in the context of inline volumes";
    let errors = &mut Faults::take(errors, path);
    let is_set = |member: &str| match spec.get(member) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(members)) => member != "capacity" || !members.is_empty(),
        Some(value) => !value.is_null(),
        None => false,
    };
    for member in ["claimRef", "capacity"].into_iter().filter(|member| is_set(member)) {
        errors.forbidden(path.child(member), ONLY_HERE);
    }
    if spec.get("csi").is_none() {
        errors.required(path.child("csi"), "has to be specified in the context of inline volumes");
    }
    storage::mode_faults(spec, "", path, errors);
    if !matches!(spec.text_at(&["persistentVolumeReclaimPolicy"]), "" | "Retain") {
        let why = "may only be Retain in the context of inline volumes";
        errors.forbidden(path.child("persistentVolumeReclaimPolicy"), why);
    }
    if is_set("nodeAffinity") {
        errors.forbidden(path.child("nodeAffinity"), ONLY_HERE);
    }
    sources(spec, "", path, errors);
    if is_set("storageClassName") {
        errors.forbidden(path.child("storageClassName"), ONLY_HERE);
    }
    if !matches!(spec.text_at(&["volumeMode"]), "" | "Filesystem") {
        let why = "may not specify volumeMode other than Filesystem in the context of inline volumes";
        errors.forbidden(path.child("volumeMode"), why);
    }
    attributes_class(spec, path, errors);
}

/// The faults of an update: those of any volume, and what may not change.
pub(super) fn update(object: &Value, old: &Value, errors: &mut ErrorList) {
    volume(object, errors);
    let (now, before) = (source_dump(&without_new_secret(object, old)), source_dump(old));
    if now != before {
        let path = Path::new("spec").child("persistentvolumesource");
        let why = format!(
            "spec.persistentvolumesource is immutable after creation\n{}",
            diff::unified(&before, &now)
        );
        errors.forbidden(path, &why);
    }
    let at = |object: &Value, member: &str| object.at(&["spec", member]).cloned();
    if at(object, "volumeMode") != at(old, "volumeMode") {
        let shown = at(object, "volumeMode").map_or_else(|| "null".into(), |mode| go_value(&mode));
        errors.invalid(Path::new("volumeMode"), shown, "field is immutable");
    }
    let affinity =
        at(old, "nodeAffinity").filter(|affinity| Some(affinity) != at(object, "nodeAffinity").as_ref());
    if affinity.is_some() {
        let shown =
            at(object, "nodeAffinity").map_or_else(|| "null".into(), |value| dump("nodeAffinity", &value));
        errors.invalid(Path::new("nodeAffinity"), shown, "field is immutable");
    }
    let class = "volumeAttributesClassName";
    if at(old, class).is_some() && at(object, class).is_none() {
        errors.forbidden(Path::new("spec").child(class), "update from non-nil value to nil is forbidden");
    }
}

/// The value of a field that knows some.
fn known(spec: &Value, member: &str, values: &[&str], path: &Path, errors: &mut ErrorList) {
    let value = spec.text_at(&[member]);
    if !value.is_empty() && !values.contains(&value) {
        errors.not_supported(path.child(member), quoted(value), values);
    }
}

fn capacity(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let amounts = spec.get("capacity").and_then(Value::as_object).filter(|amounts| !amounts.is_empty());
    if amounts.is_none() {
        errors.required(path.clone(), "");
    }
    if !amounts.is_some_and(|amounts| amounts.len() == 1 && amounts.contains_key("storage")) {
        let shown = go_value(spec.get("capacity").unwrap_or(&Value::Null));
        errors.not_supported(path.clone(), shown, &["storage"]);
    }
    for (name, amount) in amounts.into_iter().flat_map(Object::iter) {
        if let Ok(amount) = Quantity::from_value(amount) {
            storage::basic(&amount, &path.key(name), errors);
            storage::positive(&amount, &path.key(name), errors);
        }
    }
}

fn sources(spec: &Value, name: &str, path: &Path, out: &mut Faults<'_>) {
    let mut found = false;
    for source in SOURCES {
        let Some(value) = spec.get(source) else { continue };
        if found && source != "flexVolume" {
            // Upstream spells one of them otherwise here.
            let shown = if source == "cephfs" { "cephFS" } else { source };
            out.forbidden(path.child(shown), "may not specify more than 1 volume type");
            out.drop_below(&path.child(source));
            continue;
        }
        found = true;
        volume_source::faults(source, value, volume_source::Of::Volume(name), path, out);
        if source == "local" && spec.get("nodeAffinity").is_none() {
            out.required(path.child("nodeAffinity"), "Local volume requires node affinity");
        }
    }
    if !found {
        out.required(path.clone(), "must specify a volume type");
    }
}

/// Whether a path is `/`, however it is written.
fn is_root(path: &str) -> bool {
    path.starts_with('/') && path.split('/').all(|part| matches!(part, "" | "." | ".."))
}

/// The volume without the secret for expansion, which may be added later.
fn without_new_secret(object: &Value, old: &Value) -> Value {
    let secret = ["spec", "csi", "controllerExpandSecretRef"];
    let mut object = object.clone();
    if old.at(&["spec", "csi"]).is_some()
        && old.at(&secret).is_none()
        && let Some(csi) = object.at_mut(&["spec", "csi"]).and_then(Value::as_object_mut)
    {
        csi.remove("controllerExpandSecretRef");
    }
    object
}

/// All sources as JSON of upstream's internal type.
fn source_dump(volume: &Value) -> String {
    let members: Vec<String> = INTERNAL_SOURCES
        .iter()
        .map(|(member, name)| {
            let value =
                volume.at(&["spec", member]).map_or_else(|| "null".into(), |value| dump(member, value));
            format!("\"{name}\":{value}")
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

/// A member of the spec as JSON of upstream's internal type.
fn dump(member: &str, value: &Value) -> String {
    let ty = catalogue().definition("io.k8s.api.core.v1.PersistentVolumeSpec");
    ty.and_then(|ty| ty.field(member)).map_or_else(|| go_value(value), |field| internal(&field.node, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: &str = r#""capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"]"#;

    fn object(spec: &str) -> Value {
        apiwright_json::decode(format!("{{\"spec\":{{{spec}}}}}").as_bytes()).unwrap().0
    }

    #[test]
    fn faults_of_volumes() {
        let table = [
            (format!(r#"{FINE},"hostPath":{{"path":"/a"}}"#), "[]"),
            (FINE.into(), "spec: Required value: must specify a volume type"),
            (
                format!(r#"{FINE},"hostPath":{{"path":"/a"}},"nfs":{{"server":"s","path":"/"}}"#),
                "spec.nfs: Forbidden: may not specify more than 1 volume type",
            ),
            (
                format!(r#"{FINE},"hostPath":{{"path":"/./"}},"persistentVolumeReclaimPolicy":"Recycle""#),
                "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
            ),
            (
                format!(r#"{FINE},"local":{{"path":"/a"}}"#),
                "spec.nodeAffinity: Required value: Local volume requires node affinity",
            ),
            (
                String::new(),
                "[spec.accessModes: Required value, spec.capacity: Required value, \
                 spec.capacity: Unsupported value: null: supported values: \"storage\", \
                 spec: Required value: must specify a volume type]",
            ),
        ];
        for (spec, expected) in table {
            let mut errors = ErrorList::new();
            volume(&object(&spec), &mut errors);
            assert_eq!(errors.aggregate(), expected, "{spec}");
        }
    }

    #[test]
    fn the_source_stays() {
        let with = |path: &str| object(&format!(r#"{FINE},"hostPath":{{"path":"{path}","type":""}}"#));
        let mut errors = ErrorList::new();
        update(&with("/b"), &with("/a"), &mut errors);
        assert_eq!(
            errors.aggregate(),
            "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n\
             @@ -2,7 +2,7 @@\n  \"GCEPersistentDisk\": null,\n  \"AWSElasticBlockStore\": null,\n  \"HostPath\": {\n\
             -  \"Path\": \"/a\",\n+  \"Path\": \"/b\",\n   \"Type\": \"\"\n  },\n  \"Glusterfs\": null,\n"
        );
    }
}
