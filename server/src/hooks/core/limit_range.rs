//! LimitRanges.

use apiwright_json::{Object, Value};
use apiwright_registry::Hooks;

/// The hooks of LimitRanges.
#[derive(Debug)]
pub struct LimitRange;

impl Hooks for LimitRange {
    /// What a container is limited to by default is its maximum; what it requests by default is
    /// that limit, or its minimum.
    fn default(&self, object: &mut Value) {
        for item in object.at_mut(&["spec", "limits"]).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(item) = item.as_object_mut() else { continue };
            if item.str("type") == Some("Container") {
                fill(item, "default", "max");
                fill(item, "defaultRequest", "default");
                fill(item, "defaultRequest", "min");
            }
        }
    }
}

/// Takes over from one list what another does not have.
fn fill(item: &mut Object, list: &str, from: &str) {
    let Some(Value::Object(source)) = item.get(from).cloned() else { return };
    if source.is_empty() {
        return;
    }
    let list = item.object(list);
    for (resource, amount) in source {
        list.entry(&resource, || amount);
    }
    list.sort();
}
