//! What a stricter standard would say to the pods that are there already.

use std::collections::BTreeMap;

use apiwright_json::Value;
use apiwright_meta::object;

use super::policy::Standard;
use super::verdict::evaluate;

/// Warnings about a namespace's pods, alike ones together.
pub(crate) fn warnings_about_existing(namespace: &str, standard: &Standard, pods: &[Value]) -> Vec<String> {
    let mut by_reason: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for pod in pods {
        if let Some(faults) = evaluate(standard, pod) {
            let name = object::name(pod).to_owned();
            by_reason.entry(faults.reasons()).and_modify(|(_, more)| *more += 1).or_insert((name, 0));
        }
    }
    if by_reason.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<String> = by_reason
        .into_iter()
        .map(|(reasons, (name, more))| match more {
            0 => format!("{name}: {reasons}"),
            1 => format!("{name} (and 1 other pod): {reasons}"),
            more => format!("{name} (and {more} other pods): {reasons}"),
        })
        .collect();
    lines.sort();
    let first = format!(
        "existing pods in namespace \"{namespace}\" violate the new PodSecurity enforce level \"{standard}\""
    );
    lines.insert(0, first);
    lines
}
