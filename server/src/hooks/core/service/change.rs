//! A Service that changes its type.
//!
//! What only another type has goes, unless the writer changed it too: that is for validation to say.

use std::collections::HashSet;

use apiwright_json::Value;

use crate::services::spec::{Spec, spec_mut};

/// Drops what the old type had and the new one has not.
pub(super) fn drop_what_another_type_had(service: &mut Value, old: &Value) {
    let (new, before) = (Spec::of(service), Spec::of(old));
    let same = |member: &str| new.get(member) == before.get(member);
    let mut gone: Vec<&str> = Vec::new();
    if new.is_external_name() && !before.is_external_name() {
        if same("clusterIP") && same("clusterIPs") {
            gone.extend(["clusterIP", "clusterIPs"]);
        }
        gone.extend(["ipFamilies", "ipFamilyPolicy"].into_iter().filter(|member| same(member)));
    }
    let no_balancer = before.is_load_balancer() && !new.is_load_balancer();
    for (member, left) in [
        ("healthCheckNodePort", before.needs_health_check() && !new.needs_health_check()),
        ("allocateLoadBalancerNodePorts", no_balancer),
        ("loadBalancerClass", no_balancer),
        ("externalTrafficPolicy", before.is_external() && !new.is_external()),
    ] {
        if left && same(member) {
            gone.push(member);
        }
    }
    let known: HashSet<i64> = before.node_ports().into_iter().collect();
    let no_node_ports = before.has_node_ports()
        && !new.has_node_ports()
        && new.node_ports().iter().all(|port| known.contains(port));
    let balanced = new.is_load_balancer();

    if let Some(spec) = spec_mut(service) {
        spec.retain(|member, _| !gone.contains(&member));
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
        for port in ports.filter(|_| no_node_ports).filter_map(Value::as_object_mut) {
            port.remove("nodePort");
        }
    }
    if !balanced && let Some(Value::Object(balancer)) = service.at_mut(&["status", "loadBalancer"]) {
        balancer.retain(|_, _| false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_with_a_type() {
        let object =
            |spec: &str| apiwright_json::decode(format!("{{\"spec\":{spec}}}").as_bytes()).unwrap().0;
        let table = [
            (
                r#"{"type":"NodePort","externalTrafficPolicy":"Local","ports":[{"port":1,"nodePort":2}]}"#,
                r#"{"type":"ClusterIP","externalTrafficPolicy":"Local","ports":[{"port":1,"nodePort":2}]}"#,
                r#"{"type":"ClusterIP","ports":[{"port":1}]}"#,
            ),
            (
                r#"{"type":"NodePort","ports":[{"port":1,"nodePort":2}]}"#,
                r#"{"type":"ClusterIP","ports":[{"port":1,"nodePort":3}]}"#,
                r#"{"type":"ClusterIP","ports":[{"port":1,"nodePort":3}]}"#,
            ),
            (
                r#"{"type":"ClusterIP","clusterIP":"a","clusterIPs":["a"],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack"}"#,
                r#"{"type":"ExternalName","clusterIP":"a","clusterIPs":["a"],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack"}"#,
                r#"{"type":"ExternalName"}"#,
            ),
            (
                r#"{"type":"LoadBalancer","allocateLoadBalancerNodePorts":true,"loadBalancerClass":"a"}"#,
                r#"{"type":"ClusterIP","allocateLoadBalancerNodePorts":true,"loadBalancerClass":"b"}"#,
                r#"{"type":"ClusterIP","loadBalancerClass":"b"}"#,
            ),
        ];
        for (old, new, expected) in table {
            let mut service = object(new);
            drop_what_another_type_had(&mut service, &object(old));
            assert_eq!(service, object(expected), "{new}");
        }
    }
}
