//! What a node may say of itself, and of the claims whose volumes it grows.

use std::collections::{BTreeMap, BTreeSet};

use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_meta::status::Result;

use super::Asking;
use super::pods::set;
use crate::attributes::Operation;

const RESTRICTED: &str = "node-restriction.kubernetes.io";
/// Labels of Kubernetes' own that kubelets set.
const KUBELET_LABELS: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];
/// The domains of others.
const KUBELET_DOMAINS: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

pub(super) fn admit(asking: Asking<'_>) -> Result<()> {
    let Asking { node, request, object, old } = asking;
    let name = asking.name();
    if name != node {
        return asking.forbid(format!("node {node:?} is not allowed to modify node {name:?}"));
    }
    match (request.operation, object, old) {
        (Operation::Create, Some(new), _) => {
            if set(new, &["spec", "configSource"]).is_some() {
                return asking.forbid(format!(
                    "node {node:?} is not allowed to create pods with a non-nil configSource"
                ));
            }
            match forbidden_labels(new, None).as_str() {
                "" => Ok(()),
                labels => asking
                    .forbid(format!("node {node:?} is not allowed to set the following labels: {labels}")),
            }
        }
        (Operation::Update, Some(new), Some(old)) => update(asking, new, old),
        _ => Ok(()),
    }
}

fn update(asking: Asking<'_>, new: &Value, old: &Value) -> Result<()> {
    let node = asking.node;
    let same = |path: &[&str]| set(new, path) == set(old, path);
    if set(new, &["spec", "configSource"]).is_some() && !same(&["spec", "configSource"]) {
        return asking.forbid(format!(
            "node {node:?} is not allowed to update configSource to a new non-nil configSource"
        ));
    }
    if !same(&["spec", "taints"]) {
        return asking.forbid(format!("node {node:?} is not allowed to modify taints"));
    }
    // Who owns a node may have it deleted.
    if !same(&["metadata", "ownerReferences"]) {
        return asking.forbid(format!("node {node:?} is not allowed to modify ownerReferences"));
    }
    match forbidden_labels(new, Some(old)).as_str() {
        "" => Ok(()),
        labels => asking.forbid(format!("is not allowed to modify labels: {labels}")),
    }
}

/// The labels that differ and are not a kubelet's to set, sorted.
fn forbidden_labels(new: &Value, old: Option<&Value>) -> String {
    let new: BTreeMap<&str, &str> = object::labels(new).collect();
    let old: BTreeMap<&str, &str> = old.map(|old| object::labels(old).collect()).unwrap_or_default();
    let differing: BTreeSet<&str> =
        new.keys().chain(old.keys()).copied().filter(|key| new.get(key) != old.get(key)).collect();
    let forbidden: Vec<&str> = differing.into_iter().filter(|key| is_forbidden(key)).collect();
    forbidden.join(", ")
}

fn is_forbidden(label: &str) -> bool {
    let domain = label.split_once('/').map_or("", |(domain, _)| domain);
    let within =
        |of: &str| domain == of || domain.strip_suffix(of).is_some_and(|before| before.ends_with('.'));
    let kubelets = KUBELET_LABELS.contains(&label) || KUBELET_DOMAINS.into_iter().any(within);
    within(RESTRICTED) || ((within("kubernetes.io") || within("k8s.io")) && !kubelets)
}

/// A node tells how far the growing of a volume has got, nothing else.
pub(super) fn admit_claim(asking: Asking<'_>) -> Result<()> {
    let (Operation::Update, Some(new), Some(old)) = (asking.request.operation, asking.object, asking.old)
    else {
        return asking.forbid(format!("unexpected operation {:?}", asking.request.operation.as_str()));
    };
    let (new, old) = (kept(new), kept(old));
    if new == old {
        return Ok(());
    }
    asking.forbid(format!(
        "node {:?} is not allowed to update fields other than status.quantity and status.conditions: {}",
        asking.node,
        differing(&old, &new).join(", ")
    ))
}

/// A claim without what a node may change.
fn kept(claim: &Value) -> Value {
    const STATUS: [&str; 4] = ["capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"];
    let mut claim = claim.clone();
    let metadata = object::metadata_mut(&mut claim);
    metadata.remove("resourceVersion");
    metadata.remove("managedFields");
    if let Some(status) = claim.at_mut(&["status"]).and_then(Value::as_object_mut) {
        status.retain(|member, value| !STATUS.contains(&member) && !value.is_null());
        if status.is_empty()
            && let Some(members) = claim.as_object_mut()
        {
            members.remove("status");
        }
    }
    claim
}

/// The members of `metadata`, `spec` and `status` in which two objects differ.
fn differing(old: &Value, new: &Value) -> Vec<String> {
    let members = |value: &Value, part: &str| {
        let members = value.get(part).and_then(Value::as_object).into_iter().flat_map(Object::keys);
        members.map(ToString::to_string).collect::<BTreeSet<String>>()
    };
    ["metadata", "spec", "status"]
        .into_iter()
        .flat_map(|part| {
            let all: BTreeSet<String> = members(old, part).union(&members(new, part)).cloned().collect();
            let differs = move |member: &String| old.at(&[part, member]) != new.at(&[part, member]);
            all.into_iter().filter(differs).map(move |member| format!("{part}.{member}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_are_not_a_kubelets() {
        for (label, expected) in [
            ("mine", false),
            ("example.com/mine", false),
            ("kubernetes.io/hostname", false),
            ("beta.kubernetes.io/os", false),
            ("node.kubernetes.io/anything", false),
            ("x.kubelet.kubernetes.io/anything", false),
            ("node-role.kubernetes.io/control-plane", true),
            ("kubernetes.io/other", true),
            ("x.k8s.io/other", true),
            ("notkubernetes.io/other", false),
            ("node-restriction.kubernetes.io/x", true),
            ("a.node-restriction.kubernetes.io/x", true),
        ] {
            assert_eq!(is_forbidden(label), expected, "{label}");
        }
    }
}
