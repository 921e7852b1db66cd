//! What may be written to a pod's status.

use std::collections::HashSet;

use apiwright_json::{Object, Value};
use apiwright_meta::address::{parse_ip, validate_legacy_ip, warn_of_ip};
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path, names};

use crate::hooks::shared::cells;

const SYSTEM_CONDITIONS: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];

/// A writer of the status neither deletes a pod nor owns it, and may leave its class out.
pub(super) fn keep_what_status_may_not_change(object: &mut Value, old: &Value) {
    for member in ["deletionTimestamp", "ownerReferences"] {
        apiwright_registry::metadata::copy(object, old, member);
    }
    let Some(status) = object.at_mut(&["status"]).and_then(Value::as_object_mut) else { return };
    if !status.contains_key("qosClass")
        && let Some(class) = old.at(&["status", "qosClass"])
    {
        status.insert("qosClass", class.clone());
    }
    keep_observed_generations(status, old);
}

/// Who does not know of generations does not take them back: neither that of the status nor, type by type in
/// their order, those of conditions.
fn keep_observed_generations(status: &mut Object, old: &Value) {
    const OBSERVED: &str = "observedGeneration";
    let observed = |of: Option<&Value>| of.and_then(Value::as_i64).filter(|number| *number != 0);
    if observed(status.get(OBSERVED)).is_none()
        && let Some(before) = observed(old.at(&["status", OBSERVED]))
    {
        status.insert_at(0, OBSERVED, before);
    }
    let mut before: Vec<(&str, Option<i64>)> = cells::items(old, &["status", "conditions"])
        .iter()
        .map(|condition| (condition.text_at(&["type"]), observed(condition.get(OBSERVED))))
        .collect();
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        let kind = condition.str("type").unwrap_or_default();
        let Some(at) = before.iter().position(|(one, _)| *one == kind) else { continue };
        let (_, generation) = before.remove(at);
        if let (None, Some(generation)) = (observed(condition.get(OBSERVED)), generation) {
            condition.remove(OBSERVED);
            condition.insert_at(1, OBSERVED, generation);
        }
    }
}

/// Warnings about the addresses of a status.
pub(super) fn warnings(pod: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    for list in ["podIPs", "hostIPs"] {
        for (at, address) in cells::items(pod, &["status", list]).iter().enumerate() {
            let path = Path::new("status").child(list).index(at).child("ip");
            texts.extend(warn_of_ip(&path, address.text_at(&["ip"])));
        }
    }
    texts
}

/// A new pod with scheduling gates says that it is not scheduled because of them.
pub(super) fn wait_for_gates(pod: &mut Value) {
    if cells::items(pod, &["spec", "schedulingGates"]).is_empty() {
        return;
    }
    let Some(status) = pod.at_mut(&["status"]).and_then(Value::as_object_mut) else { return };
    let mut condition = Object::new();
    condition.push("type", "PodScheduled");
    condition.push("status", "False");
    condition.push("lastProbeTime", Value::Null);
    condition.push("lastTransitionTime", Value::Null);
    condition.push("reason", "SchedulingGated");
    condition.push("message", "Scheduling is blocked due to non-empty scheduling gates");
    status.insert("conditions", Value::Array(vec![condition.into()]));
}

/// The single address is the first of several; who writes both and differs means the single one.
pub(super) fn pair_addresses(status: &mut Object) {
    let single = status.str("podIP").unwrap_or_default().to_owned();
    let list = status.get("podIPs").and_then(Value::as_array);
    let first = list.and_then(|list| list.first()).map(|first| first.text_at(&["ip"]).to_owned());
    match first {
        Some(first) if single.is_empty() => {
            status.insert("podIP", first);
        }
        first if !single.is_empty() && first.as_ref() != Some(&single) => {
            status.insert("podIPs", vec![Value::from(Object::from_iter([("ip", single)]))]);
        }
        _ => {}
    }
}

/// The faults of a status.
pub(super) fn faults(pod: &Value, old: &Value, errors: &mut ErrorList) {
    let path = Path::new("status");
    super::update::annotations(pod, old, errors);
    for (at, condition) in cells::items(pod, &["status", "conditions"]).iter().enumerate() {
        let kind = condition.text_at(&["type"]);
        if !SYSTEM_CONDITIONS.contains(&kind) {
            let path = path.child("conditions").index(at).child("Type");
            errors.invalid_each(&path, kind, names::qualified_name(kind));
        }
    }
    let node = pod.text_at(&["status", "nominatedNodeName"]);
    if !node.is_empty() && node != old.text_at(&["status", "nominatedNodeName"]) {
        let path = path.child("nominatedNodeName");
        errors.invalid_each(&path, node, names::dns1123_subdomain(node));
        if !old.text_at(&["spec", "nodeName"]).is_empty() {
            errors.forbidden(path, "may not be set on a pod that is bound to a node");
        }
    }
    let class = pod.text_at(&["status", "qosClass"]);
    if class != old.text_at(&["status", "qosClass"]) {
        errors.invalid(path.child("qosClass"), quoted(class), "field is immutable");
    }
    let policy = old.text_at(&["spec", "restartPolicy"]);
    transitions(pod, old, "containerStatuses", policy, errors);
    transitions(pod, old, "initContainerStatuses", policy, errors);
    transitions(pod, old, "ephemeralContainerStatuses", "Never", errors);
    claims(pod, errors);
    addresses(pod, "podIPs", errors);
    let first = cells::items(pod, &["status", "hostIPs"]).first().map(|first| first.text_at(&["ip"]));
    if let Some(first) = first.filter(|first| *first != pod.text_at(&["status", "hostIP"])) {
        let path = path.child("hostIPs").index(0).child("ip");
        errors.invalid(path, quoted(first), "must be equal to `hostIP`");
    }
    addresses(pod, "hostIPs", errors);
}

/// What has ended for good does not run again.
fn transitions(pod: &Value, old: &Value, list: &str, policy: &str, errors: &mut ErrorList) {
    if policy == "Always" {
        return;
    }
    let sidecars = cells::items(old, &["spec", "initContainers"]);
    let is_sidecar = |name: &str| {
        sidecars
            .iter()
            .any(|one| one.text_at(&["name"]) == name && one.text_at(&["restartPolicy"]) == "Always")
    };
    for (at, before) in cells::items(old, &["status", list]).iter().enumerate() {
        let Some(terminated) = before.at(&["state", "terminated"]) else { continue };
        let failed = terminated.get("exitCode").and_then(Value::as_i64) != Some(0);
        let name = before.text_at(&["name"]);
        if failed && policy == "OnFailure" || list == "initContainerStatuses" && is_sidecar(name) {
            continue;
        }
        let again =
            |now: &&Value| now.text_at(&["name"]) == name && now.at(&["state", "terminated"]).is_none();
        for _ in cells::items(pod, &["status", list]).iter().filter(again) {
            let path = Path::new("status").child(list).index(at).child("state");
            errors.forbidden(path, "may not be transitioned to non-terminated state");
        }
    }
}

fn claims(pod: &Value, errors: &mut ErrorList) {
    let known = cells::items(pod, &["spec", "resourceClaims"]);
    let mut seen = HashSet::new();
    for (at, status) in cells::items(pod, &["status", "resourceClaimStatuses"]).iter().enumerate() {
        let path = Path::new("status").child("resourceClaimStatuses").index(at).child("name");
        let name = status.text_at(&["name"]);
        if !known.iter().any(|claim| claim.text_at(&["name"]) == name) {
            let why = "must match the name of an entry in `spec.resourceClaims`";
            errors.invalid(path.clone(), quoted(name), why);
        }
        if !seen.insert(name) {
            errors.duplicate(path.clone(), quoted(name));
        }
        if let Some(claim) = status.get("resourceClaimName").and_then(Value::as_str) {
            errors.invalid_each(&path, claim, names::dns1123_subdomain(claim));
        }
    }
}

/// At most one address of each family.
fn addresses(pod: &Value, list: &str, errors: &mut ErrorList) {
    let path = Path::new("status").child(list);
    let addresses = cells::items(pod, &["status", list]);
    let texts: Vec<&str> = addresses.iter().map(|address| address.text_at(&["ip"])).collect();
    for (at, text) in texts.iter().enumerate() {
        errors.append(validate_legacy_ip(&path.index(at), text));
    }
    if texts.len() < 2 {
        return;
    }
    let families: HashSet<bool> =
        texts.iter().filter_map(|text| parse_ip(text)).map(|ip| ip.is_ipv4()).collect();
    if families.len() < 2 || texts.len() > 2 {
        let shown = go_value(&Value::Array(addresses.to_vec()));
        errors.invalid(path.clone(), shown, "may specify no more than one IP for each IP family");
    }
    let mut seen = HashSet::new();
    for (at, text) in texts.iter().enumerate() {
        if !seen.insert(text) {
            errors.duplicate(path.index(at), format!("{{\"IP\":{}}}", quoted(text)));
        }
    }
}
