//! What makes a Node valid.

use std::collections::HashSet;

use apiwright_json::{Object, Value};
use apiwright_meta::address::{parse_cidr, validate_legacy_cidr};
use apiwright_meta::field::{Kind, go_value, quoted};
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{ErrorList, Path, names};

use crate::hooks::shared::{cells, resources};

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// The faults of any Node.
pub(super) fn node(object: &Value, errors: &mut ErrorList) {
    taints(object, errors);
    amounts(object, errors);
    networks(object, errors);
}

/// The faults of an update of the node itself: those of any node, and what may not change.
pub(super) fn update(object: &Value, old: &Value, errors: &mut ErrorList) {
    node(object, errors);
    amounts(object, errors);
    final_fields(object, old, errors);
    taints(object, errors);
    let external = |object: &Value| object.text_at(&["spec", "externalID"]).to_owned();
    if external(object) != external(old) {
        errors.forbidden(Path::new("spec").child("externalID"), "may not be updated");
    }
}

/// The faults of a status.
pub(super) fn status(object: &Value, old: &Value, errors: &mut ErrorList) {
    amounts(object, errors);
    final_fields(object, old, errors);
}

/// Upstream looks for taints below `metadata`.
fn taints(object: &Value, errors: &mut ErrorList) {
    let path = Path::new("metadata").child("taints");
    let mut seen = HashSet::new();
    for (at, taint) in cells::items(object, &["spec", "taints"]).iter().enumerate() {
        let path = path.index(at);
        let text = |member: &str| taint.text_at(&[member]);
        let (key, value, effect) = (text("key"), text("value"), text("effect"));
        errors.invalid_each(&path.child("key"), key, names::label_key(key));
        let faults = names::label_value(value);
        if !faults.is_empty() {
            errors.invalid(path.child("value"), quoted(value), &faults.join(";"));
        }
        match effect {
            "" => errors.required(path.child("effect"), ""),
            effect if !EFFECTS.contains(&effect) => {
                errors.not_supported(path.child("effect"), quoted(effect), &EFFECTS);
            }
            _ => {}
        }
        if !seen.insert((key, effect)) {
            let added = go_value(taint.get("timeAdded").unwrap_or(&Value::Null));
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{added}}}",
                quoted(key),
                quoted(value),
                quoted(effect)
            );
            let body = format!("Duplicate value: {shown}: taints must be unique by key and effect pair");
            errors.push(path, Kind::Duplicate, body);
        }
    }
}

fn amounts(object: &Value, errors: &mut ErrorList) {
    for list in ["capacity", "allocatable"] {
        let path = Path::new("status").child(list);
        let amounts = object.at(&["status", list]).and_then(Value::as_object);
        for (name, amount) in amounts.into_iter().flat_map(Object::iter) {
            if let Ok(amount) = Quantity::from_value(amount) {
                resources::amount_faults(name, &amount, &path.child(name), errors);
            }
        }
    }
}

fn networks(object: &Value, errors: &mut ErrorList) {
    let list = cells::items(object, &["spec", "podCIDRs"]);
    let path = Path::new("spec").child("podCIDRs");
    let cidrs: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    for (at, cidr) in cidrs.iter().enumerate() {
        errors.append(validate_legacy_cidr(&path.index(at), cidr));
    }
    if cidrs.len() < 2 {
        return;
    }
    let six = |cidr: &&str| parse_cidr(cidr).map(|(address, _)| address.is_ipv6());
    let families: HashSet<Option<bool>> = cidrs.iter().map(six).collect();
    let both = [Some(false), Some(true)].iter().all(|family| families.contains(family));
    if !both || cidrs.len() > 2 {
        let shown = object.at(&["spec", "podCIDRs"]).map(go_value).unwrap_or_default();
        errors.invalid(path.clone(), shown, "may specify no more than one CIDR for each IP family");
    }
    for (at, cidr) in cidrs.iter().enumerate().filter(|(at, cidr)| cidrs[..*at].contains(cidr)) {
        errors.duplicate(path.index(at), quoted(cidr));
    }
}

/// What is given once and stays.
fn final_fields(object: &Value, old: &Value, errors: &mut ErrorList) {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (at, address) in cells::items(object, &["status", "addresses"]).iter().enumerate() {
        let one = (address.text_at(&["type"]), address.text_at(&["address"]));
        if seen.contains(&one) {
            let shown = format!("{{\"Type\":{},\"Address\":{}}}", quoted(one.0), quoted(one.1));
            errors.duplicate(Path::new("status").child("addresses").index(at), shown);
        }
        seen.push(one);
    }
    let (now, before) =
        (cells::items(object, &["spec", "podCIDRs"]), cells::items(old, &["spec", "podCIDRs"]));
    let changed = if now.len() == before.len() {
        now.iter().zip(before).filter(|(now, before)| now != before).count()
    } else {
        usize::from(!before.is_empty())
    };
    for _ in 0..changed {
        let why = "node updates may not change podCIDR except from \"\" to valid";
        errors.forbidden(Path::new("spec").child("podCIDRs"), why);
    }
    let provider = |object: &Value| object.text_at(&["spec", "providerID"]).to_owned();
    if !provider(old).is_empty() && provider(old) != provider(object) {
        let why = "node updates may not change providerID except from \"\" to valid";
        errors.forbidden(Path::new("spec").child("providerID"), why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    #[test]
    fn faults_of_nodes() {
        let table = [
            (
                r#"{"spec":{"taints":[{"key":"a","effect":"NoExecute"}],"podCIDRs":["10.0.0.0/24","fd00::/64"]}}"#,
                "[]",
            ),
            (r#"{"spec":{"taints":[{"key":"a"}]}}"#, "metadata.taints[0].effect: Required value"),
            (
                r#"{"status":{"capacity":{"cpu":"-1"}}}"#,
                "status.capacity.cpu: Invalid value: \"-1\": must be greater than or equal to 0",
            ),
            (
                r#"{"status":{"capacity":{"pods":"1500m"}}}"#,
                "status.capacity.pods: Invalid value: \"1500m\": must be an integer",
            ),
            (
                r#"{"spec":{"podCIDRs":["10.0.0.0/24","10.0.1.0/24"]}}"#,
                "spec.podCIDRs: Invalid value: [\"10.0.0.0/24\",\"10.0.1.0/24\"]: may specify no more than one CIDR for each IP family",
            ),
        ];
        for (object, expected) in table {
            let mut errors = ErrorList::new();
            node(&parsed(object), &mut errors);
            assert_eq!(errors.aggregate(), expected, "{object}");
        }
    }

    #[test]
    fn what_stays() {
        let old = parsed(r#"{"spec":{"podCIDRs":["10.0.0.0/24"],"providerID":"a"}}"#);
        let table = [
            (r#"{"spec":{"podCIDRs":["10.0.0.0/24"],"providerID":"a","unschedulable":true}}"#, "[]"),
            (
                r#"{"spec":{"podCIDRs":["10.0.1.0/24"],"providerID":"a"}}"#,
                "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid",
            ),
            (
                r#"{"spec":{"podCIDRs":["10.0.0.0/24"]}}"#,
                "spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid",
            ),
        ];
        for (object, expected) in table {
            let mut errors = ErrorList::new();
            update(&parsed(object), &old, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{object}");
        }
    }
}
