//! Whether a pod's account may mount the secrets that the pod names.

use std::collections::BTreeSet;

use apiwright_json::Value;
use apiwright_meta::object;

use super::values::{items, text};
use crate::pod_references::containers;

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
