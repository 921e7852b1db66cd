//! Nodes.

mod validate;

use std::collections::BTreeSet;

use apiwright_json::Value;
use apiwright_meta::address::warn_of_cidr;
use apiwright_meta::{ErrorList, Path, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::cells::{self, NONE};

/// The hooks of Nodes.
#[derive(Debug)]
pub struct Node;

impl Hooks for Node {
    /// What a node has, it can give away, until it says otherwise.
    fn default(&self, object: &mut Value) {
        pair_networks(object);
        let Some(status) = object.at_mut(&["status"]).and_then(Value::as_object_mut) else { return };
        if let Some(capacity) = status.get("capacity").cloned() {
            status.entry("allocatable", || capacity);
        }
    }

    /// Configuration by way of nodes is gone: it is dropped, unless the node has it already.
    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        drop_config(object, None);
    }

    fn prepare_update(&self, _context: WriteContext<'_>, object: &mut Value, old: &Value) {
        drop_config(object, Some(old));
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::node(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        if context.subresource == "status" {
            validate::status(object, old, errors);
        } else {
            validate::update(object, old, errors);
        }
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut texts = Vec::new();
        if object.at(&["spec", "configSource"]).is_some() {
            texts.push("spec.configSource: the feature is no longer supported".into());
        }
        if !object.text_at(&["spec", "externalID"]).is_empty() {
            texts.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".into());
        }
        for (at, network) in cells::items(object, &["spec", "podCIDRs"]).iter().enumerate() {
            let path = Path::new("spec").child("podCIDRs").index(at);
            texts.extend(warn_of_cidr(&path, network.as_str().unwrap_or_default()));
        }
        texts
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Status" => status(object).into(),
            "Roles" => roles(object).into(),
            "Internal-IP" => address(object, "InternalIP").into(),
            "External-IP" => address(object, "ExternalIP").into(),
            "Kernel-Version" => kernel(object).into(),
            _ => Value::Null,
        }
    }
}

fn drop_config(object: &mut Value, old: Option<&Value>) {
    for (part, member) in [("spec", "configSource"), ("status", "config")] {
        let is_new = old.is_none_or(|old| old.at(&[part, member]).is_none());
        if let Some(part) = object.at_mut(&[part]).and_then(Value::as_object_mut).filter(|_| is_new) {
            part.remove(member);
        }
    }
}

/// `podCIDR` is the first of `podCIDRs`; where they differ, clients that know only the one are right.
fn pair_networks(object: &mut Value) {
    let Some(spec) = object.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
    let one = spec.str("podCIDR").unwrap_or_default().to_owned();
    let first = spec.get("podCIDRs").and_then(Value::as_array).and_then(|all| all.first()).cloned();
    let first = first.as_ref().and_then(Value::as_str).unwrap_or_default();
    if one.is_empty() && !first.is_empty() {
        spec.insert("podCIDR", first);
    } else if one != first {
        spec.insert("podCIDRs", vec![Value::from(one.as_str())]);
    }
}

/// `Ready`, `NotReady`, `Unknown`, with `,SchedulingDisabled` where it is cordoned.
fn status(object: &Value) -> String {
    let ready = cells::items(object, &["status", "conditions"])
        .iter()
        .find(|condition| condition.text_at(&["type"]) == "Ready")
        .map(|condition| condition.text_at(&["status"]) == "True");
    let status = match ready {
        Some(true) => "Ready",
        Some(false) => "NotReady",
        None => "Unknown",
    };
    let cordoned = object.at(&["spec", "unschedulable"]).and_then(Value::as_bool).unwrap_or_default();
    if cordoned { format!("{status},SchedulingDisabled") } else { status.into() }
}

/// `6.1.0 (amd64)`
fn kernel(node: &Value) -> String {
    let info = |name| node.text_at(&["status", "nodeInfo", name]);
    match (info("kernelVersion"), info("architecture")) {
        ("", _) => cells::UNKNOWN.into(),
        (version, "") => version.into(),
        (version, architecture) => format!("{version} ({architecture})"),
    }
}

/// The roles that the labels tell, sorted.
fn roles(node: &Value) -> String {
    let mut roles = BTreeSet::new();
    for (key, value) in object::labels(node) {
        match key.strip_prefix("node-role.kubernetes.io/") {
            Some("") => {}
            Some(role) => {
                roles.insert(role);
            }
            None if key == "kubernetes.io/role" && !value.is_empty() => {
                roles.insert(value);
            }
            None => {}
        }
    }
    cells::join(roles, ",")
}

fn address(object: &Value, kind: &str) -> String {
    cells::items(object, &["status", "addresses"])
        .iter()
        .find(|address| address.text_at(&["type"]) == kind)
        .map_or(NONE, |address| address.text_at(&["address"]))
        .into()
}
