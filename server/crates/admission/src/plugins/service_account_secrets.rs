//! Which secrets a pod names, and whether its account may mount them.

use std::collections::BTreeSet;

use apiwright_json::Value;
use apiwright_meta::object;

use super::values::{items, text};

/// Where volumes name secrets: the way to the reference and the member with the name.
const VOLUME_REFERENCES: [(&[&str], &str); 8] = [
    (&["azureFile"], "secretName"),
    (&["cephfs", "secretRef"], "name"),
    (&["cinder", "secretRef"], "name"),
    (&["flexVolume", "secretRef"], "name"),
    (&["rbd", "secretRef"], "name"),
    (&["scaleIO", "secretRef"], "name"),
    (&["iscsi", "secretRef"], "name"),
    (&["storageos", "secretRef"], "name"),
];

/// Whether a pod names any secret.
pub(crate) fn names_secrets(pod: &Value) -> bool {
    let pulls = items(pod, &["spec", "imagePullSecrets"]).next().is_some();
    let in_containers = containers(pod).any(|(_, container)| {
        let from = items(container, &["envFrom"]).any(|from| from.get("secretRef").is_some());
        from || items(container, &["env"]).any(|env| env.at(&["valueFrom", "secretKeyRef"]).is_some())
    });
    pulls || in_containers || items(pod, &["spec", "volumes"]).any(volume_names_secret)
}

/// Refuses secrets that a pod's account does not list.
///
/// # Errors
/// Upstream's words for the first of them.
pub(crate) fn allowed_secrets(account: &Value, pod: &Value) -> Result<(), String> {
    let names =
        |member: &str| -> BTreeSet<&str> { items(account, &[member]).map(|one| text(one, "name")).collect() };
    let mountable = names("secrets");
    let account_name = object::name(account);
    for volume in items(pod, &["spec", "volumes"]) {
        let Some(secret) = volume.at(&["secret", "secretName"]).and_then(Value::as_str) else { continue };
        if !mountable.contains(secret) {
            return Err(format!(
                "volume with secret.secretName=\"{secret}\" is not allowed because service account {account_name} \
                 does not reference that secret"
            ));
        }
    }
    for (what, container) in containers(pod) {
        for env in items(container, &["env"]) {
            let Some(secret) = env.at(&["valueFrom", "secretKeyRef", "name"]).and_then(Value::as_str) else {
                continue;
            };
            if !mountable.contains(secret) {
                return Err(format!(
                    "{what} {} with envVar {} referencing secret.secretName=\"{secret}\" is not allowed because \
                     service account {account_name} does not reference that secret",
                    text(container, "name"),
                    text(env, "name")
                ));
            }
        }
    }
    let pullable = names("imagePullSecrets");
    for (at, reference) in items(pod, &["spec", "imagePullSecrets"]).enumerate() {
        let name = text(reference, "name");
        if !pullable.contains(name) {
            return Err(format!(
                "imagePullSecrets[{at}].name=\"{name}\" is not allowed because service account {account_name} does \
                 not reference that imagePullSecret"
            ));
        }
    }
    Ok(())
}

fn containers(pod: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    [
        ("init container", "initContainers"),
        ("container", "containers"),
        ("ephemeral container", "ephemeralContainers"),
    ]
    .into_iter()
    .flat_map(|(what, member)| items(pod, &["spec", member]).map(move |container| (what, container)))
}

fn volume_names_secret(volume: &Value) -> bool {
    volume.get("secret").is_some()
        || volume.at(&["csi", "nodePublishSecretRef"]).is_some()
        || items(volume, &["projected", "sources"]).any(|source| source.get("secret").is_some())
        || VOLUME_REFERENCES.iter().any(|(path, member)| {
            volume.at(path).is_some_and(|reference| !text(reference, member).is_empty())
        })
}
