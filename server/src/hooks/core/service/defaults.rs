//! The defaults of Services that depend on other fields.

use apiwright_json::{Object, Value};

use crate::services::spec::{Spec, spec_mut};

/// How long a client stays with a pod.
const AFFINITY_SECONDS: i64 = 10_800;

/// Sets the defaults.
pub(super) fn set(object: &mut Value) {
    let spec = Spec::of(object);
    let (affinity, external) = (spec.text("sessionAffinity") == "ClientIP", spec.is_external());
    let (name_only, balanced) = (spec.is_external_name(), spec.is_load_balancer());
    let Some(spec) = spec_mut(object) else { return };
    if affinity {
        set_affinity(spec);
    } else if spec.str("sessionAffinity") == Some("None") {
        spec.remove("sessionAffinityConfig");
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        set_target_port(port);
    }
    if external {
        spec.entry("externalTrafficPolicy", || "Cluster".into());
    }
    if !name_only {
        spec.entry("internalTrafficPolicy", || "Cluster".into());
    }
    if balanced {
        spec.entry("allocateLoadBalancerNodePorts", || true.into());
        set_ip_modes(object);
    }
}

/// A config that lacks the time is replaced as a whole.
fn set_affinity(spec: &mut Object) {
    let timeout =
        spec.get("sessionAffinityConfig").and_then(|config| config.at(&["clientIP", "timeoutSeconds"]));
    if timeout.is_none() {
        let client: Object = [("timeoutSeconds", AFFINITY_SECONDS)].into_iter().collect();
        let config: Object = [("clientIP", client)].into_iter().collect();
        spec.insert("sessionAffinityConfig", config);
    }
}

/// A port's target is the port itself where it is left out.
fn set_target_port(port: &mut Value) {
    let Some(port) = port.as_object_mut() else { return };
    let absent = match port.get("targetPort") {
        None | Some(Value::Int(0)) => true,
        Some(Value::String(name)) => name.is_empty(),
        Some(_) => false,
    };
    if absent && let Some(number) = port.get("port").cloned() {
        port.insert("targetPort", number);
    }
}

/// Traffic to a load balancer's address arrives as sent to that address.
fn set_ip_modes(object: &mut Value) {
    let ingress = object.at_mut(&["status", "loadBalancer", "ingress"]).and_then(Value::as_array_mut);
    for one in ingress.into_iter().flatten().filter_map(Value::as_object_mut) {
        if one.str("ip").is_some_and(|ip| !ip.is_empty()) {
            one.entry("ipMode", || "VIP".into());
        }
    }
}
