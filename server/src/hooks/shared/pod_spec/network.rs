//! The network of a pod: ports of the host, DNS, names of hosts.

use apiwright_json::Value;
use apiwright_meta::address::validate_legacy_ip;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{Path, names};

use super::validate::Context;
use super::{flag, number};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

const NAMESERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_BYTES_MAX: usize = 2048;

/// On the host's network a port is the host's.
pub(super) fn host_ports(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    if !flag(context.spec, "hostNetwork") {
        return;
    }
    for (at, container) in cells::items(context.spec, &["containers"]).iter().enumerate() {
        for (index, port) in cells::items(container, &["ports"]).iter().enumerate() {
            let number = |member: &str| number(port, member).unwrap_or_default();
            let (host, own) = (number("hostPort"), number("containerPort"));
            if (context.is_pod() || host != 0) && host != own {
                let path = path.index(at).child("ports").index(index).child("hostPort");
                out.invalid(path, host, "must match `containerPort` when `hostNetwork` is true");
            }
        }
    }
}

/// The faults of a pod's DNS.
pub(super) fn dns(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    let config = context.spec.get("dnsConfig");
    let servers = config.map(|config| cells::items(config, &["nameservers"])).unwrap_or_default();
    if context.spec.text_at(&["dnsPolicy"]) == "None" {
        if config.is_none() {
            out.required(path.clone(), "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if servers.is_empty() {
            let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            out.required(path.child("nameservers"), why);
            return;
        }
    }
    let Some(config) = config else { return };
    let servers_path = path.child("nameservers");
    if servers.len() > NAMESERVERS_MAX {
        let why = format!("must not have more than {NAMESERVERS_MAX} nameservers");
        out.invalid(servers_path.clone(), list(config, "nameservers"), &why);
    }
    for (at, server) in servers.iter().filter_map(Value::as_str).enumerate() {
        out.append(validate_legacy_ip(&servers_path.index(at), server));
    }
    searches(config, &path.child("searches"), out);
    for (at, option) in cells::items(config, &["options"]).iter().enumerate() {
        if option.text_at(&["name"]).is_empty() {
            out.required(path.child("options").index(at), "must not be empty");
        }
    }
}

fn searches(config: &Value, path: &Path, out: &mut Faults<'_>) {
    let searches: Vec<&str> = cells::items(config, &["searches"]).iter().filter_map(Value::as_str).collect();
    if searches.len() > SEARCHES_MAX {
        let why = format!("must not have more than {SEARCHES_MAX} search paths");
        out.invalid(path.clone(), list(config, "searches"), &why);
    }
    if searches.join(" ").len() > SEARCH_BYTES_MAX {
        let why = format!(
            "must not have more than {SEARCH_BYTES_MAX} characters (including spaces) in the search list"
        );
        out.invalid(path.clone(), list(config, "searches"), &why);
    }
    for (at, search) in searches.iter().enumerate().filter(|(_, search)| **search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        out.invalid_each(&path.index(at), search, names::dns1123_subdomain_with_underscore(search));
    }
}

/// The faults of names for addresses.
pub(super) fn host_aliases(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    for (at, alias) in cells::items(context.spec, &["hostAliases"]).iter().enumerate() {
        let path = path.index(at);
        out.append(validate_legacy_ip(&path.child("ip"), alias.text_at(&["ip"])));
        for (at, name) in cells::items(alias, &["hostnames"]).iter().filter_map(Value::as_str).enumerate() {
            for why in names::dns1123_subdomain(name) {
                out.invalid(path.child("hostnames").index(at), quoted(name), &why);
            }
        }
    }
}

fn list(config: &Value, member: &str) -> String {
    go_value(config.get(member).unwrap_or(&Value::Null))
}
