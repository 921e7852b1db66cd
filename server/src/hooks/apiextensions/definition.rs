//! CustomResourceDefinitions: the names that follow from others, the versions that are stored, how
//! they go.

use apiwright_apiextensions::definition::{CLEANUP_FINALIZER, set_terminating};
use apiwright_json::Value;
use apiwright_meta::{ErrorList, object};
use apiwright_registry::hooks::{DeletionStep, Hooks, WriteContext};

use super::{formats, validate};

/// The hooks of CustomResourceDefinitions.
#[derive(Debug)]
pub struct CustomResourceDefinition;

impl Hooks for CustomResourceDefinition {
    fn default(&self, object: &mut Value) {
        if object.at(&["status", "storedVersions"]).and_then(Value::as_array).is_none_or(Vec::is_empty) {
            store_version(object);
        }
        let kind = object.text_at(&["spec", "names", "kind"]).to_owned();
        if kind.is_empty() {
            return;
        }
        let Some(names) = object.at_mut(&["spec", "names"]).and_then(Value::as_object_mut) else { return };
        // In the order of the fields: plural, singular, shortNames, kind, listKind, categories.
        if names.str("singular").unwrap_or_default().is_empty() {
            names.remove("singular");
            let at = names.keys().position(|name| name == "plural").map_or(0, |at| at + 1);
            names.insert_at(at, "singular", kind.to_lowercase());
        }
        if names.str("listKind").unwrap_or_default().is_empty() {
            names.remove("listKind");
            let at = names.keys().position(|name| name == "kind").map_or(names.len(), |at| at + 1);
            names.insert_at(at, "listKind", format!("{kind}List"));
        }
    }

    fn prepare_create(&self, _: WriteContext<'_>, object: &mut Value) {
        store_version(object);
    }

    fn prepare_update(&self, context: WriteContext<'_>, object: &mut Value, _: &Value) {
        if context.subresource.is_empty() {
            store_version(object);
        }
    }

    fn validate_create(&self, _: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::create(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        if context.subresource.is_empty() {
            validate::update(object, old, errors);
        } else {
            validate::status(object, errors);
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        formats::warnings(object, old)
    }

    fn begin_deletion(&self, object: &mut Value) -> DeletionStep {
        if object::deletion_timestamp(object).is_some() {
            return DeletionStep::Delete;
        }
        let mut finalizers: Vec<String> = object::finalizers(object).map(str::to_owned).collect();
        if !finalizers.iter().any(|one| one == CLEANUP_FINALIZER) {
            finalizers.push(CLEANUP_FINALIZER.to_owned());
            object::set_finalizers(object, finalizers);
        }
        set_terminating(object);
        DeletionStep::Mark
    }
}

/// Remembers that objects may be stored in the version that is the storage version now.
fn store_version(object: &mut Value) {
    let versions = object.at(&["spec", "versions"]).and_then(Value::as_array);
    let is_storage = |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
    let Some(name) =
        versions.into_iter().flatten().find(is_storage).map(|version| version.text_at(&["name"]).to_owned())
    else {
        return;
    };
    let Some(object) = object.as_object_mut() else { return };
    let stored = object.object("status").entry("storedVersions", || Value::Null);
    if stored.is_null() {
        *stored = Vec::<Value>::new().into();
    }
    if let Some(stored) = stored.as_array_mut()
        && !stored.iter().any(|one| one.as_str() == Some(&name))
    {
        stored.push(name.into());
    }
}
