//! VolumeAttributesClasses.

use apiwright_json::Value;
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::storage_driver;

/// The hooks of VolumeAttributesClasses.
#[derive(Debug)]
pub struct VolumeAttributesClass;

impl Hooks for VolumeAttributesClass {
    fn validate_create(&self, _context: WriteContext<'_>, class: &Value, errors: &mut ErrorList) {
        storage_driver::provisioner(class.text_at(&["driverName"]), &Path::new("driverName"), errors);
        storage_driver::parameters(class.get("parameters"), false, &Path::new("parameters"), errors);
    }

    fn validate_update(&self, context: WriteContext<'_>, class: &Value, old: &Value, errors: &mut ErrorList) {
        storage_driver::fixed(class, old, "driverName", errors);
        storage_driver::fixed(class, old, "parameters", errors);
        self.validate_create(context, class, errors);
    }
}
