//! What makes an Ingress valid.

use apiwright_json::Value;
use apiwright_meta::address::{parse_ip, validate_legacy_ip};
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names, object};

use super::CLASS_ANNOTATION;
use crate::hooks::shared::{cells, references};

/// What no exact path and no prefix has in it, and what none ends with.
const PATH_PARTS: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const PATH_ENDS: [&str; 2] = ["/..", "/."];
const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
const NO_NAME: &str = "must be a DNS name, not an IP address";

/// The faults of a new Ingress.
pub(super) fn create(ingress: &Value, errors: &mut ErrorList) {
    spec_faults(ingress, Leniency::default(), errors);
    let class = ingress.at(&["spec", "ingressClassName"]).and_then(Value::as_str);
    if let (Some(annotation), Some(class)) = (object::annotation(ingress, CLASS_ANNOTATION), class)
        && annotation != class
    {
        let path = Path::new("annotations").child(CLASS_ANNOTATION);
        errors.invalid(path, quoted(annotation), "must match `ingressClassName` when both are specified");
    }
}

/// The faults of an update: what was wrong before may stay wrong.
pub(super) fn update(ingress: &Value, old: &Value, errors: &mut ErrorList) {
    spec_faults(ingress, Leniency::of(old), errors);
}

/// The faults of a status.
pub(super) fn status(ingress: &Value, old: &Value, errors: &mut ErrorList) {
    const POINTS: [&str; 3] = ["status", "loadBalancer", "ingress"];
    let known: Vec<&str> = cells::items(old, &POINTS).iter().map(|point| point.text_at(&["ip"])).collect();
    let path = Path::new("status.loadBalancer.ingress");
    for (at, point) in cells::items(ingress, &POINTS).iter().enumerate() {
        let path = path.index(at);
        let (ip, host) = (point.text_at(&["ip"]), point.text_at(&["hostname"]));
        if !ip.is_empty() && !known.contains(&ip) {
            errors.append(validate_legacy_ip(&path.child("ip"), ip));
        }
        if !host.is_empty() {
            errors.invalid_each(&path.child("hostname"), host, names::dns1123_subdomain(host));
            if parse_ip(host).is_some() {
                errors.invalid(path.child("hostname"), quoted(host), NO_NAME);
            }
        }
    }
}

/// What an update lets pass because the old Ingress had it.
#[derive(Clone, Copy, Default)]
struct Leniency {
    secret_names: bool,
    wildcard_rules: bool,
}

impl Leniency {
    fn of(old: &Value) -> Self {
        let secret = |tls: &Value| !secret_name_faults(tls.text_at(&["secretName"])).is_empty();
        let rule = |rule: &Value| {
            let mut errors = ErrorList::new();
            paths(rule, &Path::default(), &mut errors);
            rule.text_at(&["host"]).contains('*') && !errors.is_empty()
        };
        Self {
            secret_names: cells::items(old, &["spec", "tls"]).iter().any(secret),
            wildcard_rules: cells::items(old, &["spec", "rules"]).iter().any(rule),
        }
    }
}

fn spec_faults(ingress: &Value, leniency: Leniency, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let rules = cells::items(ingress, &["spec", "rules"]);
    let backend = ingress.at(&["spec", "defaultBackend"]);
    if rules.is_empty() && backend.is_none() {
        errors.invalid(path.clone(), "null", "either `defaultBackend` or `rules` must be specified");
    }
    if let Some(backend) = backend {
        backend_faults(backend, &path.child("defaultBackend"), errors);
    }
    for (at, rule) in rules.iter().enumerate() {
        rule_faults(rule, leniency, &path.child("rules").index(at), errors);
    }
    for (at, tls) in cells::items(ingress, &["spec", "tls"]).iter().enumerate() {
        tls_faults(tls, leniency, &path.child("tls").index(at), errors);
    }
    if let Some(class) = ingress.at(&["spec", "ingressClassName"]).and_then(Value::as_str) {
        errors.invalid_each(&path.child("ingressClassName"), class, names::dns1123_subdomain(class));
    }
}

fn rule_faults(rule: &Value, leniency: Leniency, path: &Path, errors: &mut ErrorList) {
    let host = rule.text_at(&["host"]);
    if parse_ip(host).is_some() {
        errors.invalid(path.child("host"), quoted(host), NO_NAME);
    }
    host_faults(host, &path.child("host"), errors);
    if !host.contains('*') || !leniency.wildcard_rules {
        paths(rule, path, errors);
    }
}

/// The faults of a host's name, or of a wildcard; no host is fine.
fn host_faults(host: &str, path: &Path, errors: &mut ErrorList) {
    if host.contains('*') {
        errors.invalid_each(path, host, names::wildcard_dns1123_subdomain(host));
    } else if !host.is_empty() {
        errors.invalid_each(path, host, names::dns1123_subdomain(host));
    }
}

fn tls_faults(tls: &Value, leniency: Leniency, path: &Path, errors: &mut ErrorList) {
    for (at, host) in cells::items(tls, &["hosts"]).iter().filter_map(Value::as_str).enumerate() {
        let path = path.child("hosts").index(at);
        if host.is_empty() {
            errors.invalid_each(&path, host, names::dns1123_subdomain(host));
        }
        host_faults(host, &path, errors);
    }
    let secret = tls.text_at(&["secretName"]);
    if !leniency.secret_names {
        errors.invalid_each(&path.child("secretName"), secret, secret_name_faults(secret));
    }
}

fn secret_name_faults(name: &str) -> Vec<String> {
    if name.is_empty() { Vec::new() } else { names::name_is_dns_subdomain(name, false) }
}

fn paths(rule: &Value, path: &Path, errors: &mut ErrorList) {
    let Some(http) = rule.get("http") else { return };
    let path = path.child("http").child("paths");
    let paths = cells::items(http, &["paths"]);
    if paths.is_empty() {
        errors.required(path.clone(), "");
    }
    for (at, one) in paths.iter().enumerate() {
        path_faults(one, &path.index(at), errors);
    }
}

fn path_faults(one: &Value, path: &Path, errors: &mut ErrorList) {
    let Some(kind) = one.get("pathType").and_then(Value::as_str) else {
        errors.required(path.child("pathType"), "pathType must be specified");
        return;
    };
    let (text, at) = (one.text_at(&["path"]), path.child("path"));
    let is_relative = !text.starts_with('/');
    let mut refuse = |why: &str| errors.invalid(at.clone(), quoted(text), why);
    match kind {
        "Exact" | "Prefix" => {
            if is_relative {
                refuse("must be an absolute path");
            }
            for part in PATH_PARTS.iter().filter(|part| text.contains(**part)) {
                refuse(&format!("must not contain '{part}'"));
            }
            for end in PATH_ENDS.iter().filter(|end| text.ends_with(**end)) {
                refuse(&format!("cannot end with '{end}'"));
            }
        }
        "ImplementationSpecific" if is_relative && !text.is_empty() => refuse("must be an absolute path"),
        "ImplementationSpecific" => {}
        other => errors.not_supported(path.child("pathType"), quoted(other), &PATH_TYPES),
    }
    match one.get("backend") {
        Some(backend) => backend_faults(backend, &path.child("backend"), errors),
        None => backend_faults(&Value::Null, &path.child("backend"), errors),
    }
}

fn backend_faults(backend: &Value, path: &Path, errors: &mut ErrorList) {
    let mut refuse = |why: &str| errors.invalid(path.clone(), "\"\"", why);
    match (backend.get("resource"), backend.get("service")) {
        (Some(_), Some(_)) => refuse("cannot set both resource and service backends"),
        (None, None) => refuse("resource or service backend is required"),
        (Some(resource), None) => references::typed(resource, &path.child("resource"), errors),
        (None, Some(service)) => service_faults(service, path, errors),
    }
}

fn service_faults(service: &Value, path: &Path, errors: &mut ErrorList) {
    let at = path.child("service");
    match service.text_at(&["name"]) {
        "" => errors.required(at.child("name"), ""),
        name => errors.invalid_each(&at.child("name"), name, names::dns1123_label(name)),
    }
    let name = service.text_at(&["port", "name"]);
    let number = service.at(&["port", "number"]).and_then(Value::as_i64).unwrap_or_default();
    match (name, number) {
        ("", 0) => errors.required(path.clone(), "port name or number is required"),
        ("", number) => {
            for why in names::port_num(number) {
                errors.invalid(at.child("port").child("number"), number, &why);
            }
        }
        (name, 0) => {
            errors.invalid_each(&at.child("port").child("name"), name, names::port_name(name));
        }
        _ => errors.invalid(path.clone(), "\"\"", "cannot set both port name & port number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(spec: &str) -> String {
        let object = apiwright_json::decode(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap().0;
        let mut errors = ErrorList::new();
        create(&object, &mut errors);
        errors.aggregate()
    }

    #[test]
    fn rules_and_backends() {
        let backend = r#"{"service":{"name":"web","port":{"number":80}}}"#;
        let path =
            |path: &str| format!(r#"{{"rules":[{{"http":{{"paths":[{{{path},"backend":{backend}}}]}}}}]}}"#);
        let at = "spec.rules[0].http.paths[0]";
        let table = [
            (format!(r#"{{"defaultBackend":{backend}}}"#), "[]".to_owned()),
            (
                "{}".into(),
                "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified".into(),
            ),
            (path(r#""path":"/a","pathType":"Exact""#), "[]".into()),
            (path(r#""pathType":"ImplementationSpecific""#), "[]".into()),
            (
                path(r#""path":"/a/..","pathType":"Prefix""#),
                format!("{at}.path: Invalid value: \"/a/..\": cannot end with '/..'"),
            ),
            (
                path(r#""path":"/a""#),
                format!("{at}.pathType: Required value: pathType must be specified"),
            ),
            (
                r#"{"rules":[{"host":"192.0.2.1"}]}"#.into(),
                "spec.rules[0].host: Invalid value: \"192.0.2.1\": must be a DNS name, not an IP address".into(),
            ),
            (
                r#"{"defaultBackend":{"service":{"name":"web","port":{"name":"a","number":1}}}}"#.into(),
                "spec.defaultBackend: Invalid value: \"\": cannot set both port name & port number".into(),
            ),
            (
                r#"{"defaultBackend":{"service":{"name":"","port":{"number":70000}}}}"#.into(),
                "[spec.defaultBackend.service.name: Required value, spec.defaultBackend.service.port.number: \
                 Invalid value: 70000: must be between 1 and 65535, inclusive]"
                    .into(),
            ),
            (
                r#"{"defaultBackend":{"resource":{"kind":"","name":"a/b"}}}"#.into(),
                "[spec.defaultBackend.resource.kind: Required value, spec.defaultBackend.resource.name: \
                 Invalid value: \"a/b\": may not contain '/']"
                    .into(),
            ),
        ];
        for (spec, expected) in table {
            assert_eq!(faults(&spec), expected, "{spec}");
        }
    }

    #[test]
    fn what_was_wrong_may_stay() {
        let ingress = |tls: &str| {
            let text =
                format!(r#"{{"spec":{{"rules":[{{"host":"a.b"}}],"tls":[{{"secretName":"{tls}"}}]}}}}"#);
            apiwright_json::decode(text.as_bytes()).unwrap().0
        };
        for (old, count) in [("A_b", 0), ("cert", 1)] {
            let mut errors = ErrorList::new();
            update(&ingress("A_b"), &ingress(old), &mut errors);
            assert_eq!(errors.0.len(), count, "{old}");
        }
    }
}
