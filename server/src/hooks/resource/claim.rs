//! ResourceClaims.

use apiwright_json::Value;
use apiwright_meta::{ErrorList, Path, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::{defaults, requests, status};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

/// The hooks of ResourceClaims.
#[derive(Debug)]
pub struct ResourceClaim;

impl Hooks for ResourceClaim {
    fn default(&self, object: &mut Value) {
        defaults::set(object.at_mut(&["spec"]));
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        let path = Path::new("spec");
        let mut out = Faults::take(errors, &path);
        requests::spec_faults(object.get("spec").unwrap_or(&Value::Null), &path, &mut out);
    }

    /// That the spec stays is a word.
    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        if context.subresource == "status" {
            status::faults(object, old, errors);
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "State" => state(object).into(),
            _ => Value::Null,
        }
    }
}

/// `deleted,allocated,reserved`, or `pending`
fn state(claim: &Value) -> String {
    let mut states = Vec::new();
    if object::deletion_timestamp(claim).is_some() {
        states.push("deleted");
    }
    if claim.at(&["status", "allocation"]).is_some() {
        states.push("allocated");
    } else if object::deletion_timestamp(claim).is_none() {
        states.push("pending");
    }
    if cells::count(claim, &["status", "reservedFor"]) > 0 {
        states.push("reserved");
    }
    states.join(",")
}
