//! ResourceClaimTemplates.

use apiwright_json::Value;
use apiwright_meta::labels::validate_labels;
use apiwright_meta::object::validate_annotations;
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::{defaults, requests};
use crate::hooks::shared::faults::Faults;

/// The hooks of ResourceClaimTemplates. That the spec stays is a word.
#[derive(Debug)]
pub struct ResourceClaimTemplate;

impl Hooks for ResourceClaimTemplate {
    fn default(&self, object: &mut Value) {
        defaults::set(object.at_mut(&["spec", "spec"]));
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        let path = Path::new("spec");
        let mut out = Faults::take(errors, &path);
        let metadata = path.child("metadata");
        if let Some(labels) = object.at(&["spec", "metadata", "labels"]).and_then(Value::as_object) {
            out.append(validate_labels(labels, &metadata.child("labels")));
        }
        if let Some(annotations) = object.at(&["spec", "metadata", "annotations"]).and_then(Value::as_object)
        {
            out.append(validate_annotations(annotations, &metadata.child("annotations")));
        }
        let spec = object.at(&["spec", "spec"]).unwrap_or(&Value::Null);
        requests::spec_faults(spec, &path.child("spec"), &mut out);
    }
}
