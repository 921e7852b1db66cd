//! IPAddresses and ServiceCIDRs.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells;

/// The hooks of IPAddresses.
#[derive(Debug)]
pub struct IPAddress;

/// The hooks of ServiceCIDRs.
#[derive(Debug)]
pub struct ServiceCIDR;

impl Hooks for IPAddress {
    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "ParentRef" => parent(object).into(),
            _ => Value::Null,
        }
    }
}

impl Hooks for ServiceCIDR {
    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "CIDRs" => {
                let cidrs = cells::items(object, &["spec", "cidrs"]);
                cidrs.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",").into()
            }
            _ => Value::Null,
        }
    }
}

/// `services/default/web`, the group behind the resource where there is one.
fn parent(object: &Value) -> String {
    let Some(parent) = object.at(&["spec", "parentRef"]) else { return String::new() };
    let text = |member: &str| parent.text_at(&[member]);
    let resource = match text("group") {
        "" => text("resource").to_owned(),
        group => format!("{}.{group}", text("resource")),
    };
    let parts = [resource.as_str(), text("namespace"), text("name")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}
