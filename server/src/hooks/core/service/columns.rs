//! The computed columns of Services.

use apiwright_json::{Object, Value};

use crate::hooks::shared::cells::{self, NONE};

/// The cell of a column.
pub(super) fn cell(column: &str, object: &Value) -> Value {
    match column {
        "Cluster-IP" => cells::or_none(object.text_at(&["spec", "clusterIP"])).into(),
        "External-IP" => external_ips(object).into(),
        "Port(s)" => ports(object).into(),
        "Selector" => cells::labels(object, &["spec", "selector"]).into(),
        _ => Value::Null,
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
