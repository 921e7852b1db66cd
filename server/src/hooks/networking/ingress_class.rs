//! IngressClasses.

use apiwright_json::Value;
use apiwright_meta::domains::validate_domain_prefixed_path;
use apiwright_meta::{ErrorList, Path, names};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::cells::NONE;
use crate::hooks::shared::faults::Faults;

const CONTROLLER_BYTES_MAX: usize = 250;

/// The hooks of IngressClasses.
#[derive(Debug)]
pub struct IngressClass;

impl Hooks for IngressClass {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        _old: &Value,
        errors: &mut ErrorList,
    ) {
        faults(object, errors);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Parameters" => parameters(object).into(),
            _ => Value::Null,
        }
    }
}

fn faults(class: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let mut out = Faults::take(errors, &path);
    let (controller, at) = (class.text_at(&["spec", "controller"]), path.child("controller"));
    out.declared(&at);
    if !controller.is_empty() {
        if controller.len() > CONTROLLER_BYTES_MAX {
            out.too_long(at.clone(), CONTROLLER_BYTES_MAX);
        }
        out.append(validate_domain_prefixed_path(&at, controller));
    }
    if let Some(parameters) = class.at(&["spec", "parameters"]) {
        parameter_faults(parameters, &path.child("parameters"), &mut out);
    }
}

fn parameter_faults(parameters: &Value, path: &Path, out: &mut Faults<'_>) {
    if let Some(group) = parameters.get("apiGroup").and_then(Value::as_str) {
        out.invalid_each(&path.child("apiGroup"), group, names::dns1123_subdomain(group));
    }
    for member in ["kind", "name"] {
        let (text, path) = (parameters.text_at(&[member]), path.child(member));
        out.declared(&path);
        if !text.is_empty() {
            out.invalid_each(&path, text, names::path_segment_name(text));
        }
    }
    out.declared(&path.child("scope"));
    let at = path.child("namespace");
    let namespace = parameters.get("namespace").and_then(Value::as_str);
    match (parameters.text_at(&["scope"]), namespace) {
        ("Namespace", None) => out.required(at, "`parameters.scope` is set to 'Namespace'"),
        ("Namespace", Some(name)) => out.invalid_each(&at, name, names::dns1123_label(name)),
        ("Cluster", Some(_)) => out.forbidden(at, "`parameters.scope` is set to 'Cluster'"),
        _ => {}
    }
}

/// `Kind.group/name`
fn parameters(object: &Value) -> String {
    let Some(parameters) = object.at(&["spec", "parameters"]) else { return NONE.into() };
    let text = |member: &str| parameters.text_at(&[member]);
    match text("apiGroup") {
        "" => format!("{}/{}", text("kind"), text("name")),
        group => format!("{}.{group}/{}", text("kind"), text("name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_and_parameters() {
        let table = [
            (r#"{"controller":"a.b/c"}"#, "[]"),
            (
                r#"{"controller":"own"}"#,
                "spec.controller: Invalid value: \"own\": must be a domain-prefixed path (such as \"acme.io/foo\")",
            ),
            (
                r#"{"controller":"a.b/c","parameters":{"kind":"P","name":"p","scope":"Cluster","namespace":"x"}}"#,
                "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
            ),
            (
                r#"{"controller":"a.b/c","parameters":{"kind":"P","name":"p","scope":"Namespace"}}"#,
                "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
            ),
        ];
        for (spec, expected) in table {
            let class = apiwright_json::decode(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap().0;
            let mut errors = ErrorList::new();
            faults(&class, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{spec}");
        }
    }
}
