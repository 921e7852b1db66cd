//! RuntimeClasses.

use apiwright_json::{Object, Value};
use apiwright_meta::labels::validate_labels;
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::{old_labels, pod_spec};

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

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let selector = object.at(&["scheduling", "nodeSelector"]).and_then(Value::as_object);
        let path = Path::new("scheduling").child("nodeSelector");
        let texts = selector
            .into_iter()
            .flat_map(Object::keys)
            .filter_map(|label| old_labels::message(label).map(|why| format!("{}: {why}", path.key(label))));
        texts.collect()
    }
}
