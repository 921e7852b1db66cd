//! Ingresses.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_registry::Hooks;

use crate::hooks::shared::cells::{self, NONE};

/// The most hosts that a cell lists.
const SHOWN_MAX: usize = 3;

/// The hooks of Ingresses.
#[derive(Debug)]
pub struct Ingress;

impl Hooks for Ingress {
    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Class" => class(object).into(),
            "Hosts" => hosts(object).into(),
            "Address" => address(object).into(),
            "Ports" if cells::count(object, &["spec", "tls"]) > 0 => "80, 443".into(),
            "Ports" => "80".into(),
            _ => Value::Null,
        }
    }
}

fn class(ingress: &Value) -> &str {
    match ingress.text_at(&["spec", "ingressClassName"]) {
        "" => object::annotation(ingress, "kubernetes.io/ingress.class").unwrap_or(NONE),
        class => class,
    }
}

fn hosts(ingress: &Value) -> String {
    let all: Vec<&str> = cells::items(ingress, &["spec", "rules"])
        .iter()
        .map(|rule| rule.text_at(&["host"]))
        .filter(|host| !host.is_empty())
        .collect();
    if all.is_empty() {
        return "*".into();
    }
    let shown = all[..all.len().min(SHOWN_MAX)].join(",");
    if all.len() > SHOWN_MAX { format!("{shown} + {} more...", all.len() - SHOWN_MAX) } else { shown }
}

fn address(ingress: &Value) -> String {
    let all = cells::items(ingress, &["status", "loadBalancer", "ingress"]).iter();
    let texts = all.map(|one| match one.text_at(&["ip"]) {
        "" => one.text_at(&["hostname"]),
        ip => ip,
    });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(",")
}
