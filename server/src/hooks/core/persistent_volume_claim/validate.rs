//! What makes a `PersistentVolumeClaim` valid.

use apiwright_json::{Object, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::labels::{SelectorLeniency, validate_label_selector};
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{ErrorList, Path, names, object};
use apiwright_schema::go::internal;

use crate::generated::catalogue;
use crate::hooks::shared::{diff, storage};

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const STORAGE: [&str; 3] = ["resources", "requests", "storage"];
const FIXED: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

/// The faults of any claim.
pub(super) fn claim(object: &Value, errors: &mut ErrorList) {
    if let Some(spec) = object.get("spec") {
        spec_faults(spec, &Path::new("spec"), errors);
    }
}

/// The faults of a claim's spec, wherever it is.
pub fn spec_faults(spec: &Value, path: &Path, errors: &mut ErrorList) {
    storage::mode_faults(spec, "at least 1 access mode is required", path, errors);
    let selector = path.child("selector");
    errors.append(validate_label_selector(spec.get("selector"), SelectorLeniency::default(), &selector));
    let at = path.child("resources").key("storage");
    match quantity(spec, &STORAGE) {
        None => errors.required(at, ""),
        Some(amount) => storage::positive(&amount, &at, errors),
    }
    storage::class_faults(spec, "storageClassName", path, errors);
    sources(spec, path, errors);
    storage::class_faults(spec, "volumeAttributesClassName", path, errors);
}

/// The faults of an update: those of any claim, and what may not change.
pub(super) fn update(object: &Value, old: &Value, errors: &mut ErrorList) {
    claim(object, errors);
    let (mut new, mut before) = (spec(object), spec(old));
    let path = Path::new("spec");
    if before.text_at(&["volumeName"]).is_empty() {
        copy(&mut before, &new, "volumeName");
    }
    let annotated = |object: &Value| object::annotation(object, CLASS_ANNOTATION).map(str::to_owned);
    class_upgrade(annotated(object), annotated(old), &mut new, &before, errors);
    let amounts = new.at_mut(&["resources", "requests"]).and_then(Value::as_object_mut);
    if let Some(amounts) = amounts.filter(|_| object.text_at(&["status", "phase"]) == "Bound") {
        match before.at(&STORAGE) {
            Some(amount) => amounts.insert("storage", amount.clone()),
            None => amounts.remove("storage"),
        };
    }
    copy(&mut new, &before, "volumeAttributesClassName");
    if new != before {
        errors.forbidden(path.clone(), &format!("{FIXED}\n{}", difference(&before, &new)));
    }
    amount_may_shrink(object, old, errors);
    let mode = |object: &Value| object.at(&["spec", "volumeMode"]).cloned();
    if mode(object) != mode(old) {
        let shown = quoted(object.text_at(&["spec", "volumeMode"]));
        errors.invalid(Path::new("volumeMode"), shown, "field is immutable");
    }
    let class = |object: &Value| {
        object.at(&["spec", "volumeAttributesClassName"]).and_then(Value::as_str).map(str::to_owned)
    };
    let at = path.child("volumeAttributesClassName");
    match (class(old), class(object).as_deref()) {
        (Some(_), None) => errors.forbidden(at, "update from non-nil value to nil is forbidden"),
        (Some(old), Some("")) if !old.is_empty() => {
            errors.forbidden(at, "update from non-nil value to an empty string is forbidden");
        }
        _ => {}
    }
}

/// The faults of a status.
pub(super) fn status(object: &Value, errors: &mut ErrorList) {
    let path = Path::new("status");
    for (list, strict) in [("capacity", false), ("allocatedResources", true)] {
        let amounts = object.at(&["status", list]).and_then(Value::as_object);
        for (name, amount) in amounts.into_iter().flat_map(Object::iter) {
            if strict && name != "storage" && crate::hooks::shared::resources::is_native(name) {
                errors.not_supported(path.child(list), quoted(name), &["storage"]);
            } else if let Ok(amount) = Quantity::from_value(amount) {
                storage::basic(&amount, &path.child(list).key(name), errors);
            }
        }
    }
}

fn spec(object: &Value) -> Value {
    object.get("spec").cloned().unwrap_or_default()
}

fn quantity(value: &Value, path: &[&str]) -> Option<Quantity> {
    value.at(path).and_then(|amount| Quantity::from_value(amount).ok())
}

fn copy(to: &mut Value, from: &Value, member: &str) {
    let Some(to) = to.as_object_mut() else { return };
    match from.get(member) {
        Some(value) => to.insert(member, value.clone()),
        None => to.remove(member),
    };
}

/// A claim may get the class that its annotation named, or one where it had none.
fn class_upgrade(
    annotation: Option<String>,
    old_annotation: Option<String>,
    new: &mut Value,
    before: &Value,
    errors: &mut ErrorList,
) {
    let class = new.get("storageClassName").and_then(Value::as_str).map(str::to_owned);
    let had_none = before.get("storageClassName").is_none();
    let same = class.is_some() && class == old_annotation;
    let from_annotation =
        had_none && same && annotation.as_ref().is_none_or(|one| Some(one) == old_annotation.as_ref());
    if from_annotation {
        copy(new, &Value::Null, "storageClassName");
        return;
    }
    if annotation.as_deref().unwrap_or_default() != old_annotation.as_deref().unwrap_or_default() {
        let path = Path::new("metadata").child("annotations").key(CLASS_ANNOTATION);
        errors.invalid(path, quoted(annotation.as_deref().unwrap_or_default()), "field is immutable");
    }
    if had_none && class.is_some() && old_annotation.as_ref().is_none_or(|old| Some(old) == class.as_ref()) {
        copy(new, before, "storageClassName");
    }
}

/// A claim that could not grow may ask for less again, but for more than there is.
fn amount_may_shrink(object: &Value, old: &Value, errors: &mut ErrorList) {
    let wanted = |object: &Value| quantity(object, &["spec", "resources", "requests", "storage"]);
    let zero = || Quantity::new(0, apiwright_meta::quantity::Format::DecimalSI);
    let (new, before) = (wanted(object).unwrap_or_else(zero), wanted(old).unwrap_or_else(zero));
    let there = quantity(old, &["status", "capacity", "storage"]).unwrap_or_else(zero);
    if new < before && new <= there {
        let path = Path::new("spec").child("resources").child("requests").child("storage");
        errors.forbidden(path, "field can not be less than status.capacity");
    }
}

fn difference(old: &Value, new: &Value) -> String {
    let ty = catalogue().definition("io.k8s.api.core.v1.PersistentVolumeClaim");
    let Some(node) = ty.and_then(|ty| ty.field("spec")).map(|field| &field.node) else {
        return String::new();
    };
    diff::unified(&internal(node, old), &internal(node, new))
}

fn sources(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let (source, reference) = (spec.get("dataSource"), spec.get("dataSourceRef"));
    for (member, source) in [("dataSource", source), ("dataSourceRef", reference)] {
        if let Some(source) = source {
            source_faults(source, &path.child(member), errors);
        }
    }
    let (Some(source), Some(reference)) = (source, reference) else { return };
    let shown = quoted("spec.dataSource");
    let parts = |one: &Value| ["apiGroup", "kind", "name"].map(|member| one.text_at(&[member]).to_owned());
    if !reference.text_at(&["namespace"]).is_empty() {
        errors.invalid(path.clone(), shown, "may not be specified when dataSourceRef.namespace is specified");
    } else if parts(source) != parts(reference) {
        errors.invalid(path.clone(), shown, "must match dataSourceRef");
    }
}

fn source_faults(source: &Value, path: &Path, errors: &mut ErrorList) {
    let text = |member: &str| source.text_at(&[member]);
    for member in ["name", "kind"].into_iter().filter(|member| text(member).is_empty()) {
        errors.required(path.child(member), "");
    }
    let group = text("apiGroup");
    if group.is_empty() && text("kind") != "PersistentVolumeClaim" {
        let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.invalid(path.clone(), quoted(text("kind")), why);
    }
    if !group.is_empty() {
        errors.invalid_each(&path.child("apiGroup"), group, names::dns1123_subdomain(group));
    }
    let namespace = text("namespace");
    if !namespace.is_empty() {
        errors.invalid_each(&path.child("namespace"), namespace, names::name_is_dns_label(namespace, false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(spec: &str, phase: &str) -> Value {
        let status = format!(r#"{{"phase":"{phase}","capacity":{{"storage":"2Gi"}}}}"#);
        apiwright_json::decode(format!(r#"{{"spec":{spec},"status":{status}}}"#).as_bytes()).unwrap().0
    }

    #[test]
    fn what_may_change() {
        let old = r#"{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"4Gi"}},"volumeMode":"Filesystem"}"#;
        let table = [
            (old.to_owned(), "Pending", "[]".to_owned()),
            (old.replace("4Gi", "8Gi"), "Bound", "[]".into()),
            (old.replace("4Gi", "3Gi"), "Bound", "[]".into()),
            (
                old.replace("4Gi", "1Gi"),
                "Bound",
                "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
                    .into(),
            ),
            (old.replace("\"volumeMode", "\"volumeName\":\"v\",\"volumeMode"), "Pending", "[]".into()),
            (old.replace("\"volumeMode", "\"storageClassName\":\"c\",\"volumeMode"), "Pending", "[]".into()),
            (
                old.replace("4Gi", "8Gi"),
                "Pending",
                format!(
                    "spec: Forbidden: {FIXED}\n@@ -6,7 +6,7 @@\n  \"Resources\": {{\n   \"Limits\": null,\n   \"Requests\": {{\n-   \"storage\": \"4Gi\"\n+   \"storage\": \"8Gi\"\n   }}\n  }},\n  \"VolumeName\": \"\",\n"
                ),
            ),
        ];
        for (new, phase, expected) in table {
            let mut errors = ErrorList::new();
            update(&object(&new, phase), &object(old, phase), &mut errors);
            assert_eq!(errors.aggregate(), expected, "{new}");
        }
    }
}
