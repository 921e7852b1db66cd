//! What an update carries over: values that were allocated, and the two fields that say one thing.
//!
//! Clients may leave out what the server gave them, so that what they applied once they can apply
//! again; and may know `clusterIP` only, or `clusterIPs` as well.

use std::collections::{HashMap, HashSet};

use apiwright_json::Value;

use super::spec::{Spec, number, set_text, set_texts, spec_mut};

/// Takes over what was allocated to the old service and what the new one leaves out.
pub(super) fn keep_allocated(service: &mut Value, old: &Value) {
    let (new, before) = (Spec::of(service), Spec::of(old));
    let (ports, check) = (
        new.has_node_ports() && before.has_node_ports(),
        new.needs_health_check() && before.needs_health_check(),
    );
    if !new.is_external_name() && !before.is_external_name() {
        let (no_ip, no_ips) = (new.text("clusterIP").is_empty(), new.items("clusterIPs").is_empty());
        if no_ip {
            set_text(service, "clusterIP", before.text("clusterIP"));
        }
        if no_ips {
            set_texts(service, "clusterIPs", &before.texts("clusterIPs"));
        }
    }
    if ports {
        keep_node_ports(service, before);
    }
    if check && Spec::of(service).number("healthCheckNodePort") == 0 {
        let port = before.number("healthCheckNodePort");
        if let Some(spec) = spec_mut(service).filter(|_| port != 0) {
            spec.insert("healthCheckNodePort", port);
        }
    }
}

/// A port of the same name keeps its node port, unless another one took it.
fn keep_node_ports(service: &mut Value, old: Spec<'_>) {
    let used: HashSet<i64> = Spec::of(service).node_ports().into_iter().collect();
    let known: HashMap<&str, i64> =
        old.items("ports").iter().map(|port| (port.text_at(&["name"]), number(port, "nodePort"))).collect();
    for port in ports_mut(service) {
        if number(port, "nodePort") != 0 {
            continue;
        }
        let kept = known.get(port.text_at(&["name"])).copied().unwrap_or_default();
        if kept != 0
            && !used.contains(&kept)
            && let Some(port) = port.as_object_mut()
        {
            port.insert("nodePort", kept);
        }
    }
}

/// The ports, to change.
pub(super) fn ports_mut(service: &mut Value) -> impl Iterator<Item = &mut Value> {
    service.at_mut(&["spec", "ports"]).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Makes `clusterIPs` follow `clusterIP` in a new service.
pub(super) fn pair_addresses(service: &mut Value) {
    let spec = Spec::of(service);
    if spec.items("clusterIPs").is_empty() {
        let address = spec.text("clusterIP").to_owned();
        if !address.is_empty() {
            set_texts(service, "clusterIPs", &[&address]);
        }
    }
}

/// Makes `clusterIPs` follow `clusterIP` in an update.
pub(super) fn follow_address(service: &mut Value, old: &Value) {
    let (new, before) = (Spec::of(service), Spec::of(old));
    let address = new.text("clusterIP").to_owned();
    let before_all = before.texts("clusterIPs");
    let same = address == before.text("clusterIP");
    if same && new.items("clusterIPs").is_empty() {
        set_texts(service, "clusterIPs", &before_all);
    } else if !same && new.texts("clusterIPs") == before_all {
        let all: &[&str] = if address.is_empty() { &[] } else { &[&address] };
        set_texts(service, "clusterIPs", all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(spec: &str) -> Value {
        apiwright_json::decode(format!("{{\"spec\":{spec}}}").as_bytes()).unwrap().0
    }

    #[test]
    fn updates_keep_what_they_leave_out() {
        let table = [
            // What was, what comes, what is kept.
            (
                r#"{"type":"ClusterIP","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"]}"#,
                r#"{"type":"ClusterIP"}"#,
                r#"{"type":"ClusterIP","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"]}"#,
            ),
            (
                r#"{"type":"ClusterIP","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"]}"#,
                r#"{"type":"ExternalName"}"#,
                r#"{"type":"ExternalName"}"#,
            ),
            (
                r#"{"type":"NodePort","ports":[{"name":"a","nodePort":1},{"name":"b","nodePort":2}]}"#,
                r#"{"type":"NodePort","ports":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#,
                r#"{"type":"NodePort","ports":[{"name":"a","nodePort":1},{"name":"b","nodePort":2},{"name":"c"}]}"#,
            ),
            (
                r#"{"type":"NodePort","ports":[{"name":"a","nodePort":1}]}"#,
                r#"{"type":"NodePort","ports":[{"name":"a"},{"name":"b","nodePort":1}]}"#,
                r#"{"type":"NodePort","ports":[{"name":"a"},{"name":"b","nodePort":1}]}"#,
            ),
            (
                r#"{"type":"LoadBalancer","externalTrafficPolicy":"Local","healthCheckNodePort":9}"#,
                r#"{"type":"LoadBalancer","externalTrafficPolicy":"Local"}"#,
                r#"{"type":"LoadBalancer","externalTrafficPolicy":"Local","healthCheckNodePort":9}"#,
            ),
        ];
        for (old, new, expected) in table {
            let mut object = service(new);
            keep_allocated(&mut object, &service(old));
            assert_eq!(object, service(expected), "{old} {new}");
        }
    }

    #[test]
    fn the_list_follows_the_address() {
        let old = service(r#"{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"]}"#);
        let table = [
            (r#"{"clusterIP":"10.0.0.1"}"#, r#"{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"]}"#),
            (
                r#"{"clusterIP":"10.0.0.2","clusterIPs":["10.0.0.1"]}"#,
                r#"{"clusterIP":"10.0.0.2","clusterIPs":["10.0.0.2"]}"#,
            ),
            (r#"{"clusterIPs":["10.0.0.1"]}"#, "{}"),
            (
                r#"{"clusterIP":"10.0.0.2","clusterIPs":["10.0.0.3"]}"#,
                r#"{"clusterIP":"10.0.0.2","clusterIPs":["10.0.0.3"]}"#,
            ),
        ];
        for (new, expected) in table {
            let mut object = service(new);
            follow_address(&mut object, &old);
            assert_eq!(object, service(expected), "{new}");
        }
    }
}
