//! Ingresses.

mod validate;

use apiwright_json::Value;
use apiwright_meta::address::warn_of_ip;
use apiwright_meta::{ErrorList, Path, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::cells::{self, NONE};

/// What said the class before there was a field.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
/// The most hosts that a cell lists.
const SHOWN_MAX: usize = 3;

/// The hooks of Ingresses.
#[derive(Debug)]
pub struct Ingress;

impl Hooks for Ingress {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::create(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        match context.subresource {
            "status" => validate::status(object, old, errors),
            _ => validate::update(object, old, errors),
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() {
            return address_warnings(object);
        }
        let is_annotated = object::annotation(object, CLASS_ANNOTATION).is_some();
        if is_annotated && object.at(&["spec", "ingressClassName"]).is_none() {
            return vec![format!(
                "annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"
            )];
        }
        Vec::new()
    }

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

fn address_warnings(ingress: &Value) -> Vec<String> {
    let path = Path::new("status.loadBalancer.ingress");
    let points = cells::items(ingress, &["status", "loadBalancer", "ingress"]).iter().enumerate();
    points.filter_map(|(at, point)| warn_of_ip(&path.index(at).child("ip"), point.text_at(&["ip"]))).collect()
}

fn class(ingress: &Value) -> &str {
    match ingress.text_at(&["spec", "ingressClassName"]) {
        "" => object::annotation(ingress, CLASS_ANNOTATION).unwrap_or(NONE),
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
