//! Which other objects of its namespace a pod names.
//!
//! Position: what plugins and the node authorizer ask about pods. Works on whole pods and on parts of them: what is
//! absent names nothing.

use apiwright_json::Value;
use apiwright_meta::object;

use crate::plugins::values::{items, text};

/// The annotation of a pod that stands for one which a kubelet has from elsewhere.
pub const MIRROR_POD: &str = "kubernetes.io/config.mirror";

/// The volumes that name a secret by a reference.
const BY_REFERENCE: [&str; 7] = ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"];

/// The secrets.
pub fn secrets(pod: &Value) -> impl Iterator<Item = &str> {
    let pulls = items(pod, &["spec", "imagePullSecrets"]).map(|one| text(one, "name"));
    let in_containers = containers(pod).flat_map(|(_, container)| {
        let from = items(container, &["envFrom"]).filter_map(|from| from.get("secretRef"));
        let env = items(container, &["env"]).filter_map(|env| env.at(&["valueFrom", "secretKeyRef"]));
        from.chain(env).filter(|one| !one.is_null()).map(|one| text(one, "name"))
    });
    pulls.chain(in_containers).chain(items(pod, &["spec", "volumes"]).flat_map(volume_secrets))
}

fn volume_secrets(volume: &Value) -> impl Iterator<Item = &str> {
    let named = |path: &[&str], member: &str| given(volume, path).map(|one| one.text_at(&[member]));
    let azure = named(&["azureFile"], "secretName").filter(|name| !name.is_empty());
    let by_reference = BY_REFERENCE.iter().filter_map(move |kind| given(volume, &[kind, "secretRef"]));
    let projected = items(volume, &["projected", "sources"]).filter_map(|one| given(one, &["secret"]));
    azure
        .into_iter()
        .chain(named(&["secret"], "secretName"))
        .chain(named(&["csi", "nodePublishSecretRef"], "name"))
        .chain(by_reference.chain(projected).map(|one| text(one, "name")))
}

/// The ConfigMaps.
pub fn config_maps(pod: &Value) -> impl Iterator<Item = &str> {
    let in_containers = containers(pod).flat_map(|(_, container)| {
        let from = items(container, &["envFrom"]).filter_map(|from| given(from, &["configMapRef"]));
        let env = items(container, &["env"]).filter_map(|env| given(env, &["valueFrom", "configMapKeyRef"]));
        from.chain(env)
    });
    let in_volumes = items(pod, &["spec", "volumes"]).flat_map(|volume| {
        let projected = items(volume, &["projected", "sources"]).filter_map(|one| given(one, &["configMap"]));
        given(volume, &["configMap"]).into_iter().chain(projected)
    });
    in_containers.chain(in_volumes).map(|one| text(one, "name"))
}

/// The claims for volumes, those that are made for the pod's own volumes among them.
pub fn volume_claims(pod: &Value) -> impl Iterator<Item = String> {
    let of_volume = |volume: &Value| match given(volume, &["persistentVolumeClaim"]) {
        Some(claim) => Some(text(claim, "claimName").to_owned()),
        None => given(volume, &["ephemeral"]).map(|_| ephemeral_claim(pod, volume)),
    };
    items(pod, &["spec", "volumes"]).filter_map(of_volume).filter(|name| !name.is_empty())
}

/// The claim that is made for a volume which lives as long as its pod.
pub fn ephemeral_claim(pod: &Value, volume: &Value) -> String {
    format!("{}-{}", object::name(pod), text(volume, "name"))
}

/// The claims for devices that there are, be they named or made.
pub fn resource_claims(pod: &Value) -> impl Iterator<Item = &str> {
    let named = items(pod, &["spec", "resourceClaims"]).filter_map(|claim| {
        let made = |_| {
            items(pod, &["status", "resourceClaimStatuses"])
                .find(|status| text(status, "name") == text(claim, "name"))
                .and_then(|status| given(status, &["resourceClaimName"]))
        };
        given(claim, &["resourceClaimName"])
            .or_else(|| given(claim, &["resourceClaimTemplateName"]).and_then(made))
            .and_then(Value::as_str)
    });
    let extended = pod.at(&["status", "extendedResourceClaimStatus", "resourceClaimName"]);
    named.chain(extended.and_then(Value::as_str).filter(|name| !name.is_empty()))
}

/// The kind of objects that a pod names first, as refusals of such pods tell it.
///
/// # Errors
/// For a volume of which it cannot be told.
pub fn first_kind(pod: &Value) -> Result<Option<&'static str>, String> {
    if !pod.text_at(&["spec", "serviceAccountName"]).is_empty() {
        return Ok(Some("serviceaccounts"));
    }
    if secrets(pod).next().is_some() {
        return Ok(Some("secrets"));
    }
    if config_maps(pod).next().is_some() {
        return Ok(Some("configmaps"));
    }
    if items(pod, &["spec", "resourceClaims"]).next().is_some() {
        return Ok(Some("resourceclaims"));
    }
    items(pod, &["spec", "volumes"]).find_map(|volume| volume_kind(volume).transpose()).transpose()
}

fn volume_kind(volume: &Value) -> Result<Option<&'static str>, String> {
    const ALONE: [&str; 21] = [
        "awsElasticBlockStore",
        "azureDisk",
        "cephfs",
        "cinder",
        "downwardAPI",
        "emptyDir",
        "fc",
        "flexVolume",
        "flocker",
        "gcePersistentDisk",
        "gitRepo",
        "hostPath",
        "image",
        "iscsi",
        "nfs",
        "photonPersistentDisk",
        "portworxVolume",
        "quobyte",
        "rbd",
        "scaleIO",
        "storageos",
    ];
    const NAMING: [(&str, &str); 7] = [
        ("configMap", "configmaps (via configmap volumes)"),
        ("secret", "secrets (via secret volumes)"),
        ("csi", "csidrivers (via CSI volumes)"),
        ("glusterfs", "endpoints (via glusterFS volumes)"),
        ("persistentVolumeClaim", "persistentvolumeclaims"),
        ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
        ("azureFile", "secrets (via azureFile volumes)"),
    ];
    const PROJECTED: [(&str, &str); 5] = [
        ("configMap", "configmaps (via projected volumes)"),
        ("secret", "secrets (via projected volumes)"),
        ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
        ("clusterTrustBundle", "clustertrustbundles"),
        ("podCertificate", "podcertificates"),
    ];
    let has = |value: &Value, member: &str| given(value, &[member]).is_some();
    if ALONE.iter().chain(&["vsphereVolume"]).any(|member| has(volume, member)) {
        return Ok(None);
    }
    if let Some((_, kind)) = NAMING.iter().find(|(member, _)| has(volume, member)) {
        return Ok(Some(kind));
    }
    if !has(volume, "projected") {
        return Err(format!("unknown volume type for volume  {:?}", text(volume, "name")));
    }
    for source in items(volume, &["projected", "sources"]) {
        if let Some((_, kind)) = PROJECTED.iter().find(|(member, _)| has(source, member)) {
            return Ok(Some(kind));
        }
        if !has(source, "downwardAPI") {
            return Err(format!("unknown source for projected volume {:?}", text(volume, "name")));
        }
    }
    Ok(None)
}

/// All containers, with what refusals call them.
pub(crate) fn containers(pod: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    [
        ("init container", "initContainers"),
        ("container", "containers"),
        ("ephemeral container", "ephemeralContainers"),
    ]
    .into_iter()
    .flat_map(|(what, member)| items(pod, &["spec", member]).map(move |container| (what, container)))
}

/// What is at the end of a walk, if it is not null.
pub(crate) fn given<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    value.at(path).filter(|one| !one.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Secrets, ConfigMaps, claims for volumes and for devices.
    type Named = [&'static [&'static str]; 4];

    #[test]
    fn what_pods_name() {
        #[rustfmt::skip]
        let table: &[(&str, Named, Option<&str>)] = &[
            ("{}", [&[], &[], &[], &[]], None),
            (r#"{"spec":{"serviceAccountName":"a"}}"#, [&[], &[], &[], &[]], Some("serviceaccounts")),
            (r#"{"spec":{"imagePullSecrets":[{"name":"p"}],"containers":[{"envFrom":[{"secretRef":{"name":"f"}},{"configMapRef":{"name":"m"}}],"env":[{"valueFrom":{"secretKeyRef":{"name":"k"}}}]}]}}"#, [&["p", "f", "k"], &["m"], &[], &[]], Some("secrets")),
            (r#"{"spec":{"volumes":[{"name":"v","secret":{"secretName":"s"}},{"name":"w","configMap":{"name":"c"}}]}}"#, [&["s"], &["c"], &[], &[]], Some("secrets")),
            (r#"{"spec":{"volumes":[{"name":"v","rbd":{"secretRef":{"name":"s"}}},{"name":"c","csi":{"nodePublishSecretRef":{"name":"n"}}}]}}"#, [&["s", "n"], &[], &[], &[]], Some("secrets")),
            (r#"{"spec":{"ephemeralContainers":[{"env":[{"valueFrom":{"configMapKeyRef":{"name":"e"}}}]}]}}"#, [&[], &["e"], &[], &[]], Some("configmaps")),
            (r#"{"metadata":{"name":"p"},"spec":{"volumes":[{"name":"v","ephemeral":{}},{"name":"w","persistentVolumeClaim":{"claimName":"c"}}]}}"#, [&[], &[], &["p-v", "c"], &[]], Some("persistentvolumeclaims (via ephemeral volumes)")),
            (r#"{"spec":{"resourceClaims":[{"name":"a","resourceClaimName":"x"},{"name":"b","resourceClaimTemplateName":"t"},{"name":"c","resourceClaimTemplateName":"t"}]},"status":{"resourceClaimStatuses":[{"name":"b","resourceClaimName":"y"}],"extendedResourceClaimStatus":{"resourceClaimName":"z"}}}"#, [&[], &[], &[], &["x", "y", "z"]], Some("resourceclaims")),
            (r#"{"spec":{"volumes":[{"name":"v","projected":{"sources":[{"downwardAPI":{}},{"serviceAccountToken":{}}]}}]}}"#, [&[], &[], &[], &[]], Some("serviceaccounts (via projected volumes)")),
            (r#"{"spec":{"volumes":[{"name":"v","hostPath":{}},{"name":"e","emptyDir":{}}]}}"#, [&[], &[], &[], &[]], None),
        ];
        for (json, [its_secrets, maps, claims, devices], kind) in table {
            let pod = apiwright_json::decode(json.as_bytes()).unwrap().0;
            assert_eq!(secrets(&pod).collect::<Vec<_>>(), *its_secrets, "{json}");
            assert_eq!(config_maps(&pod).collect::<Vec<_>>(), *maps, "{json}");
            assert_eq!(volume_claims(&pod).collect::<Vec<_>>(), *claims, "{json}");
            assert_eq!(resource_claims(&pod).collect::<Vec<_>>(), *devices, "{json}");
            assert_eq!(first_kind(&pod), Ok(*kind), "{json}");
        }
        let odd = apiwright_json::decode(br#"{"spec":{"volumes":[{"name":"v","new":{}}]}}"#).unwrap().0;
        assert_eq!(first_kind(&odd), Err("unknown volume type for volume  \"v\"".into()));
    }
}
