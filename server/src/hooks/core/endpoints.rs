//! Endpoints.

use apiwright_json::Value;
use apiwright_meta::address::{validate_legacy_ip, warn_of_ip};
use apiwright_meta::field::quoted;
use apiwright_meta::time::Time;
use apiwright_meta::{ErrorList, Path, names, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::cells::{self, NONE};
use crate::hooks::shared::ip::special_ip;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const CHANGE_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
const ADDRESSES: [&str; 2] = ["addresses", "notReadyAddresses"];

/// The most addresses that a cell lists.
const SHOWN_MAX: usize = 3;

/// The hooks of Endpoints.
#[derive(Debug)]
pub struct Endpoints;

impl Hooks for Endpoints {
    fn deprecation(&self) -> Option<&'static str> {
        Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        annotation_faults(object, errors);
        subset_faults(object, errors);
    }

    /// Subsets that do not change stay as they are, even where the rules became stricter.
    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        annotation_faults(object, errors);
        if object.get("subsets") != old.get("subsets") {
            subset_faults(object, errors);
        }
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        for (path, address) in all_addresses(object) {
            warnings.extend(warn_of_ip(&path.child("ip"), address.text_at(&["ip"])));
        }
        warnings
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Endpoints" => addresses(object).into(),
            _ => Value::Null,
        }
    }
}

fn annotation_faults(object: &Value, errors: &mut ErrorList) {
    if let Some(moment) =
        object::annotation(object, CHANGE_TIME).filter(|moment| Time::parse(moment).is_err())
    {
        let path = Path::new("annotations").child(CHANGE_TIME);
        errors.invalid(path, quoted(moment), "must be a valid RFC3339 timestamp");
    }
}

fn subset_faults(object: &Value, errors: &mut ErrorList) {
    let path = Path::new("subsets");
    for (at, subset) in cells::items(object, &["subsets"]).iter().enumerate() {
        let path = path.index(at);
        if ADDRESSES.iter().all(|list| cells::items(subset, &[list]).is_empty()) {
            errors.required(path.clone(), "must specify `addresses` or `notReadyAddresses`");
        }
        for list in ADDRESSES {
            for (at, address) in cells::items(subset, &[list]).iter().enumerate() {
                address_faults(address, &path.child(list).index(at), errors);
            }
        }
        let ports = cells::items(subset, &["ports"]);
        for (at, port) in ports.iter().enumerate() {
            port_faults(port, ports.len() > 1, &path.child("ports").index(at), errors);
        }
    }
}

fn address_faults(address: &Value, path: &Path, errors: &mut ErrorList) {
    let (ip, host) = (address.text_at(&["ip"]), address.text_at(&["hostname"]));
    errors.append(validate_legacy_ip(&path.child("ip"), ip));
    if !host.is_empty() {
        errors.invalid_each(&path.child("hostname"), host, names::dns1123_label(host));
    }
    if let Some(node) = address.get("nodeName").and_then(Value::as_str) {
        errors.invalid_each(&path.child("nodeName"), node, names::name_is_dns_subdomain(node, false));
    }
    special_ip(ip, &path.child("ip"), errors);
}

fn port_faults(port: &Value, named: bool, path: &Path, errors: &mut ErrorList) {
    match port.text_at(&["name"]) {
        "" if named => errors.required(path.child("name"), ""),
        "" => {}
        name => errors.invalid_each(&path.child("name"), name, names::dns1123_label(name)),
    }
    let number = port.get("port").and_then(Value::as_i64).unwrap_or_default();
    for why in names::port_num(number) {
        errors.invalid(path.child("port"), number, &why);
    }
    let protocol = port.text_at(&["protocol"]);
    if !PROTOCOLS.contains(&protocol) {
        errors.not_supported(path.child("protocol"), quoted(protocol), &PROTOCOLS);
    }
    if let Some(protocol) = port.get("appProtocol").and_then(Value::as_str) {
        errors.invalid_each(&path.child("appProtocol"), protocol, names::qualified_name(protocol));
    }
}

/// All addresses and where they are.
fn all_addresses(object: &Value) -> impl Iterator<Item = (Path, &Value)> {
    let subsets = cells::items(object, &["subsets"]).iter().enumerate();
    subsets.flat_map(|(at, subset)| {
        let path = Path::new("subsets").index(at);
        ADDRESSES.into_iter().flat_map(move |list| {
            let path = path.child(list);
            cells::items(subset, &[list]).iter().enumerate().map(move |(at, one)| (path.index(at), one))
        })
    })
}

/// `10.0.0.1:80,10.0.0.2:80 + 4 more...`
fn addresses(object: &Value) -> String {
    let mut shown = Vec::new();
    let mut all = 0;
    for subset in cells::items(object, &["subsets"]) {
        let ports = cells::items(subset, &["ports"]);
        for address in cells::items(subset, &["addresses"]) {
            let ip = address.text_at(&["ip"]);
            let mut add = |text: String| {
                all += 1;
                if shown.len() < SHOWN_MAX {
                    shown.push(text);
                }
            };
            if ports.is_empty() {
                add(ip.to_owned());
            }
            for port in ports {
                let port = port.get("port").and_then(Value::as_i64).unwrap_or_default();
                add(if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") });
            }
        }
    }
    if all == 0 {
        return NONE.into();
    }
    let more = all - shown.len();
    let shown = shown.join(",");
    if more > 0 { format!("{shown} + {more} more...") } else { shown }
}
