//! Namespaces: they go Terminating first, and only go when they are empty.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::object::{self, validate_finalizer_name, validate_standard_finalizers};
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::{DeletionStep, WriteContext};

/// The label that lets selectors name namespaces.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// The finalizer of whoever empties namespaces.
const KUBERNETES: &str = "kubernetes";

/// The hooks of Namespaces.
#[derive(Debug)]
pub struct Namespace;

impl Hooks for Namespace {
    fn default(&self, object: &mut Value) {
        label(object);
    }

    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        // A generated name is known only now.
        label(object);
        let Some(namespace) = object.as_object_mut() else { return };
        namespace.object("status").insert("phase", "Active");
        let finalizers = namespace.object("spec").entry("finalizers", || Value::Array(Vec::new()));
        if let Value::Array(list) = finalizers
            && !list.iter().any(|one| one.as_str() == Some(KUBERNETES))
        {
            list.push(KUBERNETES.into());
        }
    }

    fn prepare_update(&self, context: WriteContext<'_>, object: &mut Value, old: &Value) {
        label(object);
        let member = match context.subresource {
            "finalize" => "status",
            "status" => return,
            _ => "spec",
        };
        if let (Some(namespace), Some(kept)) = (object.as_object_mut(), old.get(member)) {
            namespace.insert(member, kept.clone());
        }
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate_finalizers(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        _old: &Value,
        errors: &mut ErrorList,
    ) {
        match context.subresource {
            "finalize" => validate_finalizers(object, errors),
            "status" => validate_phase(object, errors),
            _ => {}
        }
    }

    fn begin_deletion(&self, object: &mut Value) -> DeletionStep {
        if object::deletion_timestamp(object).is_none() {
            if let Some(namespace) = object.as_object_mut() {
                namespace.object("status").insert("phase", "Terminating");
            }
            return DeletionStep::Mark;
        }
        if self.may_vanish(object) { DeletionStep::Delete } else { DeletionStep::Wait }
    }

    fn may_vanish(&self, object: &Value) -> bool {
        object.at(&["spec", "finalizers"]).and_then(Value::as_array).is_none_or(Vec::is_empty)
    }
}

fn label(object: &mut Value) {
    let name = object::name(object).to_owned();
    if !name.is_empty() && object::label(object, NAME_LABEL) != Some(&name) {
        object::set_label(object, NAME_LABEL, &name);
    }
}

fn validate_finalizers(object: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec").child("finalizers");
    let finalizers = object.at(&["spec", "finalizers"]);
    for (at, finalizer) in finalizers.and_then(Value::as_array).into_iter().flatten().enumerate() {
        errors.append(validate_finalizer_name(finalizer.as_str().unwrap_or_default(), &path.index(at)));
    }
    errors.append(validate_standard_finalizers(finalizers, &path));
}

fn validate_phase(object: &Value, errors: &mut ErrorList) {
    let (wanted, when) = match object::deletion_timestamp(object) {
        None => ("Active", "is empty"),
        Some(_) => ("Terminating", "is not empty"),
    };
    let phase = object.text_at(&["status", "phase"]);
    if phase != wanted {
        let why = format!("may only be '{wanted}' if `deletionTimestamp` {when}");
        errors.invalid(Path::new("status").child("Phase"), quoted(phase), &why);
    }
}
