//! An object's metadata: reading, setting and checking it.
//!
//! Position: what registry, admission and controllers know of any object, whatever its kind.
//! Invariant: setters keep the members of metadata in the order of its type and never leave a zero
//! value behind, as Go's encoder leaves them out.

mod validate;

use apiwright_json::{Object, Value};
use compact_str::CompactString;

use crate::gvk::GroupVersionKind;

pub use validate::{
    ANNOTATIONS_BYTES_MAX, validate_annotations, validate_field_manager, validate_finalizer_name,
    validate_finalizers, validate_managed_fields, validate_object_meta, validate_object_meta_update,
    validate_owner_references, validate_standard_finalizers,
};

/// An owner of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerReference<'a> {
    /// Of the owner.
    pub api_version: &'a str,
    /// Of the owner.
    pub kind: &'a str,
    /// Of the owner.
    pub name: &'a str,
    /// Of the owner.
    pub uid: &'a str,
    /// Whether the owner manages the object.
    pub controller: bool,
    /// Whether the owner, deleted in the foreground, waits for the object.
    pub block_owner_deletion: bool,
}

/// The members of `ObjectMeta`, in order.
const MEMBERS: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

static EMPTY: Object = Object::new();

/// `metadata`; empty where there is none.
pub fn metadata(object: &Value) -> &Object {
    object.get("metadata").and_then(Value::as_object).unwrap_or(&EMPTY)
}

/// `metadata` to change, made where there is none. What is no object stays as it is and gets a metadata that is lost.
pub fn metadata_mut(object: &mut Value) -> &mut Object {
    if !matches!(object, Value::Object(_)) {
        *object = Value::Object(Object::new());
    }
    match object {
        Value::Object(members) => members.object("metadata"),
        _ => unreachable!("made an object above"),
    }
}

/// `kind`
pub fn kind(object: &Value) -> &str {
    object.text_at(&["kind"])
}

/// `apiVersion`
pub fn api_version(object: &Value) -> &str {
    object.text_at(&["apiVersion"])
}

/// `apiVersion` and `kind` taken apart.
pub fn gvk(object: &Value) -> GroupVersionKind {
    let (group, version) = api_version(object).split_once('/').unwrap_or(("", api_version(object)));
    GroupVersionKind { group: group.into(), version: version.into(), kind: kind(object).into() }
}

/// `metadata.name`
pub fn name(object: &Value) -> &str {
    text(object, "name")
}

/// `metadata.generateName`
pub fn generate_name(object: &Value) -> &str {
    text(object, "generateName")
}

/// `metadata.namespace`
pub fn namespace(object: &Value) -> &str {
    text(object, "namespace")
}

/// `metadata.uid`
pub fn uid(object: &Value) -> &str {
    text(object, "uid")
}

/// `metadata.resourceVersion`
pub fn resource_version(object: &Value) -> &str {
    text(object, "resourceVersion")
}

/// `metadata.generation`
pub fn generation(object: &Value) -> i64 {
    metadata(object).get("generation").and_then(Value::as_i64).unwrap_or_default()
}

/// `metadata.creationTimestamp`
pub fn creation_timestamp(object: &Value) -> Option<&str> {
    metadata(object).str("creationTimestamp")
}

/// `metadata.deletionTimestamp`: there while the object waits for its finalizers or its grace period.
pub fn deletion_timestamp(object: &Value) -> Option<&str> {
    metadata(object).str("deletionTimestamp")
}

/// `metadata.deletionGracePeriodSeconds`
pub fn deletion_grace_period_seconds(object: &Value) -> Option<i64> {
    metadata(object).get("deletionGracePeriodSeconds").and_then(Value::as_i64)
}

/// `metadata.labels`
pub fn labels(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    pairs(metadata(object).get("labels"))
}

/// A label's value.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    metadata(object).get("labels")?.get(key)?.as_str()
}

/// `metadata.annotations`
pub fn annotations(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    pairs(metadata(object).get("annotations"))
}

/// An annotation's value.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    metadata(object).get("annotations")?.get(key)?.as_str()
}

/// `metadata.finalizers`
pub fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    items(metadata(object).get("finalizers")).filter_map(Value::as_str)
}

/// `metadata.ownerReferences`
pub fn owner_references(object: &Value) -> impl Iterator<Item = OwnerReference<'_>> {
    items(metadata(object).get("ownerReferences")).map(OwnerReference::of)
}

/// The owner that manages the object.
pub fn controller(object: &Value) -> Option<OwnerReference<'_>> {
    owner_references(object).find(|owner| owner.controller)
}

/// Sets `metadata.name`.
pub fn set_name(object: &mut Value, name: &str) {
    set(object, "name", name);
}

/// Sets `metadata.namespace`.
pub fn set_namespace(object: &mut Value, namespace: &str) {
    set(object, "namespace", namespace);
}

/// Sets `metadata.uid`.
pub fn set_uid(object: &mut Value, uid: &str) {
    set(object, "uid", uid);
}

/// Sets `metadata.resourceVersion`.
pub fn set_resource_version(object: &mut Value, version: &str) {
    set(object, "resourceVersion", version);
}

/// Sets `metadata.generation`.
pub fn set_generation(object: &mut Value, generation: i64) {
    set(object, "generation", generation);
}

/// Sets `metadata.creationTimestamp`.
pub fn set_creation_timestamp(object: &mut Value, time: &str) {
    set(object, "creationTimestamp", time);
}

/// Marks the object as being deleted, or, without a time, as not.
pub fn set_deletion(object: &mut Value, time: Option<&str>, grace_period_seconds: Option<i64>) {
    set(object, "deletionTimestamp", time.unwrap_or_default());
    let metadata = metadata_mut(object);
    metadata.remove("deletionGracePeriodSeconds");
    if let Some(seconds) = grace_period_seconds {
        // A pointer in Go: zero stays.
        place(metadata, "deletionGracePeriodSeconds", seconds.into());
    }
}

/// Sets a label.
pub fn set_label(object: &mut Value, key: &str, value: &str) {
    set_entry(object, "labels", key, value);
}

/// Sets an annotation.
pub fn set_annotation(object: &mut Value, key: &str, value: &str) {
    set_entry(object, "annotations", key, value);
}

/// Takes an annotation away; returns what it was.
pub fn remove_annotation(object: &mut Value, key: &str) -> Option<Value> {
    let metadata = metadata_mut(object);
    let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut)?;
    let removed = annotations.remove(key);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    removed
}

/// Sets `metadata.finalizers`.
pub fn set_finalizers<S: Into<CompactString>>(object: &mut Value, finalizers: impl IntoIterator<Item = S>) {
    let finalizers: Vec<Value> = finalizers.into_iter().map(|one| Value::String(one.into())).collect();
    set(object, "finalizers", finalizers);
}

/// Takes a finalizer away; whether it was there.
pub fn remove_finalizer(object: &mut Value, finalizer: &str) -> bool {
    let metadata = metadata_mut(object);
    let Some(list) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) else { return false };
    let before = list.len();
    list.retain(|one| one.as_str() != Some(finalizer));
    let removed = list.len() < before;
    if list.is_empty() {
        metadata.remove("finalizers");
    }
    removed
}

/// Sets a member of `metadata` in its place; a zero value takes it away.
pub fn set(object: &mut Value, member: &str, value: impl Into<Value>) {
    let value = value.into();
    let metadata = metadata_mut(object);
    if is_zero(&value) {
        metadata.remove(member);
    } else {
        place(metadata, member, value);
    }
}

impl<'a> OwnerReference<'a> {
    /// The reference that a value is; what is missing is empty.
    pub fn of(value: &'a Value) -> Self {
        let truth = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or_default();
        Self {
            api_version: value.text_at(&["apiVersion"]),
            kind: value.text_at(&["kind"]),
            name: value.text_at(&["name"]),
            uid: value.text_at(&["uid"]),
            controller: truth("controller"),
            block_owner_deletion: truth("blockOwnerDeletion"),
        }
    }
}

fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    metadata(object).str(member).unwrap_or_default()
}

fn pairs(map: Option<&Value>) -> impl Iterator<Item = (&str, &str)> {
    let map = map.and_then(Value::as_object).unwrap_or(&EMPTY);
    map.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

fn set_entry(object: &mut Value, member: &str, key: &str, value: &str) {
    let metadata = metadata_mut(object);
    if !metadata.contains_key(member) {
        place(metadata, member, Value::Object(Object::new()));
    }
    let entries = metadata.object(member);
    let known = entries.contains_key(key);
    entries.insert(key, value);
    if !known {
        entries.sort();
    }
}

/// Puts a member where its type has it.
fn place(metadata: &mut Object, member: &str, value: Value) {
    if let Some(slot) = metadata.get_mut(member) {
        *slot = value;
        return;
    }
    let rank = |member: &str| MEMBERS.iter().position(|one| *one == member).unwrap_or(MEMBERS.len());
    let at = metadata.keys().position(|one| rank(one) > rank(member)).unwrap_or(metadata.len());
    metadata.insert_at(at, member, value);
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Int(number) => *number == 0,
        Value::Float(number) => *number == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_json::{decode, to_string};

    fn parsed(text: &str) -> Value {
        decode(text.as_bytes()).map(|decoded| decoded.0).unwrap_or_default()
    }

    #[test]
    fn reading() {
        let pod = parsed(
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"n","uid":"u","generation":3,
            "labels":{"a":"b"},"annotations":{"c":"d"},"finalizers":["x/y"],"deletionGracePeriodSeconds":0,
            "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"v","controller":true}]}}"#,
        );
        assert_eq!((name(&pod), namespace(&pod), uid(&pod), generation(&pod)), ("p", "n", "u", 3));
        assert_eq!(labels(&pod).collect::<Vec<_>>(), [("a", "b")]);
        assert_eq!((label(&pod, "a"), label(&pod, "z"), annotation(&pod, "c")), (Some("b"), None, Some("d")));
        assert_eq!(finalizers(&pod).collect::<Vec<_>>(), ["x/y"]);
        assert_eq!(
            controller(&pod).map(|owner| (owner.name, owner.block_owner_deletion)),
            Some(("r", false))
        );
        assert_eq!(deletion_grace_period_seconds(&pod), Some(0));
        assert_eq!(gvk(&parsed(r#"{"kind":"Job","apiVersion":"batch/v1"}"#)).group, "batch");
        assert_eq!(name(&Value::Null), "");
    }

    #[test]
    fn setting_keeps_the_order_of_the_type() {
        let mut object = parsed(r#"{"metadata":{"labels":{"b":"1"}}}"#);
        set_creation_timestamp(&mut object, "2026-01-01T00:00:00Z");
        set_uid(&mut object, "u");
        set_name(&mut object, "n");
        set_generation(&mut object, 1);
        set_label(&mut object, "a", "2");
        set_finalizers(&mut object, ["x/y", "x/z"]);
        set_deletion(&mut object, Some("2026-01-02T00:00:00Z"), Some(0));
        assert_eq!(
            to_string(&object),
            r#"{"metadata":{"name":"n","uid":"u","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":"2026-01-02T00:00:00Z","deletionGracePeriodSeconds":0,"labels":{"a":"2","b":"1"},"finalizers":["x/y","x/z"]}}"#
        );
        assert!(remove_finalizer(&mut object, "x/y") && !remove_finalizer(&mut object, "x/y"));
        assert!(remove_finalizer(&mut object, "x/z"));
        set_deletion(&mut object, None, None);
        set_generation(&mut object, 0);
        set_creation_timestamp(&mut object, "");
        assert_eq!(to_string(&object), r#"{"metadata":{"name":"n","uid":"u","labels":{"a":"2","b":"1"}}}"#);
    }
}
