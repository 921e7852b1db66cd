//! `PersistentVolumeClaims`.

mod validate;

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{ErrorList, Path, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::persistent_volume::{OLD_CLASS, access_modes, storage_class};
use crate::hooks::shared::cells;
use crate::hooks::shared::pod_spec::drop_far_source;

pub use validate::spec_faults;

/// The hooks of `PersistentVolumeClaims`.
#[derive(Debug)]
pub struct PersistentVolumeClaim;

impl Hooks for PersistentVolumeClaim {
    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        if let Some(object) = object.as_object_mut() {
            object.object("status").insert("phase", "Pending");
        }
        if let Some(spec) = object.at_mut(&["spec"]) {
            drop_far_source(spec, None);
        }
        drop_odd_source(object);
        pair_sources(object);
    }

    fn prepare_update(&self, context: WriteContext<'_>, object: &mut Value, old: &Value) {
        if context.subresource.is_empty() {
            let had_source =
                ["dataSource", "dataSourceRef"].iter().any(|one| old.at(&["spec", one]).is_some());
            if let Some(spec) = object.at_mut(&["spec"]) {
                drop_far_source(spec, old.get("spec"));
            }
            if !had_source {
                drop_odd_source(object);
            }
            pair_sources(object);
        }
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::claim(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        if context.subresource == "status" {
            validate::status(object, errors);
        } else {
            validate::update(object, old, errors);
        }
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut texts = Vec::new();
        if object::annotation(object, OLD_CLASS).is_some() {
            let path = Path::new("metadata").child("annotations").key(OLD_CLASS);
            texts.push(format!("{path}: deprecated since v1.8; use \"storageClassName\" attribute instead"));
        }
        if let Some(spec) = object.get("spec") {
            warnings(spec, &Path::new("spec"), &mut texts);
        }
        texts
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        let bound = !object.text_at(&["spec", "volumeName"]).is_empty();
        match column {
            "Status" if object::deletion_timestamp(object).is_some() => "Terminating".into(),
            "Status" => object.text_at(&["status", "phase"]).into(),
            "Capacity" if bound => object.text_at(&["status", "capacity", "storage"]).into(),
            "Access Modes" if bound => access_modes(cells::items(object, &["status", "accessModes"])).into(),
            "Capacity" | "Access Modes" => "".into(),
            "StorageClass" => storage_class(object).into(),
            _ => Value::Null,
        }
    }
}

/// Warnings about the spec of a claim: bytes come whole.
pub fn warnings(spec: &Value, path: &Path, texts: &mut Vec<String>) {
    for list in ["requests", "limits"] {
        let amount = spec.at(&["resources", list, "storage"]).and_then(|one| Quantity::from_value(one).ok());
        if let Some(amount) = amount.filter(|amount| amount.milli_value() % 1000 != 0) {
            let (path, amount) = (path.child("resources").child(list).key("storage"), amount.to_string());
            texts.push(format!(
                "{path}: fractional byte value {} is invalid, must be an integer",
                quoted(&amount)
            ));
        }
    }
}

/// A source of a kind that nobody populates claims from is dropped in the older field, which
/// ignores it; the newer one takes any.
fn drop_odd_source(object: &mut Value) {
    let Some(spec) = object.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
    let Some(source) = spec.get("dataSource").filter(|_| !spec.contains_key("dataSourceRef")) else { return };
    let known = matches!(
        (source.text_at(&["apiGroup"]), source.text_at(&["kind"])),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    );
    if !known {
        spec.remove("dataSource");
    }
}

/// `dataSource` and `dataSourceRef` say one thing, unless it is in another namespace.
fn pair_sources(object: &mut Value) {
    let Some(spec) = object.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
    match (spec.get("dataSource").cloned(), spec.get("dataSourceRef").cloned()) {
        (Some(source), None) => {
            spec.insert("dataSourceRef", source);
        }
        (None, Some(source)) if source.text_at(&["namespace"]).is_empty() => {
            spec.insert("dataSource", source);
            if let Some(source) = spec.get_mut("dataSource").and_then(Value::as_object_mut) {
                source.remove("namespace");
            }
        }
        _ => {}
    }
}
