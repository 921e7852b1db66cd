//! CSINodes.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::generated::types::storage_v1::CSI_NODE_SPEC;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::quoting::internal_item;
use crate::hooks::shared::{cells, storage_driver};

/// How long the name of a node is that a driver has for it.
const NODE_ID_BYTES_MAX: usize = 192;

/// The hooks of CSINodes.
#[derive(Debug)]
pub struct CSINode;

impl Hooks for CSINode {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        faults(object, errors);
        let path = Path::new("spec").child("drivers");
        for before in drivers(old) {
            let named = |driver: &&Value| driver.text_at(&["name"]) == before.text_at(&["name"]);
            for now in drivers(object).iter().filter(named) {
                let (now, before) = (without_allocatable(now), without_allocatable(before));
                if now != before {
                    let shown = internal_item(&CSI_NODE_SPEC, "drivers", &now);
                    errors.invalid(path.clone(), shown, "field is immutable");
                }
            }
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Drivers" => cells::count(object, &["spec", "drivers"]).into(),
            _ => Value::Null,
        }
    }
}

fn drivers(node: &Value) -> &[Value] {
    cells::items(node, &["spec", "drivers"])
}

/// How much a driver can attach may change.
fn without_allocatable(driver: &Value) -> Value {
    let mut driver = driver.clone();
    if let Some(driver) = driver.as_object_mut() {
        driver.remove("allocatable");
    }
    driver
}

fn faults(node: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec").child("drivers");
    let mut out = Faults::take(errors, &path);
    let mut known = Vec::new();
    for (at, driver) in drivers(node).iter().enumerate() {
        let path = path.index(at);
        let (name, id) = (driver.text_at(&["name"]), driver.text_at(&["nodeID"]));
        storage_driver::csi_name(name, &path.child("name"), &mut out);
        out.declared(&path.child("nodeID"));
        if id.len() > NODE_ID_BYTES_MAX {
            let why = format!("must be {NODE_ID_BYTES_MAX} characters or less");
            out.invalid(path.child("nodeID"), quoted(id), &why);
        }
        out.declared_below(&path.child("allocatable"));
        if known.contains(&name) {
            out.duplicate(path.child("name"), quoted(name));
        }
        known.push(name);
        topology_faults(driver, &path, &mut out);
    }
}

/// Upstream says them of the driver as a whole.
fn topology_faults(driver: &Value, path: &Path, errors: &mut ErrorList) {
    let mut known = Vec::new();
    for key in cells::items(driver, &["topologyKeys"]).iter().filter_map(Value::as_str) {
        if key.is_empty() {
            errors.required(path.clone(), "");
        }
        if known.contains(&key) {
            errors.duplicate(path.clone(), quoted(key));
        }
        known.push(key);
        errors.invalid_each(path, key, names::qualified_name(key));
    }
}
