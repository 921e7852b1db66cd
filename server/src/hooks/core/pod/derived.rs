//! What a new pod gets from what it says elsewhere: selectors of pods with its own labels, and the profiles
//! that annotations named before there was a field.

use apiwright_json::{Object, Value};
use apiwright_meta::{Path, object};
use apiwright_registry::hooks::Notes;

use crate::hooks::shared::pod_spec::annotations::APP_ARMOR;
use crate::hooks::shared::pod_spec::{CONTAINER_LISTS, list_mut};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
/// What comes after a container's security context.
const AFTER_SECURITY: [&str; 3] = ["stdin", "stdinOnce", "tty"];

/// Adds the pod's own labels to selectors that name their keys.
pub(super) fn select_own_labels(pod: &mut Value) {
    let labels = object::metadata(pod).get("labels").and_then(Value::as_object).cloned().unwrap_or_default();
    let Some(spec) = pod.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec.get_mut("affinity").and_then(|affinity| affinity.at_mut(&[kind])) else {
            continue;
        };
        let Some(affinity) = affinity.as_object_mut() else { continue };
        for term in list_mut(affinity, PREFERRED) {
            if let Some(term) = term.at_mut(&["podAffinityTerm"]).and_then(Value::as_object_mut) {
                select(term, "matchLabelKeys", "In", &labels);
                select(term, "mismatchLabelKeys", "NotIn", &labels);
            }
        }
        for term in list_mut(affinity, REQUIRED).filter_map(Value::as_object_mut) {
            select(term, "matchLabelKeys", "In", &labels);
            select(term, "mismatchLabelKeys", "NotIn", &labels);
        }
    }
    for constraint in list_mut(spec, "topologySpreadConstraints").filter_map(Value::as_object_mut) {
        select(constraint, "matchLabelKeys", "In", &labels);
    }
}

/// No selector selects nothing, whatever keys say.
fn select(term: &mut Object, list: &str, operator: &str, labels: &Object) {
    let keys = term.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(selector) = term.get_mut("labelSelector").and_then(Value::as_object_mut) else { return };
    for key in keys.iter().filter_map(Value::as_str) {
        let Some(value) = labels.get(key) else { continue };
        let requirement = Object::from_iter([
            ("key", Value::from(key)),
            ("operator", operator.into()),
            ("values", vec![value.clone()].into()),
        ]);
        let expressions = selector.entry("matchExpressions", || Vec::<Value>::new().into());
        if let Some(expressions) = expressions.as_array_mut() {
            expressions.push(requirement.into());
        }
    }
}

/// Gives containers the profiles that annotations name, which are deprecated.
pub(super) fn profiles_of_annotations(pod: &mut Value, notes: &Notes) {
    if pod.text_at(&["spec", "os", "name"]) == "windows" {
        return;
    }
    let annotations = object::metadata(pod).get("annotations").and_then(Value::as_object).cloned();
    let Some(annotations) = annotations else { return };
    let of_pod = pod.at(&["spec", "securityContext", "appArmorProfile"]).cloned();
    let Some(spec) = pod.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
    for list in CONTAINER_LISTS {
        for container in list_mut(spec, list).filter_map(Value::as_object_mut) {
            profile_of(container, &annotations, of_pod.as_ref(), notes);
        }
    }
}

fn profile_of(container: &mut Object, annotations: &Object, of_pod: Option<&Value>, notes: &Notes) {
    let key = format!("{APP_ARMOR}{}", container.str("name").unwrap_or_default());
    let own = container.get("securityContext").and_then(|security| security.get("appArmorProfile"));
    let (Some(annotation), None) = (annotations.str(&key), own) else { return };
    let profile = profile(annotation).map(Value::from);
    if profile.is_some() && profile.as_ref() == of_pod {
        return;
    }
    if let Some(profile) = profile {
        security_of(container).insert("appArmorProfile", profile);
    }
    let path = Path::new("metadata").child("annotations").key(&key);
    let why = "deprecated since v1.30; use the \"appArmorProfile\" field instead";
    notes.add(format!("{}: {why}", path.as_str()));
}

/// The security context of a container, in its place.
fn security_of(container: &mut Object) -> &mut Object {
    if !container.contains_key("securityContext") {
        let at = container.keys().position(|member| AFTER_SECURITY.contains(&member.as_str()));
        container.insert_at(at.unwrap_or(container.len()), "securityContext", Object::new());
    }
    container.object("securityContext")
}

/// The profile that an annotation means.
fn profile(annotation: &str) -> Option<Object> {
    match annotation {
        "unconfined" => Some(Object::from_iter([("type", "Unconfined")])),
        "runtime/default" => Some(Object::from_iter([("type", "RuntimeDefault")])),
        other => {
            let local = other.strip_prefix("localhost/")?;
            // What the field could not say stays an annotation.
            let is_sound = !local.is_empty() && local.trim() == local;
            is_sound.then(|| Object::from_iter([("type", "Localhost"), ("localhostProfile", local)]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    #[test]
    fn own_labels_are_selected() {
        let mut object = pod(
            r#"{"metadata":{"labels":{"app":"web","tier":"a"}},"spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
            {"labelSelector":{},"topologyKey":"z","matchLabelKeys":["app","none"],"mismatchLabelKeys":["tier"]},
            {"topologyKey":"z","matchLabelKeys":["app"]}]}},
            "topologySpreadConstraints":[{"labelSelector":{"matchLabels":{"a":"b"}},"matchLabelKeys":["app"]}]}}"#,
        );
        select_own_labels(&mut object);
        let terms = object.at(&["spec", "affinity", "podAffinity", REQUIRED]).unwrap();
        assert_eq!(
            apiwright_json::to_string(terms),
            r#"[{"labelSelector":{"matchExpressions":[{"key":"app","operator":"In","values":["web"]},{"key":"tier","operator":"NotIn","values":["a"]}]},"topologyKey":"z","matchLabelKeys":["app","none"],"mismatchLabelKeys":["tier"]},{"topologyKey":"z","matchLabelKeys":["app"]}]"#
        );
        let selector = object.at(&["spec", "topologySpreadConstraints"]).unwrap();
        assert_eq!(
            apiwright_json::to_string(selector),
            r#"[{"labelSelector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"app","operator":"In","values":["web"]}]},"matchLabelKeys":["app"]}]"#
        );
    }

    #[test]
    fn annotations_become_profiles() {
        let table = [
            (
                "unconfined",
                r#"{"name":"c","securityContext":{"appArmorProfile":{"type":"Unconfined"}},"stdin":true}"#,
                1,
            ),
            (
                "localhost/own",
                r#"{"name":"c","securityContext":{"appArmorProfile":{"type":"Localhost","localhostProfile":"own"}},"stdin":true}"#,
                1,
            ),
            ("odd", r#"{"name":"c","stdin":true}"#, 1),
            ("runtime/default", r#"{"name":"c","stdin":true}"#, 0),
        ];
        for (annotation, expected, count) in table {
            let mut object = pod(&format!(
                r#"{{"metadata":{{"annotations":{{"{APP_ARMOR}c":"{annotation}"}}}},
                "spec":{{"securityContext":{{"appArmorProfile":{{"type":"RuntimeDefault"}}}},"containers":[{{"name":"c","stdin":true}}]}}}}"#
            ));
            let notes = Notes::default();
            profiles_of_annotations(&mut object, &notes);
            let container = &object.at(&["spec", "containers"]).unwrap().as_array().unwrap()[0];
            assert_eq!(apiwright_json::to_string(container), expected);
            assert_eq!(notes.take().len(), count, "{annotation}");
        }
    }
}
