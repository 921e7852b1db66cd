//! What makes an EndpointSlice valid.

use std::net::IpAddr;

use apiwright_json::Value;
use apiwright_meta::address::{parse_ip, validate_legacy_ip, warn_of_ip};
use apiwright_meta::domains::validate_fully_qualified_domain_name;
use apiwright_meta::field::quoted;
use apiwright_meta::labels::validate_labels;
use apiwright_meta::{ErrorList, Path, names};

use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::ip::special_ip;

const ENDPOINTS_MAX: usize = 1000;
const ADDRESSES_MAX: usize = 100;
const LABELS_MAX: usize = 16;
const HINTS_MAX: usize = 8;
const PORTS_MAX: usize = 20_000;

/// The faults of a slice; addresses that an old one has may stay as they are.
pub(super) fn slice(slice: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let mut out = Faults::take(errors, &Path::default());
    out.declared_below(&Path::new("metadata"));
    out.declared(&Path::new("addressType"));
    let known = old.map(addresses).unwrap_or_default();
    let (kind, path) = (slice.text_at(&["addressType"]), Path::new("endpoints"));
    let endpoints = cells::items(slice, &["endpoints"]);
    if endpoints.len() > ENDPOINTS_MAX {
        out.too_many(path.clone(), endpoints.len(), ENDPOINTS_MAX);
        out.drop_below(&path);
    } else {
        for (at, endpoint) in endpoints.iter().enumerate() {
            endpoint_faults(endpoint, kind, &known, &path.index(at), &mut out);
        }
    }
    let (ports, path) = (cells::items(slice, &["ports"]), Path::new("ports"));
    if ports.len() > PORTS_MAX {
        out.too_many(path.clone(), ports.len(), PORTS_MAX);
        out.drop_below(&path);
        return;
    }
    port_faults(ports, &path, &mut out);
}

/// What to say of a slice that is fine.
pub(super) fn warnings(slice: &Value) -> Vec<String> {
    if slice.text_at(&["addressType"]) == "FQDN" {
        return vec!["spec.addressType: FQDN endpoints are deprecated".into()];
    }
    let mut warnings = Vec::new();
    for (at, endpoint) in cells::items(slice, &["endpoints"]).iter().enumerate() {
        let path = Path::new("endpoints").index(at).child("addresses");
        let addresses = cells::items(endpoint, &["addresses"]).iter().filter_map(Value::as_str);
        warnings
            .extend(addresses.enumerate().filter_map(|(at, address)| warn_of_ip(&path.index(at), address)));
    }
    warnings
}

fn addresses(slice: &Value) -> Vec<&str> {
    let endpoints = cells::items(slice, &["endpoints"]).iter();
    endpoints.flat_map(|endpoint| cells::items(endpoint, &["addresses"])).filter_map(Value::as_str).collect()
}

fn endpoint_faults(endpoint: &Value, kind: &str, known: &[&str], path: &Path, out: &mut Faults<'_>) {
    let (addresses, at) = (cells::items(endpoint, &["addresses"]), path.child("addresses"));
    out.drop_below(&at);
    if addresses.is_empty() {
        out.required(at.clone(), "must contain at least 1 address");
    } else if addresses.len() > ADDRESSES_MAX {
        out.too_many(at.clone(), addresses.len(), ADDRESSES_MAX);
    }
    for (index, address) in addresses.iter().filter_map(Value::as_str).enumerate() {
        match kind {
            "IPv4" | "IPv6" => ip_faults(address, kind, known, &at, index, out),
            "FQDN" => out.append(validate_fully_qualified_domain_name(&at.index(index), address)),
            _ => {}
        }
    }
    out.declared(&path.child("nodeName"));
    if let Some(labels) = endpoint.get("deprecatedTopology").and_then(Value::as_object) {
        let path = path.child("deprecatedTopology");
        if labels.len() > LABELS_MAX {
            out.too_many(path.clone(), labels.len(), LABELS_MAX);
        }
        out.append(validate_labels(labels, &path));
    }
    out.declared(&path.child("hostname"));
    if let Some(hints) = endpoint.get("hints") {
        hint_faults(hints, &path.child("hints"), out);
    }
}

fn ip_faults(address: &str, kind: &str, known: &[&str], path: &Path, at: usize, out: &mut Faults<'_>) {
    if !known.contains(&address) {
        let faults = validate_legacy_ip(&path.index(at), address);
        if !faults.is_empty() {
            out.append(faults);
            return;
        }
    }
    let is_of_kind = match parse_ip(address) {
        Some(IpAddr::V4(_)) => kind == "IPv4",
        Some(IpAddr::V6(_)) => kind == "IPv6",
        None => false,
    };
    if !is_of_kind {
        out.invalid(path.clone(), quoted(address), &format!("must be an {kind} address"));
    }
    special_ip(address, &path.index(at), out);
}

fn hint_faults(hints: &Value, path: &Path, out: &mut Faults<'_>) {
    type Check = fn(&str) -> Vec<String>;
    let lists: [(&str, Check); 2] =
        [("forZones", names::label_value), ("forNodes", names::dns1123_subdomain)];
    for (list, check) in lists {
        let (hints, path) = (cells::items(hints, &[list]), path.child(list));
        if hints.len() > HINTS_MAX {
            out.too_many(path, hints.len(), HINTS_MAX);
            return;
        }
        let mut seen = Vec::new();
        for (at, hint) in hints.iter().enumerate() {
            let (name, path) = (hint.text_at(&["name"]), path.index(at).child("name"));
            if seen.contains(&name) {
                out.duplicate(path.clone(), quoted(name));
            }
            seen.push(name);
            out.invalid_each(&path, name, check(name));
        }
    }
}

fn port_faults(ports: &[Value], path: &Path, out: &mut Faults<'_>) {
    let mut seen = std::collections::HashSet::new();
    for (at, port) in ports.iter().enumerate() {
        let (path, name) = (path.index(at), port.text_at(&["name"]));
        if !name.is_empty() {
            out.invalid_each(&path.child("name"), name, names::dns1123_label(name));
        }
        if !seen.insert(name) {
            out.duplicate(path.child("name"), quoted(name));
        }
        out.declared(&path.child("protocol"));
        if let Some(protocol) = port.get("appProtocol").and_then(Value::as_str) {
            out.invalid_each(&path.child("appProtocol"), protocol, names::qualified_name(protocol));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_slices() {
        let slice =
            |kind: &str, endpoint: &str| format!(r#"{{"addressType":"{kind}","endpoints":[{endpoint}]}}"#);
        let table = [
            (slice("IPv4", r#"{"addresses":["192.0.2.1"]}"#), "[]"),
            (
                slice("IPv4", r#"{"addresses":["2001:db8::1"]}"#),
                "endpoints[0].addresses: Invalid value: \"2001:db8::1\": must be an IPv4 address",
            ),
            (
                slice("IPv6", r#"{"addresses":["::1"]}"#),
                "endpoints[0].addresses[0]: Invalid value: \"::1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
            ),
            (slice("FQDN", "{}"), "endpoints[0].addresses: Required value: must contain at least 1 address"),
            (
                slice(
                    "IPv4",
                    r#"{"addresses":["192.0.2.1"],"hints":{"forZones":[{"name":"a"},{"name":"a"}]}}"#,
                ),
                "endpoints[0].hints.forZones[1].name: Duplicate value: \"a\"",
            ),
            (
                r#"{"addressType":"IPv4","ports":[{"name":"a"},{"name":"a","appProtocol":"a b"}]}"#
                    .to_owned(),
                "[ports[1].name: Duplicate value: \"a\", ports[1].appProtocol: Invalid value: \"a b\": name part must \
                 consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                 character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')]",
            ),
        ];
        for (text, expected) in table {
            let mut errors = ErrorList::new();
            super::slice(&apiwright_json::decode(text.as_bytes()).unwrap().0, None, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{text}");
        }
    }
}
