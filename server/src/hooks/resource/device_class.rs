//! DeviceClasses.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::{configuration, lists, requests};
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::resources;

/// The hooks of DeviceClasses.
#[derive(Debug)]
pub struct DeviceClass;

impl Hooks for DeviceClass {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, None, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        faults(object, Some(old), errors);
    }
}

/// What is as it was counts as stored: it was valid once.
fn faults(class: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let mut out = Faults::take(errors, &path);
    let Some(spec) = class.get("spec") else { return };
    let is_stored = |member: &str| old.is_some_and(|old| old.at(&["spec", member]) == spec.get(member));
    requests::selector_faults(spec, is_stored("selectors"), &path, &mut out);
    let stored = is_stored("config");
    lists::each(spec, "config", &path, &mut out, |one, path, out| {
        configuration::faults(one, stored, path, out);
    });
    let at = path.child("extendedResourceName");
    out.drop_below(&at);
    if let Some(name) = spec.get("extendedResourceName").and_then(Value::as_str)
        && !resources::is_extended(name)
    {
        out.invalid(at, quoted(name), "must be a valid extended resource name");
    }
}
