//! What a node may do with pods: make and delete those that mirror its own, tell how its pods are, evict them.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::{Result, Status};

use super::{Asking, node_name, pod};
use crate::attributes::Operation;
use crate::objects::Objects;
use crate::pod_references::{MIRROR_POD, first_kind};

pub(super) async fn admit(objects: &Objects, asking: Asking<'_>) -> Result<()> {
    let Asking { node, request, object, old } = asking;
    let operation = request.operation;
    match (request.subresource, operation, object, old) {
        ("", Operation::Create, Some(new), _) => create(objects, asking, new).await,
        ("", Operation::Delete, _, old) => {
            let found = match old {
                Some(_) => None,
                None => Some(pod(objects, &asking, request.name).await?),
            };
            match old.or(found.as_ref()) {
                Some(pod) if node_name(pod) == node => Ok(()),
                _ => asking
                    .forbid(format!("node {node:?} can only delete pods with spec.nodeName set to itself")),
            }
        }
        ("", ..) => asking.forbid(format!(
            "unexpected operation {:?}, node {node:?} can only create and delete mirror pods",
            operation.as_str()
        )),
        ("status", Operation::Update, Some(new), Some(old)) => status(asking, new, old),
        ("status", ..) => asking.forbid(format!("unexpected operation {:?}", operation.as_str())),
        ("eviction", Operation::Create, ..) => {
            let name = asking.name();
            if name.is_empty() {
                return asking.forbid("could not determine pod from request data");
            }
            let pod = pod(objects, &asking, name).await?;
            if node_name(&pod) == node {
                return Ok(());
            }
            asking.forbid(format!("node {node} can only evict pods with spec.nodeName set to itself"))
        }
        ("eviction", ..) => asking.forbid(format!("unexpected operation {}", operation.as_str())),
        (other, ..) => asking.forbid(format!(
            "unexpected pod subresource {other:?}, only 'status' and 'eviction' are allowed"
        )),
    }
}

async fn create(objects: &Objects, asking: Asking<'_>, new: &Value) -> Result<()> {
    let node = asking.node;
    if object::annotation(new, MIRROR_POD).is_none() {
        return asking.forbid(format!(
            "pod does not have {MIRROR_POD:?} annotation, node {node:?} can only create mirror pods"
        ));
    }
    if node_name(new) != node {
        return asking.forbid(format!("node {node:?} can only create pods with spec.nodeName set to itself"));
    }
    owner(objects, asking, new).await?;
    match first_kind(new) {
        Ok(None) => Ok(()),
        Ok(Some(kind)) => asking.forbid(format!("node {node:?} can not create pods that reference {kind}")),
        Err(why) => asking.forbid(format!("error checking mirror pod for API references: {why}")),
    }
}

/// A mirror pod goes with its node.
async fn owner(objects: &Objects, asking: Asking<'_>, new: &Value) -> Result<()> {
    let node = asking.node;
    let mut owners = object::owner_references(new);
    let (owner, others) = (owners.next(), owners.next());
    if others.is_some() {
        return asking.forbid(format!(
            "node {node:?} can only create pods with a single owner reference set to itself"
        ));
    }
    let itself = |owner: &object::OwnerReference<'_>| {
        owner.api_version == "v1" && owner.kind == "Node" && owner.name == node
    };
    let Some(owner) = owner.filter(itself) else {
        return asking
            .forbid(format!("node {node:?} can only create pods with an owner reference set to itself"));
    };
    if !owner.controller {
        return asking.forbid(format!(
            "node {node:?} can only create pods with a controller owner reference set to itself"
        ));
    }
    if owner.block_owner_deletion {
        return asking.forbid(format!("node {node:?} must not set blockOwnerDeletion on an owner reference"));
    }
    let Some(found) = objects.get("", "nodes", "", node).await? else {
        let nodes = apiwright_meta::GroupResource { group: "".into(), resource: "nodes".into() };
        return Err(Status::not_found(&nodes, node));
    };
    let uid = object::uid(&found);
    if owner.uid == uid {
        return Ok(());
    }
    asking.forbid(format!("node {node} UID mismatch: expected {} got {uid}", owner.uid))
}

fn status(asking: Asking<'_>, new: &Value, old: &Value) -> Result<()> {
    let node = asking.node;
    if node_name(old) != node {
        return asking.forbid(format!(
            "node {node:?} can only update pod status for pods with spec.nodeName set to itself"
        ));
    }
    let same = |path: &[&str]| set(new, path) == set(old, path);
    if !same(&["metadata", "labels"]) {
        return asking.forbid(format!("node {node:?} cannot update labels through pod status"));
    }
    if !same(&["status", "resourceClaimStatuses"]) {
        // The slip of the pen is upstream's.
        return asking.forbid(format!("node {node:?} cannot update resource claim statues"));
    }
    if !same(&["status", "extendedResourceClaimStatus"]) {
        return asking.forbid(format!("node {node:?} cannot update extended resource claim status"));
    }
    Ok(())
}

/// What is set; nothing, null and empty are the same.
pub(super) fn set<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    value.at(path).filter(|one| match one {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    })
}
