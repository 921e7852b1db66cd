//! Where pods may run: affinity, tolerations, gates.

use std::collections::HashSet;

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::labels::{SelectorLeniency, validate_label_selector};
use apiwright_meta::{Path, names};

use super::number;
use super::validate::Context;
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::node_selector;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// The faults of a pod's affinity.
pub(super) fn affinity(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    let Some(affinity) = context.spec.get("affinity") else { return };
    if let Some(node) = affinity.get("nodeAffinity") {
        let path = path.child("nodeAffinity");
        if let Some(required) = node.get(REQUIRED) {
            node_selector::faults(required, &path.child(REQUIRED), out);
        }
        for (at, term) in cells::items(node, &[PREFERRED]).iter().enumerate() {
            let path = path.child(PREFERRED).index(at);
            weight(term, &path, out);
            if let Some(preference) = term.get("preference") {
                node_selector::wish_faults(preference, &path.child("preference"), out);
            }
        }
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(pods) = affinity.get(kind) else { continue };
        let path = path.child(kind);
        for (at, term) in cells::items(pods, &[REQUIRED]).iter().enumerate() {
            pod_term(term, &path.child(REQUIRED).index(at), out);
        }
        for (at, weighted) in cells::items(pods, &[PREFERRED]).iter().enumerate() {
            let path = path.child(PREFERRED).index(at);
            weight(weighted, &path, out);
            if let Some(term) = weighted.get("podAffinityTerm") {
                pod_term(term, &path.child("podAffinityTerm"), out);
            }
        }
    }
}

fn weight(term: &Value, path: &Path, out: &mut Faults<'_>) {
    let weight = number(term, "weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        out.invalid(path.child("weight"), weight, "must be in the range 1-100");
    }
}

fn pod_term(term: &Value, path: &Path, out: &mut Faults<'_>) {
    for selector in ["labelSelector", "namespaceSelector"] {
        let faults =
            validate_label_selector(term.get(selector), SelectorLeniency::default(), &path.child(selector));
        out.append(faults);
    }
    for name in cells::items(term, &["namespaces"]).iter().filter_map(Value::as_str) {
        out.invalid_each(&path.child("namespace"), name, names::dns1123_label(name));
    }
    label_keys(term, path, out);
    let key = term.text_at(&["topologyKey"]);
    if key.is_empty() {
        out.required(path.child("topologyKey"), "can not be empty");
    }
    out.invalid_each(&path.child("topologyKey"), key, names::label_key(key));
}

/// Labels whose values are the pod's own: not both equal and unequal, and not selected by hand as well.
pub(super) fn label_keys(term: &Value, path: &Path, out: &mut Faults<'_>) {
    let keys = |list: &str| cells::items(term, &[list]).iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let (equal, unequal) = (keys("matchLabelKeys"), keys("mismatchLabelKeys"));
    for (list, keys) in [("matchLabelKeys", &equal), ("mismatchLabelKeys", &unequal)] {
        if keys.is_empty() {
            continue;
        }
        let path = path.child(list);
        if term.get("labelSelector").is_none() {
            out.forbidden(path.clone(), "must not be specified when labelSelector is not set");
            continue;
        }
        for (at, key) in keys.iter().enumerate() {
            out.invalid_each(&path.index(at), key, names::label_key(key));
        }
    }
    let mut selected: HashSet<&str> = term
        .at(&["labelSelector", "matchLabels"])
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|labels| labels.keys().map(apiwright_json::Str::as_str))
        .collect();
    for one in cells::items(term, &["labelSelector", "matchExpressions"]) {
        let key = one.text_at(&["key"]);
        // The selector has the pod's own label already.
        if let Some(at) = equal.iter().rposition(|own| *own == key)
            && selected.contains(key)
        {
            out.invalid(path.index(at), quoted(key), "exists in both matchLabelKeys and labelSelector");
        }
        selected.insert(key);
    }
    for (at, key) in equal.iter().enumerate().filter(|(_, key)| unequal.contains(key)) {
        let why = "exists in both matchLabelKeys and mismatchLabelKeys";
        out.invalid(path.child("matchLabelKeys").index(at), quoted(key), why);
    }
}

/// The faults of tolerations.
pub fn tolerations(spec: &Value, path: &Path, out: &mut Faults<'_>) {
    for (at, toleration) in cells::items(spec, &["tolerations"]).iter().enumerate() {
        let path = path.index(at);
        let text = |member: &str| toleration.text_at(&[member]);
        let (key, operator, value) = (text("key"), text("operator"), text("value"));
        if key.is_empty() {
            if operator != "Exists" {
                let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
                out.invalid(path.child("operator"), quoted(operator), why);
            }
        } else {
            out.invalid_each(&path.child("key"), key, names::label_key(key));
        }
        if toleration.get("tolerationSeconds").is_some() && text("effect") != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            out.invalid(path.child("effect"), quoted(text("effect")), why);
        }
        match operator {
            "" | "Equal" => {
                let faults = names::label_value(value);
                if !faults.is_empty() {
                    out.invalid(path.child("operator"), quoted(value), &faults.join(";"));
                }
            }
            "Exists" if !value.is_empty() => {
                let why = "value must be empty when `operator` is 'Exists'";
                out.invalid(path.child("operator"), quoted(value), why);
            }
            "Exists" => {}
            other => out.not_supported(path.child("operator"), quoted(other), &["Equal", "Exists"]),
        }
        out.declared(&path.child("effect"));
    }
}

/// The faults of readiness gates.
pub(super) fn readiness_gates(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    for (at, gate) in cells::items(context.spec, &["readinessGates"]).iter().enumerate() {
        let kind = gate.text_at(&["conditionType"]);
        out.invalid_each(&path.index(at).child("conditionType"), kind, names::qualified_name(kind));
    }
}

/// The faults of scheduling gates.
pub(super) fn gates(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    let mut seen = HashSet::new();
    for (at, gate) in cells::items(context.spec, &["schedulingGates"]).iter().enumerate() {
        let name = gate.text_at(&["name"]);
        out.invalid_each(&path.index(at), name, names::qualified_name(name));
        if !seen.insert(name) {
            out.duplicate(path.index(at), quoted(name));
        }
    }
}
