//! Pods.

use apiwright_json::{Object, Value};
use apiwright_meta::quantity::Quantity;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::pod_status::PodSummary;
use crate::hooks::shared::cells::{self, NONE};
use crate::hooks::shared::pod_spec;

/// The hooks of Pods.
#[derive(Debug)]
pub struct Pod;

impl Hooks for Pod {
    fn default(&self, object: &mut Value) {
        let Some(spec) = object.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
        pod_spec::set_defaults(spec);
        spec.entry("enableServiceLinks", || true.into());
        let host_network = spec.get("hostNetwork").and_then(Value::as_bool).unwrap_or_default();
        for list in ["containers", "initContainers"] {
            for container in pod_spec::list_mut(spec, list).filter_map(Value::as_object_mut) {
                request_what_is_limited(container);
                if host_network {
                    copy_host_ports(container);
                }
            }
        }
    }

    fn row_conditions(&self, object: &Value) -> Value {
        let (reason, message) = match object.text_at(&["status", "phase"]) {
            "Succeeded" => ("Succeeded", "The pod has completed successfully."),
            "Failed" => ("Failed", "The pod failed."),
            _ => return Value::Null,
        };
        let members = [("type", "Completed"), ("status", "True"), ("reason", reason), ("message", message)];
        Value::Array(vec![Object::from_iter(members).into()])
    }

    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        let class = qos_class(object);
        if let Some(object) = object.as_object_mut() {
            let status = object.object("status");
            *status = Object::new();
            status.push("phase", "Pending");
            status.push("qosClass", class);
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Ready" | "Status" | "Restarts" => PodSummary::of(object).cell(column).into(),
            "IP" => ip(object).into(),
            "Readiness Gates" => readiness_gates(object).into(),
            _ => Value::Null,
        }
    }
}

/// What is limited and not requested is requested up to the limit.
fn request_what_is_limited(container: &mut Object) {
    let Some(limits) = container.get("resources").and_then(|resources| resources.get("limits")).cloned() else {
        return;
    };
    let Value::Object(limits) = limits else { return };
    if limits.is_empty() {
        return;
    }
    let requests = container.object("resources").object("requests");
    for (resource, limit) in limits {
        requests.entry(&resource, || limit);
    }
    requests.sort();
}

/// On the host's network a container's ports are the host's.
fn copy_host_ports(container: &mut Object) {
    for port in pod_spec::list_mut(container, "ports").filter_map(Value::as_object_mut) {
        if let Some(number) = port.get("containerPort").cloned() {
            port.entry("hostPort", || number);
        }
    }
}

/// The quality of service that requests and limits of cpu and memory earn (upstream: `ComputePodQOS`).
fn qos_class(object: &Value) -> &'static str {
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

fn ip(object: &Value) -> String {
    let first = cells::items(object, &["status", "podIPs"]).first().map(|ip| ip.text_at(&["ip"]));
    cells::or_none(first.unwrap_or_else(|| object.text_at(&["status", "podIP"])))
}

/// `1/2`: how many gates are open.
fn readiness_gates(object: &Value) -> String {
    let gates = cells::items(object, &["spec", "readinessGates"]);
    if gates.is_empty() {
        return NONE.into();
    }
    let conditions = cells::items(object, &["status", "conditions"]);
    let open = gates.iter().filter(|gate| {
        conditions
            .iter()
            .find(|condition| condition.text_at(&["type"]) == gate.text_at(&["conditionType"]))
            .is_some_and(|condition| condition.text_at(&["status"]) == "True")
    });
    format!("{}/{}", open.count(), gates.len())
}
