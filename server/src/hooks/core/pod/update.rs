//! What may change of a pod that is there.

use std::collections::HashMap;

use apiwright_json::{Object, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names, object};

use super::{dump, validate};
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::{cells, diff, pod_spec};

const MAY_CHANGE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The faults of an update.
pub(super) fn faults(pod: &Value, old: &Value, errors: &mut ErrorList) {
    validate::metadata_and_spec(pod, errors);
    annotations(pod, old, errors);
    for list in ["containers", "initContainers"] {
        if !images(pod, old, list, errors) {
            return;
        }
    }
    if !deadline(pod, old, errors) {
        return;
    }
    tolerations(pod, old, errors);
    gates(pod, old, errors);
    let nothing = Value::Null;
    let (spec, before) = (pod.get("spec").unwrap_or(&nothing), old.get("spec").unwrap_or(&nothing));
    if spec == before {
        return;
    }
    let mut munged = munged(spec, before);
    if !cells::items(before, &["schedulingGates"]).is_empty() {
        gated(&mut munged, before, errors);
    }
    if munged != *before {
        let difference = diff::unified(&dump::spec(before), &dump::spec(&munged));
        errors.forbidden(Path::new("spec"), &format!("{MAY_CHANGE}\n{difference}"));
    }
}

/// Annotations that stay, and once more those that mean something.
pub(super) fn annotations(pod: &Value, old: &Value, errors: &mut ErrorList) {
    let path = Path::new("metadata").child("annotations");
    let mut out = Faults::take(errors, &Path::new("spec").child("none"));
    pod_spec::annotations::update_faults(pod, old, &path, &mut out);
    pod_spec::annotations::faults(pod, &path, &mut out);
}

/// The containers are the same, with images that say something; `false` where nothing else need be looked at.
fn images(pod: &Value, old: &Value, list: &str, errors: &mut ErrorList) -> bool {
    let path = Path::new("spec").child(list);
    let containers = cells::items(pod, &["spec", list]);
    if containers.len() != cells::items(old, &["spec", list]).len() {
        errors.forbidden(path, "pod updates may not add or remove containers");
        return false;
    }
    for (at, container) in containers.iter().enumerate() {
        let (path, image) = (path.index(at).child("image"), container.text_at(&["image"]));
        if image.is_empty() {
            errors.required(path, "");
        } else if image.trim() != image {
            errors.invalid(path, quoted(image), "must not have leading or trailing whitespace");
        }
    }
    true
}

/// A deadline may come nearer.
fn deadline(pod: &Value, old: &Value, errors: &mut ErrorList) -> bool {
    let path = Path::new("spec").child("activeDeadlineSeconds");
    let seconds = |pod: &Value| pod.at(&["spec", "activeDeadlineSeconds"]).and_then(Value::as_i64);
    match (seconds(pod), seconds(old)) {
        (Some(now), _) if !(0..=i64::from(i32::MAX)).contains(&now) => {
            errors.invalid(path, now, &names::in_range(now, 0, i64::from(i32::MAX)).join("; "));
            return false;
        }
        (Some(now), Some(before)) if before < now => {
            errors.invalid(path, now, "must be less than or equal to previous value");
            return false;
        }
        (None, Some(_)) => {
            errors.invalid(path, "null", "must not update from a positive integer to nil value");
        }
        _ => {}
    }
    true
}

/// Tolerations may come, and last longer or shorter.
fn tolerations(pod: &Value, old: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec").child("tolerations");
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(toleration) = toleration.as_object_mut() {
            toleration.remove("tolerationSeconds");
        }
        toleration
    };
    let now: Vec<Value> = cells::items(pod, &["spec", "tolerations"]).iter().map(without_seconds).collect();
    let stays = |toleration: &Value| now.contains(&without_seconds(toleration));
    if !cells::items(old, &["spec", "tolerations"]).iter().all(stays) {
        errors.forbidden(path, "existing toleration can not be modified except its tolerationSeconds");
        return;
    }
    let nothing = Value::Null;
    let mut out = Faults::take(errors, &path.child("none"));
    pod_spec::tolerations(pod.get("spec").unwrap_or(&nothing), &path, &mut out);
}

/// Gates may go.
fn gates(pod: &Value, old: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec").child("schedulingGates");
    let old = cells::items(old, &["spec", "schedulingGates"]);
    for (at, gate) in cells::items(pod, &["spec", "schedulingGates"]).iter().enumerate() {
        let name = gate.text_at(&["name"]);
        if !old.iter().any(|one| one.text_at(&["name"]) == name) {
            let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.forbidden(path.index(at).child("name"), &why);
        }
    }
}

/// The spec with all that may change as it was.
fn munged(spec: &Value, before: &Value) -> Value {
    let mut spec = spec.clone();
    let Some(members) = spec.as_object_mut() else { return spec };
    for list in ["containers", "initContainers"] {
        let old = cells::items(before, &[list]);
        for (container, old) in pod_spec::list_mut(members, list).filter_map(Value::as_object_mut).zip(old) {
            copy(container, old, "image");
        }
    }
    for member in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        copy(members, before, member);
    }
    let grace = |spec: Option<&Value>| spec.and_then(Value::as_i64);
    let (now, old) =
        (members.get("terminationGracePeriodSeconds"), before.get("terminationGracePeriodSeconds"));
    if grace(old).is_some_and(|seconds| seconds < 0) && grace(now) == Some(1) {
        copy(members, before, "terminationGracePeriodSeconds");
    }
    spec
}

fn copy(members: &mut Object, from: &Value, member: &str) {
    match from.get(member) {
        Some(value) => members.insert(member, value.clone()),
        None => members.remove(member),
    };
}

/// A pod that waits at a gate may become choosier about its node.
fn gated(spec: &mut Value, before: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let Some(members) = spec.as_object_mut() else { return };
    let labels = |spec: Option<&Value>| spec.and_then(Value::as_object).cloned().unwrap_or_default();
    let (now, old) = (labels(members.get("nodeSelector")), labels(before.get("nodeSelector")));
    if old.iter().any(|(key, value)| now.get(key) != Some(value)) {
        let why = "only additions are allowed (no mutations or deletions)";
        errors.invalid(path.child("nodeSelector"), apiwright_json::to_string(&now.into()), why);
    }
    copy(members, before, "nodeSelector");
    let affinity = before.at(&["affinity", "nodeAffinity"]);
    let own = members.get("affinity").and_then(|affinity| affinity.get("nodeAffinity"));
    if own == affinity {
        return;
    }
    node_affinity(own, affinity, &path.child("affinity").child("nodeAffinity"), errors);
    let old_affinity = before.get("affinity");
    let others = members.get("affinity").and_then(Value::as_object);
    let others = others.is_some_and(|own| own.keys().any(|key| key != "nodeAffinity"));
    match (affinity, old_affinity) {
        (None, None) if !others => {
            members.remove("affinity");
        }
        _ => copy(members.object("affinity"), old_affinity.unwrap_or(&Value::Null), "nodeAffinity"),
    }
}

/// Terms may become stricter: they are or-ed, so none may come or go.
fn node_affinity(now: Option<&Value>, old: Option<&Value>, path: &Path, errors: &mut ErrorList) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = |affinity: Option<&Value>| -> Option<Vec<Value>> {
        affinity?.get(REQUIRED).map(|required| cells::items(required, &["nodeSelectorTerms"]).to_vec())
    };
    let Some(before) = terms(old) else { return };
    let path = path.child(REQUIRED).child("nodeSelectorTerms");
    let now = terms(now).unwrap_or_default();
    if before.len() != now.len() {
        let shown = apiwright_json::to_string(&Value::Array(now));
        errors.invalid(path, shown, "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
        return;
    }
    for (at, (now, old)) in now.iter().zip(&before).enumerate() {
        let is_empty =
            ["matchExpressions", "matchFields"].iter().all(|list| cells::items(old, &[list]).is_empty());
        let kept = ["matchExpressions", "matchFields"]
            .iter()
            .all(|list| cells::items(now, &[list]).starts_with(cells::items(old, &[list])));
        if is_empty && now != old || !kept {
            let shown = apiwright_json::to_string(now);
            errors.invalid(path.index(at), shown, "only additions are allowed (no mutations or deletions)");
        }
    }
}

/// Through this subresource only ephemeral containers change.
pub(super) fn keep_all_but_ephemeral_containers(object: &mut Value, old: &Value) {
    let containers = object.at(&["spec", "ephemeralContainers"]).cloned();
    restore(object, old);
    if let Some(spec) = object.at_mut(&["spec"]).and_then(Value::as_object_mut) {
        match containers {
            Some(containers) => spec.insert("ephemeralContainers", containers),
            None => spec.remove("ephemeralContainers"),
        };
    }
}

/// Makes an object the old one again, except for who it is and who owns its fields.
pub(super) fn restore(object: &mut Value, old: &Value) {
    let metadata = object::metadata(object).clone();
    *object = old.clone();
    for member in ["name", "namespace", "uid", "resourceVersion", "managedFields"] {
        let value = metadata.get(member).cloned().unwrap_or_default();
        object::set(object, member, value);
    }
}

/// The faults of an update of ephemeral containers: they only come.
pub(super) fn ephemeral_containers(pod: &Value, old: &Value, errors: &mut ErrorList) {
    validate::metadata_and_spec(pod, errors);
    annotations(pod, old, errors);
    if object::annotation(old, MIRROR).is_some() {
        *errors = ErrorList::new();
        errors.forbidden(Path::default(), "static pods do not support ephemeral containers");
        return;
    }
    let path = Path::new("spec").child("ephemeralContainers");
    let list = |pod| cells::items(pod, &["spec", "ephemeralContainers"]).iter();
    let now: HashMap<&str, &Value> = list(pod).map(|one| (one.text_at(&["name"]), one)).collect();
    for old in list(old) {
        let name = old.text_at(&["name"]);
        match now.get(name) {
            None => {
                let why = format!("existing ephemeral containers {} may not be removed\n", quoted(name));
                errors.forbidden(path.clone(), &why);
            }
            Some(one) if *one != old => {
                let difference = diff::unified(&dump::container(old), &dump::container(one));
                let why = format!(
                    "existing ephemeral containers {} may not be changed\n{difference}",
                    quoted(name)
                );
                errors.forbidden(path.clone(), &why);
            }
            Some(_) => {}
        }
    }
}
