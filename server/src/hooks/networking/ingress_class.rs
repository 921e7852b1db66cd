//! IngressClasses.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells::NONE;

/// The hooks of IngressClasses.
#[derive(Debug)]
pub struct IngressClass;

impl Hooks for IngressClass {
    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Parameters" => parameters(object).into(),
            _ => Value::Null,
        }
    }
}

/// `Kind.group/name`
fn parameters(object: &Value) -> String {
    let Some(parameters) = object.at(&["spec", "parameters"]) else { return NONE.into() };
    let text = |member: &str| parameters.text_at(&[member]);
    match text("apiGroup") {
        "" => format!("{}/{}", text("kind"), text("name")),
        group => format!("{}.{group}/{}", text("kind"), text("name")),
    }
}
