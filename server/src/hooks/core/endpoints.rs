//! Endpoints.

use apiwright_json::Value;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells::{self, NONE};

/// The most addresses that a cell lists.
const SHOWN_MAX: usize = 3;

/// The hooks of Endpoints.
#[derive(Debug)]
pub struct Endpoints;

impl Hooks for Endpoints {
    fn deprecation(&self) -> Option<&'static str> {
        Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Endpoints" => addresses(object).into(),
            _ => Value::Null,
        }
    }
}

/// `10.0.0.1:80,10.0.0.2:80 + 4 more...`
fn addresses(object: &Value) -> String {
    let mut shown = Vec::new();
    let mut all = 0;
    for subset in cells::items(object, &["subsets"]) {
        let ports = cells::items(subset, &["ports"]);
        for address in cells::items(subset, &["addresses"]) {
            let ip = address.text_at(&["ip"]);
            let mut add = |text: String| {
                all += 1;
                if shown.len() < SHOWN_MAX {
                    shown.push(text);
                }
            };
            if ports.is_empty() {
                add(ip.to_owned());
            }
            for port in ports {
                let port = port.get("port").and_then(Value::as_i64).unwrap_or_default();
                add(if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") });
            }
        }
    }
    if all == 0 {
        return NONE.into();
    }
    let more = all - shown.len();
    let shown = shown.join(",");
    if more > 0 { format!("{shown} + {more} more...") } else { shown }
}
