//! The resource.k8s.io group.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells;

/// The hooks of ResourceClaims.
#[derive(Debug)]
pub struct ResourceClaim;

impl Hooks for ResourceClaim {
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
