//! EndpointSlices.

use apiwright_json::Value;
use apiwright_meta::ErrorList;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::validate;
use crate::hooks::shared::cells;

/// The most addresses or ports that a cell lists.
const SHOWN_MAX: usize = 3;

/// The hooks of EndpointSlices.
#[derive(Debug)]
pub struct EndpointSlice;

impl Hooks for EndpointSlice {
    /// Ports have a name, a protocol, and no more.
    fn default(&self, object: &mut Value) {
        for port in object.at_mut(&["ports"]).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(port) = port.as_object_mut() {
                port.entry("name", || "".into());
                port.entry("protocol", || "TCP".into());
            }
        }
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::slice(object, None, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        // Upstream says last that the type of addresses stays.
        let (stays, faults) = std::mem::take(&mut errors.0)
            .into_iter()
            .partition(|error| error.body.ends_with(": field is immutable"));
        errors.0 = faults;
        validate::slice(object, Some(old), errors);
        errors.0.extend::<Vec<_>>(stays);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        validate::warnings(object)
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Ports" => {
                let ports = cells::items(object, &["ports"]);
                if ports.is_empty() { "<unset>".into() } else { shortened(ports.iter().map(port)).into() }
            }
            "Endpoints" => {
                let endpoints = cells::items(object, &["endpoints"]);
                let addresses = endpoints.iter().flat_map(|one| cells::items(one, &["addresses"]));
                let texts = addresses.filter_map(Value::as_str).map(str::to_owned);
                if endpoints.is_empty() { "<unset>".into() } else { shortened(texts).into() }
            }
            _ => Value::Null,
        }
    }
}

fn port(port: &Value) -> String {
    match port.get("port").and_then(Value::as_i64) {
        Some(number) => number.to_string(),
        None => "*".into(),
    }
}

fn shortened(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    let shown = all[..all.len().min(SHOWN_MAX)].join(",");
    if all.len() > SHOWN_MAX { format!("{shown} + {} more...", all.len() - SHOWN_MAX) } else { shown }
}
