//! Validation of metadata (upstream: `k8s.io/apimachinery/pkg/api/validation`).
//!
//! Invariant: the order of the errors is upstream's; entries of maps come in their own order, where
//! upstream's is random.
//! Absence: that an update names a resourceVersion is checked by the store, which knows whether it has to.

use std::collections::BTreeSet;

use apiwright_json::{Object, Value};

use super::{EMPTY, OwnerReference, items};
use crate::field::{ErrorList, Path, go_value, is_print, quoted};
use crate::gvk::GroupVersion;
use crate::labels::validate_labels;
use crate::names::{self, NameCheck};

/// How many bytes the keys and values of an object's annotations may have together.
pub const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

const FIELD_MANAGER_BYTES_MAX: usize = 128;
const SUBRESOURCE_BYTES_MAX: usize = 256;
const IMMUTABLE: &str = "field is immutable";

/// The faults of the metadata of an object to be created; a name has been generated already.
pub fn validate_object_meta(metadata: &Object, namespaced: bool, name: NameCheck, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    let text = |member: &str| metadata.str(member).unwrap_or_default();
    errors.invalid_each(
        &path.child("generateName"),
        text("generateName"),
        match text("generateName") {
            "" => Vec::new(),
            prefix => name(prefix, true),
        },
    );
    match text("name") {
        "" => errors.required(path.child("name"), "name or generateName is required"),
        own => errors.invalid_each(&path.child("name"), own, name(own, false)),
    }
    match (namespaced, text("namespace")) {
        (true, "") => errors.required(path.child("namespace"), ""),
        (true, namespace) => {
            let faults = names::name_is_dns_label(namespace, false);
            errors.invalid_each(&path.child("namespace"), namespace, faults);
        }
        (false, "") => {}
        (false, _) => errors.forbidden(path.child("namespace"), "not allowed on this type"),
    }
    if generation(metadata) < 0 {
        let words = "must be greater than or equal to 0";
        errors.invalid(path.child("generation"), generation(metadata), words);
    }
    errors.append(validate_labels(map(metadata, "labels"), &path.child("labels")));
    errors.append(validate_annotations(map(metadata, "annotations"), &path.child("annotations")));
    errors.append(validate_owner_references(metadata.get("ownerReferences"), &path.child("ownerReferences")));
    errors.append(validate_finalizers(metadata.get("finalizers"), &path.child("finalizers")));
    errors.append(validate_managed_fields(metadata.get("managedFields"), &path.child("managedFields")));
    errors
}

/// The faults of the metadata of an object to be replaced.
pub fn validate_object_meta_update(metadata: &Object, old: &Object, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    if present(old, "deletionTimestamp").is_some() {
        no_new_finalizers(metadata, old, &path.child("finalizers"), &mut errors);
    }
    let generation =
        |metadata: &Object| metadata.get("generation").and_then(Value::as_i64).unwrap_or_default();
    if generation(metadata) < generation(old) {
        errors.invalid(path.child("generation"), generation(metadata), "must not be decremented");
    }
    for member in ["name", "namespace", "uid"] {
        let text = |metadata: &Object| metadata.str(member).unwrap_or_default().to_owned();
        if text(metadata) != text(old) {
            errors.invalid(path.child(member), quoted(&text(metadata)), IMMUTABLE);
        }
    }
    for member in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let new = present(metadata, member);
        if new != present(old, member) {
            errors.invalid(path.child(member), go_value(new.unwrap_or(&Value::Null)), IMMUTABLE);
        }
    }
    errors.append(validate_labels(map(metadata, "labels"), &path.child("labels")));
    errors.append(validate_annotations(map(metadata, "annotations"), &path.child("annotations")));
    errors.append(validate_owner_references(metadata.get("ownerReferences"), &path.child("ownerReferences")));
    errors.append(validate_managed_fields(metadata.get("managedFields"), &path.child("managedFields")));
    errors
}

/// The faults of annotations: keys as those of labels whatever their case, and the total size.
pub fn validate_annotations(annotations: &Object, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    let mut bytes = 0;
    for (key, value) in annotations.iter() {
        errors.invalid_each(path, key, names::qualified_name(&key.to_lowercase()));
        bytes += key.len() + value.as_str().map_or(0, str::len);
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        errors.too_long(path.clone(), ANNOTATIONS_BYTES_MAX);
    }
    errors
}

/// The faults of `ownerReferences`.
pub fn validate_owner_references(references: Option<&Value>, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    let mut controller: Option<String> = None;
    for reference in items(references) {
        let owner = OwnerReference::of(reference);
        owner_reference(reference, owner, path, &mut errors);
        if !owner.controller {
            continue;
        }
        let this = format!("{}/{}", owner.kind, owner.name);
        match &controller {
            None => controller = Some(this),
            Some(first) => errors.invalid(
                path.clone(),
                shown_references(references),
                &format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and \
                     {this}"
                ),
            ),
        }
    }
    errors
}

/// References as errors quote them: in the order of the fields of their type, whatever order they have.
fn shown_references(references: Option<&Value>) -> String {
    const FIELDS: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let in_order = |reference: &Value| {
        let given = FIELDS.iter().filter_map(|name| Some((*name, reference.get(name)?.clone())));
        Value::Object(given.collect())
    };
    go_value(&items(references).map(in_order).collect::<Vec<_>>().into())
}

/// The faults of `finalizers`.
pub fn validate_finalizers(finalizers: Option<&Value>, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    for finalizer in items(finalizers) {
        errors.append(validate_finalizer_name(finalizer.as_str().unwrap_or_default(), path));
    }
    let has = |name: &str| items(finalizers).any(|one| one.as_str() == Some(name));
    if has("orphan") && has("foregroundDeletion") {
        let value = go_value(finalizers.unwrap_or(&Value::Null));
        errors.invalid(path.clone(), value, "finalizer orphan and foregroundDeletion cannot be both set");
    }
    errors
}

/// The faults of one finalizer's name.
pub fn validate_finalizer_name(finalizer: &str, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    errors.invalid_each(path, finalizer, names::qualified_name(finalizer));
    errors
}

/// What core kinds ask of finalizers besides: a prefix, unless they are the standard ones.
pub fn validate_standard_finalizers(finalizers: Option<&Value>, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    for (at, finalizer) in items(finalizers).enumerate() {
        let finalizer = finalizer.as_str().unwrap_or_default();
        if !finalizer.contains('/') && !matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion") {
            let words = "name is neither a standard finalizer name nor is it fully qualified";
            errors.invalid(path.index(at), quoted(finalizer), words);
        }
    }
    errors
}

/// The faults of `managedFields`, but for the field sets themselves.
pub fn validate_managed_fields(entries: Option<&Value>, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    for (at, entry) in items(entries).enumerate() {
        let path = path.index(at);
        let operation = entry.text_at(&["operation"]);
        if !matches!(operation, "Apply" | "Update") {
            errors.invalid(path.child("operation"), quoted(operation), "must be `Apply` or `Update`");
        }
        let form = entry.text_at(&["fieldsType"]);
        if !matches!(form, "" | "FieldsV1") {
            errors.invalid(path.child("fieldsType"), quoted(form), "must be `FieldsV1`");
        }
        errors.append(validate_field_manager(entry.text_at(&["manager"]), &path.child("manager")));
        if entry.text_at(&["subresource"]).len() > SUBRESOURCE_BYTES_MAX {
            errors.too_long(path.child("subresource"), SUBRESOURCE_BYTES_MAX);
        }
    }
    errors
}

/// The faults of a field manager's name.
pub fn validate_field_manager(manager: &str, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    if manager.len() > FIELD_MANAGER_BYTES_MAX {
        errors.too_long(path.clone(), FIELD_MANAGER_BYTES_MAX);
    }
    for (at, c) in manager.char_indices().filter(|(_, c)| !is_print(*c)) {
        let words = format!("invalid character U+{:04X} (at position {at})", c as u32);
        errors.invalid(path.clone(), quoted(manager), &words);
    }
    errors
}

fn owner_reference(reference: &Value, owner: OwnerReference<'_>, path: &Path, errors: &mut ErrorList) {
    let group_version = GroupVersion::parse(owner.api_version).unwrap_or_default();
    if group_version.version.is_empty() {
        errors.invalid(path.child("apiVersion"), quoted(owner.api_version), "version must not be empty");
    }
    for (member, text) in [("kind", owner.kind), ("name", owner.name), ("uid", owner.uid)] {
        if text.is_empty() {
            errors.invalid(path.child(member), quoted(text), "must not be empty");
        }
    }
    if group_version == GroupVersion::new("", "v1") && owner.kind == "Event" {
        let words = "/v1, Kind=Event is disallowed from being an owner";
        errors.invalid(path.clone(), go_value(reference), words);
    }
}

fn no_new_finalizers(metadata: &Object, old: &Object, path: &Path, errors: &mut ErrorList) {
    let set = |metadata: &Object| -> BTreeSet<String> {
        items(metadata.get("finalizers")).filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (new, old) = (set(metadata), set(old));
    let extra: Vec<String> = new.difference(&old).map(|one| quoted(one)).collect();
    if !extra.is_empty() {
        let words = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            extra.join(", ")
        );
        errors.forbidden(path.clone(), &words);
    }
}

fn generation(metadata: &Object) -> i64 {
    metadata.get("generation").and_then(Value::as_i64).unwrap_or_default()
}

fn map<'a>(metadata: &'a Object, member: &str) -> &'a Object {
    metadata.get(member).and_then(Value::as_object).unwrap_or(&EMPTY)
}

/// A member that is not null.
fn present<'a>(metadata: &'a Object, member: &str) -> Option<&'a Value> {
    metadata.get(member).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        match apiwright_json::decode(text.as_bytes()) {
            Ok((Value::Object(object), _)) => object,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn faults_at_creation() {
        let big = format!(r#"{{"name":"a","annotations":{{"a":"{}"}}}}"#, "x".repeat(ANNOTATIONS_BYTES_MAX));
        let table = [
            (r#"{"name":"a"}"#, "[]"),
            ("{}", "metadata.name: Required value: name or generateName is required"),
            (r#"{"name":"a","namespace":"b"}"#, "metadata.namespace: Forbidden: not allowed on this type"),
            (
                r#"{"name":"a","generation":-1}"#,
                "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
            ),
            (r#"{"name":"a","annotations":{"Example.COM/Key":""}}"#, "[]"),
            (big.as_str(), "metadata.annotations: Too long: may not be more than 262144 bytes"),
            (
                r#"{"name":"a","ownerReferences":[{"apiVersion":"a/b/c","kind":"","name":"x","uid":""}]}"#,
                "[metadata.ownerReferences.apiVersion: Invalid value: \"a/b/c\": version must not be empty, \
                 metadata.ownerReferences.kind: Invalid value: \"\": must not be empty, \
                 metadata.ownerReferences.uid: Invalid value: \"\": must not be empty]",
            ),
            (
                r#"{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Event","name":"x","uid":"u"}]}"#,
                "metadata.ownerReferences: Invalid value: \
                 {\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"x\",\"uid\":\"u\"}: /v1, Kind=Event is disallowed \
                 from being an owner",
            ),
            (
                r#"{"name":"a","finalizers":["orphan","foregroundDeletion"]}"#,
                "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and \
                 foregroundDeletion cannot be both set",
            ),
            (
                r#"{"name":"a","managedFields":[{"manager":"a\nb"},{"operation":"X","fieldsType":"Y"}]}"#,
                "[metadata.managedFields[0].operation: Invalid value: \"\": must be `Apply` or `Update`, \
                 metadata.managedFields[0].manager: Invalid value: \"a\\nb\": invalid character U+000A (at position 1), \
                 metadata.managedFields[1].operation: Invalid value: \"X\": must be `Apply` or `Update`, \
                 metadata.managedFields[1].fieldsType: Invalid value: \"Y\": must be `FieldsV1`]",
            ),
        ];
        for (text, expected) in table {
            let name = names::name_is_dns_subdomain;
            let errors = validate_object_meta(&object(text), false, name, &Path::new("metadata"));
            assert_eq!(errors.aggregate(), expected, "{text}");
        }
    }

    #[test]
    fn faults_of_an_update() {
        let old = r#"{"name":"a","namespace":"n","uid":"u","generation":2,"creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["x/a"]}"#;
        let table = [
            (old, "[]"),
            (
                r#"{"name":"b","namespace":"n","uid":"v","generation":1,"deletionGracePeriodSeconds":0,"finalizers":["x/c","x/b"]}"#,
                "[metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found \
                 new finalizers []string{\"x/b\", \"x/c\"}, metadata.generation: Invalid value: 1: must not be \
                 decremented, metadata.name: Invalid value: \"b\": field is immutable, metadata.uid: Invalid value: \
                 \"v\": field is immutable, metadata.creationTimestamp: Invalid value: null: field is immutable, \
                 metadata.deletionTimestamp: Invalid value: null: field is immutable, \
                 metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable]",
            ),
        ];
        for (text, expected) in table {
            let errors = validate_object_meta_update(&object(text), &object(old), &Path::new("metadata"));
            assert_eq!(errors.aggregate(), expected, "{text}");
        }
    }

    #[test]
    fn standard_finalizers() {
        let finalizers = Value::from(vec!["orphan".into(), "kubernetes".into(), "a/b".into(), "hold".into()]);
        let errors = validate_standard_finalizers(Some(&finalizers), &Path::new("metadata.finalizers"));
        assert_eq!(
            errors.aggregate(),
            "metadata.finalizers[3]: Invalid value: \"hold\": name is neither a standard finalizer name nor is it \
             fully qualified"
        );
    }
}
