//! What is wrong with a configuration, in upstream's words and order.

use std::collections::HashSet;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Configuration, Kms, NamedKey, Provider};
use crate::resources::GroupResource;

const AES_KEY_BYTES: &[usize] = &[16, 24, 32];
const SECRETBOX_KEY_BYTES: &[usize] = &[32];

/// All of it; empty where there is nothing.
pub(super) fn faults(configuration: &Configuration) -> Vec<String> {
    let mut faults = Vec::new();
    if configuration.rules.is_empty() {
        return vec![required("resources", "at least one resources is required")];
    }
    let mut plugins = HashSet::new();
    for (at, rule) in configuration.rules.iter().enumerate() {
        let resources = format!("resources[{at}].resources");
        let providers = format!("resources[{at}].providers");
        if rule.resources.is_empty() {
            faults.push(required(&resources, &format!("at least one {resources} is required")));
        }
        overlaps(&rule.resources, &resources, &mut faults);
        for (at, name) in rule.resources.iter().enumerate() {
            faults
                .extend(misnamed(name).map(|why| invalid(&format!("{resources}[{at}]"), &quoted(name), why)));
        }
        if rule.providers.is_empty() {
            faults.push(required(&providers, &format!("at least one {providers} is required")));
        }
        for (at, provider) in rule.providers.iter().enumerate() {
            let path = format!("{providers}[{at}]");
            match provider {
                Provider::AesCbc(its) => keys(its, &format!("{path}.aescbc.keys"), AES_KEY_BYTES, &mut faults),
                Provider::AesGcm(its) => keys(its, &format!("{path}.aesgcm.keys"), AES_KEY_BYTES, &mut faults),
                Provider::Secretbox(its) => {
                    keys(its, &format!("{path}.secretbox.keys"), SECRETBOX_KEY_BYTES, &mut faults);
                }
                Provider::Kms(its) => {
                    kms(its, &format!("{path}.kms"), &plugins, &mut faults);
                    plugins.insert(its.name.clone());
                }
                Provider::Identity => {}
                Provider::Not(count) => faults.push(invalid(&path, "{}", match count {
                    0 => {
                        "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"
                    }
                    _ => "more than one provider specified in a single element, should split into different list elements",
                })),
            }
        }
    }
    faults
}

fn overlaps(names: &[String], path: &str, faults: &mut Vec<String>) {
    let all: Vec<GroupResource> = names.iter().map(|name| GroupResource::parse(name)).collect();
    let everything = GroupResource { group: "*".into(), resource: "*".into() };
    let (mut twice, mut overlapping) = (false, false);
    for (at, one) in all.iter().enumerate() {
        for other in all.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, other)| other) {
            if one == other {
                twice = true;
            } else if *one == everything
                || (one.group == other.group && (one.resource == "*" || other.resource == "*"))
            {
                overlapping = true;
            }
        }
    }
    let shown = format!("[{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(","));
    if twice {
        faults.push(invalid(path, &shown, "the same resource cannot be specified multiple times"));
    }
    if overlapping {
        let why = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked";
        faults.push(invalid(path, &shown, why));
    }
}

fn misnamed(name: &str) -> Option<&'static str> {
    let GroupResource { group, resource } = GroupResource::parse(name);
    Some(match name {
        _ if name.to_lowercase() != name => "resource name should not contain capital letters",
        "*" => "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources",
        "apiserveripinfo" | "serviceipallocations" | "servicenodeportallocations" => {
            "resources which do not have REST API/s cannot be encrypted"
        }
        _ if group == "events.k8s.io" => {
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"
        }
        _ if group == "extensions" => "'extensions' group has been removed and cannot be used for encryption",
        _ if group == "*" && resource != "*" => "encrypting the same resource across groups is not supported",
        _ => return None,
    })
}

fn keys(keys: &[NamedKey], path: &str, lengths: &[usize], faults: &mut Vec<String>) {
    if keys.is_empty() {
        faults.push(required(path, "at least one keys is required"));
    }
    for (at, key) in keys.iter().enumerate() {
        if key.name.is_empty() {
            faults.push(required(&format!("{path}[{at}].name"), "name is a mandatory field for a key"));
        }
        let path = format!("{path}[{at}].secret");
        if key.secret.is_empty() {
            faults.push(required(&path, "secret is a mandatory field for a key"));
            continue;
        }
        match STANDARD.decode(&key.secret) {
            Err(_) => faults.push(invalid(&path, "\"REDACTED\"", "secrets must be base64 encoded")),
            Ok(secret) if !lengths.contains(&secret.len()) => {
                let known: Vec<String> = lengths.iter().map(ToString::to_string).collect();
                let (found, known) = (secret.len(), known.join(" "));
                let why =
                    format!("secret is not of the expected length, got {found}, expected one of [{known}]");
                faults.push(invalid(&path, "\"REDACTED\"", &why));
            }
            Ok(_) => {}
        }
    }
}

fn kms(kms: &Kms, path: &str, others: &HashSet<String>, faults: &mut Vec<String>) {
    let (name, named) = (format!("{path}.name"), &kms.name);
    if named.is_empty() {
        faults.push(required(&name, "name is a mandatory field for a provider"));
    }
    if kms.version != "v1" && named.contains(':') {
        let why = format!("invalid KMS provider name {named}, must not contain ':'");
        faults.push(invalid(&name, &quoted(named), &why));
    }
    if kms.version != "v1" && others.contains(named) {
        let why = format!("duplicate KMS provider name {named}, names must be unique");
        faults.push(invalid(&name, &quoted(named), &why));
    }
    if kms.timeout == Duration::ZERO {
        faults.push(invalid(&format!("{path}.timeout"), "\"0s\"", "timeout should be a positive value"));
    }
    let endpoint = format!("{path}.endpoint");
    match kms.endpoint.split_once("://") {
        _ if kms.endpoint.is_empty() => {
            faults.push(invalid(&endpoint, "\"\"", "endpoint is a mandatory field for a kms"));
        }
        Some(("unix", _)) => {}
        other => {
            let scheme = other.map(|(scheme, _)| scheme).unwrap_or_default();
            let why =
                format!("unsupported scheme {} for KMS provider, only unix is supported", quoted(scheme));
            faults.push(invalid(&endpoint, &quoted(&kms.endpoint), &why));
        }
    }
    match kms.cache_size {
        Some(size) if kms.version != "v1" => {
            let path = format!("{path}.cachesize");
            faults.push(invalid(&path, &size.to_string(), "cachesize is not supported in v2"));
        }
        Some(0) => {
            let why = "cachesize should be a positive value, or negative to disable";
            faults.push(invalid(&format!("{path}.cachesize"), "0", why));
        }
        _ => {}
    }
    if !matches!(kms.version.as_str(), "v1" | "v2") {
        let why = "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported";
        faults.push(invalid(&format!("{path}.apiVersion"), &quoted(&kms.version), why));
    }
}

fn required(path: &str, why: &str) -> String {
    format!("{path}: Required value: {why}")
}

fn invalid(path: &str, value: &str, why: &str) -> String {
    format!("{path}: Invalid value: {value}: {why}")
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}
