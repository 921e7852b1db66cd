//! ControllerRevisions.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells::NONE;

/// The hooks of ControllerRevisions.
#[derive(Debug)]
pub struct ControllerRevision;

impl Hooks for ControllerRevision {
    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Controller" => controller(object).into(),
            _ => Value::Null,
        }
    }
}

/// `statefulset.apps/db`
fn controller(revision: &Value) -> String {
    let Some(owner) = object::controller(revision) else { return NONE.into() };
    let kind = owner.kind.to_lowercase();
    match owner.api_version.split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{}", owner.name),
        None => format!("{kind}/{}", owner.name),
    }
}
