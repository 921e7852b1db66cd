//! RuntimeClasses.

use apiwright_json::Value;
use apiwright_meta::labels::validate_labels;
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::pod_spec;

/// The hooks of RuntimeClasses.
#[derive(Debug)]
pub struct RuntimeClass;

impl Hooks for RuntimeClass {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        let mut out = Faults::take(errors, &Path::default());
        out.declared_below(&Path::new("metadata"));
        out.declared(&Path::new("handler"));
        if let Some(fixed) = object.at(&["overhead", "podFixed"]) {
            // Upstream takes them for the limits of a container.
            pod_spec::limits(fixed, &Path::new("overhead"), &mut out);
        }
        let Some(scheduling) = object.get("scheduling") else { return };
        let path = Path::new("scheduling");
        if let Some(labels) = scheduling.get("nodeSelector").and_then(Value::as_object) {
            out.append(validate_labels(labels, &path.child("nodeSelector")));
        }
        pod_spec::tolerations(scheduling, &path.child("tolerations"), &mut out);
    }
}
