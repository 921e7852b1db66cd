//! Ports: numbers and the names of a container's.

use apiwright_json::Value;
use apiwright_meta::{ErrorList, Path, names};

/// The faults of a port that is a number or a name.
pub fn port_number_or_name(port: Option<&Value>, path: &Path, errors: &mut ErrorList) {
    match port {
        Some(Value::String(name)) => errors.invalid_each(path, name, names::port_name(name)),
        port => {
            let number = port.and_then(Value::as_i64).unwrap_or_default();
            for why in names::port_num(number) {
                errors.invalid(path.clone(), number, &why);
            }
        }
    }
}
