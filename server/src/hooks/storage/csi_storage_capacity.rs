//! CSIStorageCapacities.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::labels::{SelectorLeniency, validate_label_selector};
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{ErrorList, Path, names};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::old_labels;

/// The hooks of CSIStorageCapacities.
#[derive(Debug)]
pub struct CSIStorageCapacity;

impl Hooks for CSIStorageCapacity {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        let topology = object.get("nodeTopology");
        let path = Path::new("nodeTopology");
        errors.append(validate_label_selector(topology, SelectorLeniency::default(), &path));
        let class = object.text_at(&["storageClassName"]);
        errors.invalid_each(&Path::new("storageClassName"), class, names::dns1123_subdomain(class));
        let capacity = object.get("capacity").and_then(|amount| Quantity::from_value(amount).ok());
        if let Some(amount) = capacity.filter(|amount| amount.sign() < 0) {
            let why = "must be greater than or equal to 0";
            errors.invalid(Path::new("capacity"), quoted(&amount.to_string()), why);
        }
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut texts = Vec::new();
        if let Some(topology) = object.get("nodeTopology") {
            old_labels::of_selector(topology, &Path::new("nodeTopology"), &mut texts);
        }
        texts
    }
}
