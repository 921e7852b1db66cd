//! Tokens of service accounts that a node asks for: those of its own pods, for whom the pods say.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Result;

use super::{Asking, node_name, pod};
use crate::attributes::Operation;
use crate::objects::Objects;
use crate::permits::{Ask, Permits};
use crate::plugins::values::{items, text};
use crate::pod_references::{ephemeral_claim, given};

pub(super) async fn admit(objects: &Objects, permits: &dyn Permits, asking: Asking<'_>) -> Result<()> {
    let (Operation::Create, Some(request)) = (asking.request.operation, asking.object) else {
        return Ok(());
    };
    let said = |member: &str| request.text_at(&["spec", "boundObjectRef", member]);
    if said("apiVersion") != "v1" || said("kind") != "Pod" || said("name").is_empty() {
        return asking.forbid("node requested token not bound to a pod");
    }
    let uid = said("uid");
    if uid.is_empty() {
        return asking.forbid("node requested token with a pod binding without a uid");
    }
    let pod = pod(objects, &asking, said("name")).await?;
    if object::uid(&pod) != uid {
        return asking.forbid(format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        ));
    }
    if node_name(&pod) != asking.node {
        return asking.forbid("node requested token bound to a pod scheduled on a different node");
    }
    audience(objects, permits, asking, request, &pod).await
}

/// A token is for whom its pod mounts tokens for, or for whom the node may ask besides.
async fn audience(
    objects: &Objects,
    permits: &dyn Permits,
    asking: Asking<'_>,
    request: &Value,
    pod: &Value,
) -> Result<()> {
    let mut audiences = items(request, &["spec", "audiences"]).filter_map(Value::as_str);
    let audience = audiences.next().unwrap_or_default();
    if audiences.next().is_some() {
        return asking.forbid("node may only request 0 or 1 audiences");
    }
    match mounted(objects, pod, audience).await? {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(why) => return asking.forbid(format!("error validating audience {audience:?}: {why}")),
    }
    let what = Ask {
        verb: "request-serviceaccounts-token-audience",
        group: "",
        version: "v1",
        resource: audience,
        namespace: asking.request.namespace,
        name: asking.request.name,
    };
    if permits.may(asking.request.user, what).await {
        return Ok(());
    }
    asking.forbid(format!(
        "audience {audience:?} not found in pod spec volume, {} is not authorized to request tokens for this audience",
        asking.request.user.name
    ))
}

/// Whether a volume of the pod needs tokens for an audience; or what could not be found out.
async fn mounted(
    objects: &Objects,
    pod: &Value,
    audience: &str,
) -> Result<std::result::Result<bool, String>> {
    let mut faults: Vec<String> = Vec::new();
    for volume in items(pod, &["spec", "volumes"]) {
        let projected = items(volume, &["projected", "sources"])
            .filter_map(|source| given(source, &["serviceAccountToken"]))
            .any(|token| text(token, "audience") == audience);
        if projected {
            return Ok(Ok(true));
        }
        let driver = match driver(objects, pod, volume).await? {
            Ok(driver) => driver,
            Err(why) => {
                faults.push(why);
                continue;
            }
        };
        if driver.is_empty() {
            continue;
        }
        match objects.get("storage.k8s.io", "csidrivers", "", &driver).await? {
            None => faults.push(format!("csidriver.storage.k8s.io {driver:?} not found")),
            Some(driver) => {
                if items(&driver, &["spec", "tokenRequests"]).any(|one| text(one, "audience") == audience) {
                    return Ok(Ok(true));
                }
            }
        }
    }
    Ok(match faults.as_slice() {
        [] => Ok(false),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    })
}

/// The driver of a volume; empty where it has none.
async fn driver(
    objects: &Objects,
    pod: &Value,
    volume: &Value,
) -> Result<std::result::Result<String, String>> {
    let claim = if given(volume, &["ephemeral", "volumeClaimTemplate"]).is_some() {
        ephemeral_claim(pod, volume)
    } else if let Some(claim) = given(volume, &["persistentVolumeClaim"]) {
        text(claim, "claimName").to_owned()
    } else {
        return Ok(Ok(volume.text_at(&["csi", "driver"]).to_owned()));
    };
    let namespace = object::namespace(pod);
    let Some(found) = objects.get("", "persistentvolumeclaims", namespace, &claim).await? else {
        return Ok(Err(format!("persistentvolumeclaim {claim:?} not found")));
    };
    let name = found.text_at(&["spec", "volumeName"]);
    match objects.get("", "persistentvolumes", "", name).await? {
        None => Ok(Err(format!("persistentvolume {name:?} not found"))),
        Some(volume) => Ok(Ok(volume.text_at(&["spec", "csi", "driver"]).to_owned())),
    }
}
