//! Pod specs, in pods (at `spec`) and in the templates of workloads (at `spec.template.spec`).

pub mod annotations;
mod claims;
mod containers;
mod defaults;
mod devices;
mod disabled;
mod downward;
mod env;
mod network;
mod probes;
mod projected;
mod requirements;
mod scheduling;
mod security;
mod spread;
mod template;
mod validate;
mod volumes;
pub mod warnings;
mod windows;

use apiwright_json::Value;

use super::cells;

pub use defaults::{list_mut, set_defaults};
pub use disabled::{drop_disabled, drop_far_source};
pub use requirements::{limits, request_above_limit};
pub use scheduling::tolerations;
pub use template::{Template, restart_always};
pub use validate::{Owner, faults};

/// The lists of containers of a pod spec.
pub const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The names of a pod spec's containers.
pub fn container_names(object: &Value, template: &[&str]) -> String {
    cells::names(object, &[template, &["spec", "containers"]].concat(), "name")
}

/// The images of a pod spec's containers.
pub fn container_images(object: &Value, template: &[&str]) -> String {
    cells::names(object, &[template, &["spec", "containers"]].concat(), "image")
}

/// Whether a member is true.
fn flag(object: &Value, member: &str) -> bool {
    object.get(member).and_then(Value::as_bool).unwrap_or_default()
}

/// A member's number, where there is one.
fn number(object: &Value, member: &str) -> Option<i64> {
    object.get(member).and_then(Value::as_i64)
}
