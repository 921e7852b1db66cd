//! Services.

use apiwright_json::{Object, Value};
use apiwright_registry::Hooks;

use crate::hooks::shared::cells::{self, NONE};

/// The hooks of Services.
#[derive(Debug)]
pub struct Service;

impl Hooks for Service {
    fn default(&self, object: &mut Value) {
        let Some(spec) = object.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
        let kind = spec.str("type").unwrap_or_default().to_owned();
        if spec.str("sessionAffinity") == Some("ClientIP") {
            let config = spec.object("sessionAffinityConfig").object("clientIP");
            config.entry("timeoutSeconds", || 10_800.into());
        }
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            set_target_port(port);
        }
        if kind == "LoadBalancer" {
            spec.entry("allocateLoadBalancerNodePorts", || true.into());
        }
        if kind == "NodePort" || kind == "LoadBalancer" {
            spec.entry("externalTrafficPolicy", || "Cluster".into());
        }
        if kind != "ExternalName" {
            spec.entry("internalTrafficPolicy", || "Cluster".into());
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Cluster-IP" => cells::or_none(object.text_at(&["spec", "clusterIP"])).into(),
            "External-IP" => external_ips(object).into(),
            "Port(s)" => ports(object).into(),
            "Selector" => cells::labels(object, &["spec", "selector"]).into(),
            _ => Value::Null,
        }
    }
}

/// A port's target is the port itself where it is left out.
fn set_target_port(port: &mut Value) {
    let Some(port) = port.as_object_mut() else { return };
    let absent = match port.get("targetPort") {
        None => true,
        Some(Value::Int(0)) => true,
        Some(Value::String(name)) => name.is_empty(),
        Some(_) => false,
    };
    if absent && let Some(number) = port.get("port").cloned() {
        port.insert("targetPort", number);
    }
}

fn external_ips(object: &Value) -> String {
    let fixed = || cells::items(object, &["spec", "externalIPs"]).iter().filter_map(Value::as_str);
    match object.text_at(&["spec", "type"]) {
        "LoadBalancer" => {
            let mut all: Vec<&str> = cells::items(object, &["status", "loadBalancer", "ingress"])
                .iter()
                .map(|ingress| match ingress.text_at(&["ip"]) {
                    "" => ingress.text_at(&["hostname"]),
                    ip => ip,
                })
                .collect();
            all.extend(fixed());
            if all.is_empty() { "<pending>".into() } else { all.join(",") }
        }
        "ExternalName" => object.text_at(&["spec", "externalName"]).into(),
        _ => cells::join(fixed(), ","),
    }
}

/// `80/TCP,443:32741/TCP`
fn ports(object: &Value) -> String {
    let ports = cells::items(object, &["spec", "ports"]);
    if ports.is_empty() {
        return NONE.into();
    }
    ports.iter().filter_map(Value::as_object).map(port).collect::<Vec<_>>().join(",")
}

fn port(port: &Object) -> String {
    let number = |name: &str| port.get(name).and_then(Value::as_i64).unwrap_or_default();
    let protocol = port.str("protocol").unwrap_or_default();
    match number("nodePort") {
        0 => format!("{}/{protocol}", number("port")),
        node => format!("{}:{node}/{protocol}", number("port")),
    }
}
