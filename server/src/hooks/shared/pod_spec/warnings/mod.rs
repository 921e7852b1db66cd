//! What is allowed in pods and should not be done.
//!
//! Updates of pods are silent: people hardly make them. Those of workloads warn of their templates wherever
//! they count as a new generation, whatever changed.

mod paths;
mod ports;

use std::collections::HashSet;

use apiwright_json::{Object, Value};
use apiwright_meta::address::warn_of_ip;
use apiwright_meta::field::quoted;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{Path, names, object};

use super::CONTAINER_LISTS;
use super::annotations::{APP_ARMOR, SECCOMP, SECCOMP_OF};
use crate::hooks::shared::{cells, old_labels};

/// Sources of volumes that are going or gone.
const OLD_SOURCES: [(&str, &str); 13] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
    ("awsElasticBlockStore", "deprecated in v1.17, non-functional in v1.27+"),
    ("azureDisk", "deprecated in v1.19, non-functional in v1.27+"),
    ("cinder", "deprecated in v1.18, non-functional in v1.26+"),
    ("gcePersistentDisk", "deprecated in v1.17, non-functional in v1.28+"),
];

/// What is counted in bytes.
const BYTES: [&str; 2] = ["memory", "ephemeral-storage"];

/// Annotations that do nothing any more.
const OLD_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];
const OLD_SECCOMP: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
const OLD_APP_ARMOR: &str = "deprecated since v1.30; use the \"appArmorProfile\" field instead";
const NO_POD: &str = "a null labelSelector results in matching no pod";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Warnings about a new pod.
pub fn pod(pod: &Value, old: Option<&Value>) -> Vec<String> {
    let mut texts = Vec::new();
    if old.is_none() {
        texts.extend(name(pod, "the Pod's hostname"));
        all(pod, &Path::default(), &mut texts);
    }
    texts
}

/// Warnings about a workload whose pods are called after it.
pub fn workload(object: &Value, old: Option<&Value>, at: &[&str]) -> Vec<String> {
    let mut texts = Vec::new();
    if old.is_none() {
        texts.extend(name(object, "Pod names and hostnames"));
    }
    texts.extend(template(object, old, at));
    texts
}

/// What becomes part of a host's name should be one.
fn name(object: &Value, used_in: &str) -> Option<String> {
    let name = object::name(object);
    let faults = names::dns1123_label(name);
    if name.is_empty() || faults.is_empty() {
        return None;
    }
    let mut faults: Vec<&str> = faults.iter().map(String::as_str).collect();
    if name.contains('.') {
        faults = vec!["must not contain dots"];
    }
    Some(format!(
        "metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS label is \
         recommended: [{}]",
        faults.join(" ")
    ))
}

/// Warnings about the pod template at a path of a workload that is new or another generation.
pub fn template(object: &Value, old: Option<&Value>, at: &[&str]) -> Vec<String> {
    let mut texts = Vec::new();
    let generation = |object| object::metadata(object).get("generation").cloned();
    if old.is_none_or(|old| generation(old) != generation(object)) {
        let path = at.iter().fold(Path::default(), |path, member| path.child(member));
        if let Some(template) = object.at(at) {
            all(template, &path, &mut texts);
        }
    }
    texts
}

/// Warnings about a pod, which is at no path, or a template.
fn all(pod: &Value, root: &Path, texts: &mut Vec<String>) {
    let Some(spec) = pod.get("spec") else { return };
    let (path, annotations_path) = (root.child("spec"), root.child("metadata").child("annotations"));
    let none = Object::new();
    let annotations = object::metadata(pod).get("annotations").and_then(Value::as_object).unwrap_or(&none);
    labels(spec, &path, texts);
    for (key, why) in OLD_ANNOTATIONS.iter().filter(|(key, _)| annotations.contains_key(key)) {
        texts.push(format!("{}: {why}", annotations_path.key(key)));
    }
    volumes(spec, &path.child("volumes"), texts);
    for (at, alias) in cells::items(spec, &["hostAliases"]).iter().enumerate() {
        let ip = alias.text_at(&["ip"]);
        let earlier = &cells::items(spec, &["hostAliases"])[..at];
        if earlier.iter().any(|one| one.text_at(&["ip"]) == ip) {
            let path = path.child("hostAliases").index(at).child("ip");
            texts.push(format!("{path}: duplicate ip {}", quoted(ip)));
        }
    }
    pull_secrets(spec, &path.child("imagePullSecrets"), texts);
    for name in BYTES {
        if let Some(amount) = spec.at(&["overhead", name]) {
            fraction(amount, &path.child("overhead").key(name), texts);
        }
    }
    let has = |object: &Value, profile: &str| object.at(&["securityContext", profile]).is_some();
    let old_annotation = |key: &str, why: &str, texts: &mut Vec<String>| {
        if annotations.contains_key(key) {
            texts.push(format!("{}: {why}", annotations_path.key(key)));
        }
    };
    if !has(spec, "seccompProfile") {
        old_annotation(SECCOMP, OLD_SECCOMP, texts);
    }
    for list in CONTAINER_LISTS {
        for (at, container) in cells::items(spec, &[list]).iter().enumerate() {
            let name = container.text_at(&["name"]);
            if !has(container, "seccompProfile") {
                old_annotation(&format!("{SECCOMP_OF}{name}"), OLD_SECCOMP, texts);
            }
            // Of pods that is said where the annotation becomes the field.
            let is_template = !root.as_str().is_empty();
            if is_template && !has(spec, "appArmorProfile") && !has(container, "appArmorProfile") {
                old_annotation(&format!("{APP_ARMOR}{name}"), OLD_APP_ARMOR, texts);
            }
            own(container, &path.child(list).index(at), texts);
        }
    }
    ports::warnings(spec, &path, texts);
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        let path = path.child("terminationGracePeriodSeconds");
        texts.push(format!("{path}: must be >= 0; negative values are invalid and will be treated as 1"));
    }
    null_selectors(spec, &path.child("affinity"), texts);
    addresses(spec, &path, texts);
}

/// Warnings about a container by itself.
fn own(container: &Value, path: &Path, texts: &mut Vec<String>) {
    for name in BYTES {
        for kind in ["limits", "requests"] {
            if let Some(amount) = container.at(&["resources", kind, name]) {
                fraction(amount, &path.child("resources").child(kind).key(name), texts);
            }
        }
    }
    repeated_variables(container, &path.child("env"), texts);
}

fn volumes(spec: &Value, path: &Path, texts: &mut Vec<String>) {
    let volumes = cells::items(spec, &["volumes"]);
    for (at, volume) in volumes.iter().enumerate() {
        let path = path.index(at);
        // Upstream spells one of them otherwise here.
        let has =
            |source: &str| volume.get(if source == "storageOS" { "storageos" } else { source }).is_some();
        for (source, why) in OLD_SOURCES.iter().filter(|(source, _)| has(source)) {
            texts.push(format!("{}: {why}", path.child(source)));
        }
        if let Some(claim) = volume.at(&["ephemeral", "volumeClaimTemplate", "spec"]) {
            let path = path.child("ephemeral").child("volumeClaimTemplate").child("spec");
            crate::hooks::core::claim_warnings(claim, &path, texts);
        }
    }
    for volume in volumes {
        paths::warnings(volume, texts);
    }
}

/// Terms without a selector.
fn null_selectors(spec: &Value, path: &Path, texts: &mut Vec<String>) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        for (list, within) in [(REQUIRED, ""), (PREFERRED, "podAffinityTerm")] {
            for (at, term) in cells::items(spec, &["affinity", kind, list]).iter().enumerate() {
                let path = path.child(kind).child(list).index(at);
                let (term, path) = match within {
                    "" => (Some(term), path),
                    within => (term.get(within), path.child(within)),
                };
                if term.is_none_or(|term| term.get("labelSelector").is_none()) {
                    texts.push(format!("{}: {NO_POD}", path.child("labelSelector")));
                }
            }
        }
    }
}

/// Addresses that are not written as they should be.
fn addresses(spec: &Value, path: &Path, texts: &mut Vec<String>) {
    let servers = path.child("dnsConfig").child("nameservers");
    for (at, server) in cells::items(spec, &["dnsConfig", "nameservers"]).iter().enumerate() {
        texts.extend(warn_of_ip(&servers.index(at), server.as_str().unwrap_or_default()));
    }
    for (at, alias) in cells::items(spec, &["hostAliases"]).iter().enumerate() {
        let path = path.child("hostAliases").index(at).child("ip");
        texts.extend(warn_of_ip(&path, alias.text_at(&["ip"])));
    }
}

fn labels(spec: &Value, path: &Path, texts: &mut Vec<String>) {
    let selector = spec.get("nodeSelector").and_then(Value::as_object);
    for key in selector.into_iter().flat_map(Object::keys) {
        if let Some(why) = old_labels::message(key) {
            texts.push(format!("{}: {why}", path.child("nodeSelector").key(key)));
        }
    }
    let affinity = path.child("affinity").child("nodeAffinity");
    let terms = cells::items(spec, &["affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"]);
    for (at, term) in terms.iter().enumerate() {
        old_labels::of_term(term, &affinity.child(REQUIRED).child("nodeSelectorTerms").index(at), texts);
    }
    for (at, wish) in cells::items(spec, &["affinity", "nodeAffinity", PREFERRED]).iter().enumerate() {
        if let Some(term) = wish.get("preference") {
            old_labels::of_term(term, &affinity.child(PREFERRED).index(at).child("preference"), texts);
        }
    }
    for (at, constraint) in cells::items(spec, &["topologySpreadConstraints"]).iter().enumerate() {
        let path = path.child("topologySpreadConstraints").index(at);
        let key = constraint.text_at(&["topologyKey"]);
        if let Some(why) = old_labels::message(key) {
            texts.push(format!("{}: {key} is {why}", path.child("topologyKey")));
        }
        if constraint.get("labelSelector").is_none() {
            texts.push(format!("{}: {NO_POD}", path.child("labelSelector")));
        }
    }
}

fn pull_secrets(spec: &Value, path: &Path, texts: &mut Vec<String>) {
    let secrets = || {
        let secrets = cells::items(spec, &["imagePullSecrets"]).iter().enumerate();
        secrets.map(|(at, secret)| (path.index(at).child("name"), secret.text_at(&["name"])))
    };
    let mut seen = HashSet::new();
    for (path, name) in secrets() {
        if !seen.insert(name) {
            texts.push(format!("{path}: duplicate name {}", quoted(name)));
        }
    }
    for (path, _) in secrets().filter(|(_, name)| name.is_empty()) {
        texts.push(format!("{path}: invalid empty name \"\""));
    }
}

/// Bytes come whole.
fn fraction(amount: &Value, path: &Path, texts: &mut Vec<String>) {
    if let Ok(amount) = Quantity::from_value(amount)
        && amount.milli_value() % 1000 != 0
    {
        let amount = quoted(&amount.to_string());
        texts.push(format!("{path}: fractional byte value {amount} is invalid, must be an integer"));
    }
}

/// The last variable of a name counts, unless it refers to an earlier one.
fn repeated_variables(container: &Value, path: &Path, texts: &mut Vec<String>) {
    let variables = cells::items(container, &["env"]);
    for (at, variable) in variables.iter().enumerate() {
        let name = variable.text_at(&["name"]);
        if !variables[..at].iter().any(|one| one.text_at(&["name"]) == name) {
            continue;
        }
        let (own, reference) = (variable.text_at(&["value"]), format!("$({name})"));
        let refers = own.contains(&reference) && own != reference && variable.get("valueFrom").is_none();
        if !refers {
            texts.push(format!(
                "{}: hides previous definition of {}, which may be dropped when using apply",
                path.index(at),
                quoted(name)
            ));
        }
    }
}
