//! What a failed pod means for its Job.

use apiwright_json::Value;
use apiwright_meta::field::{Kind, go_value, quoted};
use apiwright_meta::{Path, names};

use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

const RULES_MAX: usize = 20;
const CODES_MAX: usize = 255;
const PATTERNS_MAX: usize = 20;
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];

/// The faults of a failure policy.
pub(super) fn faults(spec: &Value, policy: &Value, path: &Path, out: &mut Faults<'_>) {
    let rules = cells::items(policy, &["rules"]);
    let path = path.child("rules");
    if rules.len() > RULES_MAX {
        out.too_many(path.clone(), rules.len(), RULES_MAX);
    }
    for (at, rule) in rules.iter().enumerate() {
        rule_faults(spec, rule, &path.index(at), out);
    }
}

fn rule_faults(spec: &Value, rule: &Value, path: &Path, out: &mut Faults<'_>) {
    let action_path = path.child("action");
    match rule.text_at(&["action"]) {
        "" => out.required(action_path, "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]"),
        "FailIndex" if spec.get("backoffLimitPerIndex").is_none() => {
            out.invalid(action_path, quoted("FailIndex"), "requires the backoffLimitPerIndex to be set");
        }
        _ => out.declared(&action_path),
    }
    let codes = rule.get("onExitCodes");
    if let Some(codes) = codes {
        exit_codes(spec, codes, &path.child("onExitCodes"), out);
    }
    let patterns = cells::items(rule, &["onPodConditions"]);
    if patterns.len() > PATTERNS_MAX {
        out.too_many(path.child("onPodConditions"), patterns.len(), PATTERNS_MAX);
    }
    for (at, pattern) in patterns.iter().enumerate() {
        condition(pattern, &path.child("onPodConditions").index(at), out);
    }
    match (codes.is_some(), patterns.is_empty()) {
        (true, false) => {
            without_value(path, "specifying both OnExitCodes and OnPodConditions is not supported", out);
        }
        (false, true) => {
            without_value(path, "specifying one of OnExitCodes and OnPodConditions is required", out);
        }
        _ => {}
    }
}

fn exit_codes(spec: &Value, codes: &Value, path: &Path, out: &mut Faults<'_>) {
    let operator = codes.text_at(&["operator"]);
    match operator {
        "" => out.required(path.child("operator"), "valid values: [\"In\" \"NotIn\"]"),
        _ => out.declared(&path.child("operator")),
    }
    if let Some(name) = codes.get("containerName").and_then(Value::as_str) {
        let lists = ["containers", "initContainers"].iter();
        let mut known = lists.flat_map(|list| cells::items(spec, &["template", "spec", list]));
        if !known.any(|container| container.text_at(&["name"]) == name) {
            let why = "must be one of the container or initContainer names in the pod template";
            out.invalid(path.child("containerName"), quoted(name), why);
        }
    }
    let path = path.child("values");
    let values: Vec<i64> = cells::items(codes, &["values"]).iter().filter_map(Value::as_i64).collect();
    let shown = || go_value(&Value::Array(values.iter().map(|value| (*value).into()).collect()));
    if values.is_empty() {
        out.invalid(path, "[]", "at least one value is required");
        return;
    }
    if values.len() > CODES_MAX {
        out.too_many(path.clone(), values.len(), CODES_MAX);
    }
    for (at, value) in values.iter().enumerate() {
        if operator == "In" && *value == 0 {
            out.invalid(path.index(at), 0, "must not be 0 for the In operator");
        }
        if values[..at].contains(value) {
            out.duplicate(path.index(at), value);
        }
    }
    if !values.is_sorted() {
        out.invalid(path, shown(), "must be ordered");
    }
}

fn condition(pattern: &Value, path: &Path, out: &mut Faults<'_>) {
    let kind = pattern.text_at(&["type"]);
    out.invalid_each(&path.child("type"), kind, names::qualified_name(kind));
    match pattern.text_at(&["status"]) {
        "" => out.required(path.child("status"), "valid values: [\"False\" \"True\" \"Unknown\"]"),
        status if !STATUSES.contains(&status) => {
            out.not_supported(path.child("status"), quoted(status), &STATUSES);
        }
        _ => {}
    }
}

/// A fault of what has no value to show.
pub(super) fn without_value(path: &Path, why: &str, out: &mut Faults<'_>) {
    out.push(path.clone(), Kind::Invalid, format!("Invalid value: {why}"));
}
