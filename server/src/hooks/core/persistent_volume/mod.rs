//! `PersistentVolumes`.

mod validate;

use apiwright_json::Value;
use apiwright_meta::{ErrorList, Path, object, time};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::{cells, old_labels};

pub use validate::inline_faults;

/// Where the class was named before there was a field.
pub(super) const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Sources that are going or gone.
const OLD_SOURCES: [(&str, &str, &str); 6] = [
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// The hooks of `PersistentVolumes`.
#[derive(Debug)]
pub struct PersistentVolume;

impl Hooks for PersistentVolume {
    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        if let Some(object) = object.as_object_mut() {
            let status = object.object("status");
            status.insert("phase", "Pending");
            status.insert("lastPhaseTransitionTime", time::now());
        }
    }

    /// Remembers when the phase changed, unless the writer says.
    fn prepare_update(&self, _context: WriteContext<'_>, object: &mut Value, old: &Value) {
        let moment = ["status", "lastPhaseTransitionTime"];
        let changed = object.text_at(&["status", "phase"]) != old.text_at(&["status", "phase"]);
        if changed
            && object.text_at(&moment) == old.text_at(&moment)
            && let Some(object) = object.as_object_mut()
        {
            object.object("status").insert("lastPhaseTransitionTime", time::now());
        }
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::volume(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        if context.subresource.is_empty() {
            validate::update(object, old, errors);
        }
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        warnings(object)
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Access Modes" => access_modes(cells::items(object, &["spec", "accessModes"])).into(),
            "Status" if object::deletion_timestamp(object).is_some() => "Terminating".into(),
            "Status" => object.text_at(&["status", "phase"]).into(),
            "Claim" => claim(object).into(),
            "StorageClass" => storage_class(object).into(),
            _ => Value::Null,
        }
    }
}

/// `RWO,ROX`, in the order of this table, each once.
pub(super) fn access_modes(modes: &[Value]) -> String {
    const SHORT: &[(&str, &str)] = &[
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| modes.iter().any(|one| one.as_str() == Some(mode));
    SHORT.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

/// The class's name; an annotation named it before the field did.
pub(super) fn storage_class(volume: &Value) -> &str {
    object::annotation(volume, "volume.beta.kubernetes.io/storage-class")
        .unwrap_or_else(|| volume.text_at(&["spec", "storageClassName"]))
}

/// `namespace/name` of the claim that has it.
fn claim(object: &Value) -> String {
    match object.at(&["spec", "claimRef"]) {
        Some(claim) => format!("{}/{}", claim.text_at(&["namespace"]), claim.text_at(&["name"])),
        None => String::new(),
    }
}

/// What is allowed and should not be done.
fn warnings(volume: &Value) -> Vec<String> {
    let (path, mut texts) = (Path::new("spec"), Vec::new());
    if object::annotation(volume, OLD_CLASS).is_some() {
        let path = Path::new("metadata").child("annotations").key(OLD_CLASS);
        texts.push(format!("{path}: deprecated since v1.8; use \"storageClassName\" attribute instead"));
    }
    if volume.text_at(&["spec", "persistentVolumeReclaimPolicy"]) == "Recycle" {
        texts.push(format!(
            "{}: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic \
             provisioning.",
            path.child("persistentVolumeReclaimPolicy")
        ));
    }
    let terms = cells::items(volume, &["spec", "nodeAffinity", "required", "nodeSelectorTerms"]);
    let terms_path = path.child("nodeAffinity").child("required").child("nodeSelectorTerms");
    for (at, term) in terms.iter().enumerate() {
        old_labels::of_term(term, &terms_path.index(at), &mut texts);
    }
    for (source, shown, why) in OLD_SOURCES {
        if volume.at(&["spec", source]).is_some() {
            texts.push(format!("{}: {why}", path.child(shown)));
        }
    }
    texts
}
