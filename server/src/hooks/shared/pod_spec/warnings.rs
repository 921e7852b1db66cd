//! What is allowed in pods and should not be done.
//!
//! An update warns as a creation does, but for templates: those that did not change are silent.

use std::collections::HashSet;

use apiwright_json::{Object, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{Path, names, object};

use super::CONTAINER_LISTS;
use crate::hooks::shared::cells;

/// Labels of nodes that have other names now.
const OLD_LABELS: [(&str, &str); 6] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

/// Sources of volumes that are going or gone.
const OLD_SOURCES: [(&str, &str); 13] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
    ("awsElasticBlockStore", "deprecated in v1.17, non-functional in v1.27+"),
    ("azureDisk", "deprecated in v1.19, non-functional in v1.27+"),
    ("cinder", "deprecated in v1.18, non-functional in v1.26+"),
    ("gcePersistentDisk", "deprecated in v1.17, non-functional in v1.28+"),
];

/// Warnings about a pod.
pub fn pod(pod: &Value, old: Option<&Value>) -> Vec<String> {
    let mut texts = Vec::new();
    let name = object::name(pod);
    if old.is_none() && !name.is_empty() {
        let faults = names::dns1123_label(name);
        if !faults.is_empty() {
            let mut faults: Vec<&str> = faults.iter().map(String::as_str).collect();
            if name.contains('.') {
                faults = vec!["must not contain dots"];
            }
            texts.push(format!(
                "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; \
                 a DNS label is recommended: [{}]",
                faults.join(" ")
            ));
        }
    }
    spec(pod.get("spec"), &Path::new("spec"), &mut texts);
    texts
}

/// Warnings about the pod template at a path of a workload, where it is new or another one.
pub fn template(object: &Value, old: Option<&Value>, at: &[&str]) -> Vec<String> {
    let mut texts = Vec::new();
    let (template, before) = (object.at(at), old.and_then(|old| old.at(at)));
    if old.is_none() || template != before {
        let path = at.iter().fold(Path::default(), |path, member| path.child(member));
        spec(template.and_then(|template| template.get("spec")), &path.child("spec"), &mut texts);
    }
    texts
}

fn spec(spec: Option<&Value>, path: &Path, texts: &mut Vec<String>) {
    let Some(spec) = spec else { return };
    old_labels(spec, path, texts);
    for (at, alias) in cells::items(spec, &["hostAliases"]).iter().enumerate() {
        let ip = alias.text_at(&["ip"]);
        let earlier = &cells::items(spec, &["hostAliases"])[..at];
        if earlier.iter().any(|one| one.text_at(&["ip"]) == ip) {
            let path = path.child("hostAliases").index(at).child("ip");
            texts.push(format!("{path}: duplicate ip {}", quoted(ip)));
        }
    }
    pull_secrets(spec, &path.child("imagePullSecrets"), texts);
    for (at, volume) in cells::items(spec, &["volumes"]).iter().enumerate() {
        for (source, why) in OLD_SOURCES.iter().filter(|(source, _)| volume.get(source).is_some()) {
            texts.push(format!("{}: {why}", path.child("volumes").index(at).child(source)));
        }
    }
    if let Some(overhead) = spec.get("overhead") {
        fractions(overhead, &path.child("overhead"), texts);
    }
    for list in CONTAINER_LISTS {
        for (at, container) in cells::items(spec, &[list]).iter().enumerate() {
            let path = path.child(list).index(at);
            for kind in ["limits", "requests"] {
                if let Some(amounts) = container.at(&["resources", kind]) {
                    fractions(amounts, &path.child("resources").child(kind), texts);
                }
            }
            repeated_variables(container, &path.child("env"), texts);
        }
    }
    repeated_ports(spec, path, texts);
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        let path = path.child("terminationGracePeriodSeconds");
        texts.push(format!("{path}: must be >= 0; negative values are invalid and will be treated as 1"));
    }
}

fn old_labels(spec: &Value, path: &Path, texts: &mut Vec<String>) {
    let selector = spec.get("nodeSelector").and_then(Value::as_object);
    for key in selector.into_iter().flat_map(Object::keys) {
        if let Some((_, why)) = OLD_LABELS.iter().find(|(old, _)| old == key) {
            texts.push(format!("{}: {why}", path.child("nodeSelector").key(key)));
        }
    }
    let affinity = path.child("affinity").child("nodeAffinity");
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let terms = cells::items(spec, &["affinity", "nodeAffinity", required, "nodeSelectorTerms"]);
    for (at, term) in terms.iter().enumerate() {
        old_keys(term, &affinity.child(required).child("nodeSelectorTerms").index(at), texts);
    }
    for (at, wish) in cells::items(spec, &["affinity", "nodeAffinity", preferred]).iter().enumerate() {
        if let Some(term) = wish.get("preference") {
            old_keys(term, &affinity.child(preferred).index(at).child("preference"), texts);
        }
    }
    for (at, constraint) in cells::items(spec, &["topologySpreadConstraints"]).iter().enumerate() {
        let key = constraint.text_at(&["topologyKey"]);
        if let Some((_, why)) = OLD_LABELS.iter().find(|(old, _)| *old == key) {
            let path = path.child("topologySpreadConstraints").index(at).child("topologyKey");
            texts.push(format!("{path}: {key} is {why}"));
        }
    }
}

fn old_keys(term: &Value, path: &Path, texts: &mut Vec<String>) {
    for (at, expression) in cells::items(term, &["matchExpressions"]).iter().enumerate() {
        let key = expression.text_at(&["key"]);
        if let Some((_, why)) = OLD_LABELS.iter().find(|(old, _)| *old == key) {
            let path = path.child("matchExpressions").index(at).child("key");
            texts.push(format!("{path}: {key} is {why}"));
        }
    }
}

fn pull_secrets(spec: &Value, path: &Path, texts: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for (at, secret) in cells::items(spec, &["imagePullSecrets"]).iter().enumerate() {
        let (path, name) = (path.index(at).child("name"), secret.text_at(&["name"]));
        if name.is_empty() {
            texts.push(format!("{path}: invalid empty name \"\""));
        } else if !seen.insert(name) {
            texts.push(format!("{path}: duplicate name {}", quoted(name)));
        }
    }
}

/// Bytes come whole.
fn fractions(amounts: &Value, path: &Path, texts: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        let Some(amount) = amounts.get(name).and_then(|amount| Quantity::from_value(amount).ok()) else {
            continue;
        };
        if amount.milli_value() % 1000 != 0 {
            let (path, amount) = (path.key(name), quoted(&amount.to_string()));
            texts.push(format!("{path}: fractional byte value {amount} is invalid, must be an integer"));
        }
    }
}

/// The last variable of a name counts, unless it refers to an earlier one.
fn repeated_variables(container: &Value, path: &Path, texts: &mut Vec<String>) {
    let variables = cells::items(container, &["env"]);
    for (at, variable) in variables.iter().enumerate() {
        let name = variable.text_at(&["name"]);
        let before = variables[..at].iter().find(|one| one.text_at(&["name"]) == name);
        let refers = variable.text_at(&["value"]).contains(&format!("$({name})"));
        if before.is_some() && !refers {
            texts.push(format!(
                "{}: hides previous definition of {}, which may be dropped when using apply",
                path.index(at),
                quoted(name)
            ));
        }
    }
}

/// One port is said once, in the whole pod.
fn repeated_ports(spec: &Value, path: &Path, texts: &mut Vec<String>) {
    let mut seen: Vec<(i64, &str, i64, &str, Path)> = Vec::new();
    for (at, container) in cells::items(spec, &["containers"]).iter().enumerate() {
        for (index, port) in cells::items(container, &["ports"]).iter().enumerate() {
            let number = |member: &str| port.get(member).and_then(Value::as_i64).unwrap_or_default();
            let path = path.child("containers").index(at).child("ports").index(index);
            let own = (
                number("containerPort"),
                port.text_at(&["protocol"]),
                number("hostPort"),
                port.text_at(&["hostIP"]),
            );
            let same = seen.iter().find(|one| (one.0, one.1) == (own.0, own.1));
            match same {
                Some(one) if (one.2, one.3) == (own.2, own.3) => {
                    texts.push(format!("{path}: duplicate port definition with {}", one.4));
                }
                Some(one) if one.2 == 0 || own.2 == 0 => {
                    texts.push(format!("{path}: overlapping port definition with {}", one.4));
                }
                _ => {}
            }
            seen.push((own.0, own.1, own.2, own.3, path));
        }
    }
}
