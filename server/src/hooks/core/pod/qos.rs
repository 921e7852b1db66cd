//! The quality of service that a pod gets.

use apiwright_json::Value;
use apiwright_meta::quantity::Quantity;

use crate::hooks::shared::cells;

/// The quality of service that requests and limits of cpu and memory earn (upstream: `ComputePodQOS`).
pub(super) fn qos_class(object: &Value) -> &'static str {
    let mut any = false;
    let mut guaranteed = true;
    let containers = cells::items(object, &["spec", "containers"]);
    let pod = object.at(&["spec"]).filter(|spec| spec.get("resources").is_some_and(has_resources));
    let parts: Vec<&Value> = match pod {
        Some(spec) => vec![spec],
        None => containers.iter().chain(cells::items(object, &["spec", "initContainers"])).collect(),
    };
    for part in parts {
        for resource in ["cpu", "memory"] {
            let request = amount(part, "requests", resource);
            let limit = amount(part, "limits", resource);
            any |= request.is_some() || limit.is_some();
            guaranteed &= limit.is_some() && request == limit;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

fn has_resources(resources: &Value) -> bool {
    ["requests", "limits"].iter().any(|list| cells::count(resources, &[list]) > 0)
}

/// A resource's amount, where it is not zero.
fn amount(part: &Value, list: &str, resource: &str) -> Option<Quantity> {
    let text = part.at(&["resources", list, resource])?.as_str()?;
    Quantity::parse(text).ok().filter(|amount| !amount.is_zero())
}
