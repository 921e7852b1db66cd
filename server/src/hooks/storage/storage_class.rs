//! StorageClasses.

use apiwright_json::Value;
use apiwright_meta::{ErrorList, Path, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::topology;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::{cells, old_labels, storage_driver};

/// The hooks of StorageClasses.
#[derive(Debug)]
pub struct StorageClass;

impl Hooks for StorageClass {
    fn validate_create(&self, _context: WriteContext<'_>, class: &Value, errors: &mut ErrorList) {
        let mut out = Faults::take(errors, &Path::default());
        out.declared_below(&Path::new("metadata"));
        storage_driver::provisioner(class.text_at(&["provisioner"]), &Path::new("provisioner"), &mut out);
        storage_driver::parameters(class.get("parameters"), true, &Path::new("parameters"), &mut out);
        out.declared(&Path::new("reclaimPolicy"));
        out.declared(&Path::new("volumeBindingMode"));
        topology::faults(class, &mut out);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        class: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        let mut out = Faults::take(errors, &Path::default());
        out.declared_below(&Path::new("metadata"));
        for member in ["parameters", "provisioner", "reclaimPolicy"] {
            out.drop_below(&Path::new(member));
            storage_driver::fixed(class, old, member, &mut out);
        }
    }

    fn warnings(&self, class: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut texts = Vec::new();
        for (at, term) in cells::items(class, &["allowedTopologies"]).iter().enumerate() {
            let path = Path::new("allowedTopologies").index(at).child("matchLabelExpressions");
            for (at, one) in cells::items(term, &["matchLabelExpressions"]).iter().enumerate() {
                if let Some(why) = old_labels::message(one.text_at(&["key"])) {
                    texts.push(format!("{}: {why}", path.index(at).child("key")));
                }
            }
        }
        texts
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Name" if is_default(object) => format!("{} (default)", object::name(object)).into(),
            "Name" => object::name(object).into(),
            _ => Value::Null,
        }
    }
}

fn is_default(class: &Value) -> bool {
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
        .iter()
        .any(|key| object::annotation(class, key) == Some("true"))
}
