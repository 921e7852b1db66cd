//! What pods count as: themselves, and what their containers ask for.

use std::collections::{BTreeMap, BTreeSet};

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::time::Time;

use super::evaluator::amount;
use crate::plugins::pod_resources::{Side, of_container, with_overhead};
use crate::plugins::values::{ResourceList, items, text};

/// What each container must say where a quota limits it.
const COMPUTE: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
const LOCAL: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Whether pods use a quota's resource.
pub(crate) fn counts(name: &str) -> bool {
    let bare = name.strip_prefix("requests.");
    name == "pods"
        || LOCAL.contains(&name)
        || name.strip_prefix("limits.").is_some_and(|limit| LOCAL.contains(&limit))
        || bare.is_some_and(|request| LOCAL.contains(&request) || is_extended(request))
        || bare.unwrap_or(name).starts_with("hugepages-")
}

/// Refuses pods whose containers leave out what a quota limits.
///
/// # Errors
/// What must be specified for which containers.
pub(crate) fn required(restricted: &[String], pod: &Value) -> Result<(), String> {
    let required: Vec<&str> =
        restricted.iter().map(String::as_str).filter(|one| COMPUTE.contains(one)).collect();
    let for_the_pod = with_overhead_of_pod_level(pod);
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for member in ["containers", "initContainers"] {
        for container in items(pod, &["spec", member]) {
            let usage =
                named(&of_container(container, Side::Requests), &of_container(container, Side::Limits));
            for resource in
                required.iter().filter(|one| !usage.contains_key(**one) && !for_the_pod.contains_key(**one))
            {
                missing.entry(resource).or_default().insert(text(container, "name"));
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let parts: Vec<String> = missing
        .into_iter()
        .map(|(resource, containers)| {
            format!("{resource} for: {}", containers.into_iter().collect::<Vec<_>>().join(","))
        })
        .collect();
    Err(format!("must specify {}", parts.join("; ")))
}

/// What a pod uses; one that has ended only counts as an object.
pub(crate) fn usage(pod: &Value) -> ResourceList {
    if has_ended(pod) {
        return ResourceList::new();
    }
    let mut usage = named(&with_overhead(pod, Side::Requests), &with_overhead(pod, Side::Limits));
    usage.insert("pods".into(), amount(1));
    usage
}

/// Requests and limits under the names that quotas have for them.
fn named(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut usage = ResourceList::new();
    for (name, amount) in requests {
        if LOCAL.contains(&name.as_str()) || name.starts_with("hugepages-") {
            usage.insert(name.clone(), amount.clone());
            usage.insert(format!("requests.{name}"), amount.clone());
        } else if is_extended(name) {
            usage.insert(format!("requests.{name}"), amount.clone());
        }
    }
    for (name, amount) in limits.iter().filter(|(name, _)| LOCAL.contains(&name.as_str())) {
        usage.insert(format!("limits.{name}"), amount.clone());
    }
    usage
}

/// What a pod says for all its containers together: they need not say it themselves.
fn with_overhead_of_pod_level(pod: &Value) -> ResourceList {
    let side = |side: &str| crate::plugins::values::resource_list(pod, &["spec", "resources", side]);
    named(&side("requests"), &side("limits"))
}

/// Whether a resource is a device vendor's: it has a prefix that is not Kubernetes' own.
fn is_extended(name: &str) -> bool {
    name.split_once('/')
        .is_some_and(|(prefix, _)| prefix != "kubernetes.io" && !prefix.ends_with(".kubernetes.io"))
}

/// Whether a pod uses nothing any more: it is done, or was to be gone by now.
fn has_ended(pod: &Value) -> bool {
    if matches!(pod.text_at(&["status", "phase"]), "Failed" | "Succeeded") {
        return true;
    }
    let deleted = object::deletion_timestamp(pod).and_then(|time| Time::parse(time).ok());
    let grace = object::deletion_grace_period_seconds(pod);
    matches!((deleted, grace), (Some(deleted), Some(grace)) if Time::now().seconds > deleted.seconds + grace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(containers: &str) -> Value {
        let text = format!(r#"{{"spec":{{"containers":[{containers}]}}}}"#);
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    #[test]
    fn what_containers_must_say() {
        let restricted = ["limits.memory", "pods", "requests.cpu"].map(str::to_owned);
        for (containers, want) in [
            (r#"{"name":"c","resources":{"requests":{"cpu":"1"},"limits":{"memory":"1Mi"}}}"#, Ok(())),
            (
                r#"{"name":"d"},{"name":"c","resources":{"requests":{"cpu":"1"}}}"#,
                Err("must specify limits.memory for: c,d; requests.cpu for: d"),
            ),
        ] {
            assert_eq!(required(&restricted, &pod(containers)), want.map_err(str::to_owned));
        }
    }

    #[test]
    fn what_pods_use() {
        let both = r#"{"resources":{"requests":{"cpu":"100m","example.com/gpu":"2"},"limits":{"cpu":"1","example.com/gpu":"2"}}}"#;
        let shown: Vec<String> =
            usage(&pod(both)).iter().map(|(name, amount)| format!("{name}={amount}")).collect();
        assert_eq!(
            shown.join(" "),
            "cpu=100m limits.cpu=1 pods=1 requests.cpu=100m requests.example.com/gpu=2"
        );
    }
}
