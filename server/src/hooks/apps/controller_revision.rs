//! ControllerRevisions.

use apiwright_json::Value;
use apiwright_meta::field::go_value;
use apiwright_meta::{ErrorList, Path, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::cells::NONE;

/// The hooks of ControllerRevisions.
#[derive(Debug)]
pub struct ControllerRevision;

impl Hooks for ControllerRevision {
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
        // Byte by byte, as upstream does: the order of keys counts.
        let data = |object: &Value| go_value(object.get("data").unwrap_or(&Value::Null));
        if data(object) != data(old) {
            errors.invalid(Path::new("data"), data(object), "field is immutable");
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Controller" => controller(object).into(),
            _ => Value::Null,
        }
    }
}

fn faults(revision: &Value, errors: &mut ErrorList) {
    if revision.get("data").is_none_or(Value::is_null) {
        errors.required(Path::new("data"), "data is mandatory");
    }
    let number = revision.get("revision").and_then(Value::as_i64).unwrap_or_default();
    if number < 0 {
        errors.invalid(Path::new("revision"), number, "must be greater than or equal to 0");
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
