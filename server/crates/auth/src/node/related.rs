//! What pods and volumes name, read of what is stored without decoding the rest.

use std::sync::{Arc, LazyLock};

use apiwright_admission::pod_references as references;
use apiwright_json::sparse::{Wanted, decode_wanted};
use apiwright_json::{Value, decode};
use apiwright_meta::object;

/// Kinds of objects that pods name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub(super) enum Related {
    Secret,
    ConfigMap,
    Claim,
    ServiceAccount,
    ResourceClaim,
}

impl Related {
    pub(super) const COUNT: usize = 5;
}

/// A pod on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pod {
    pub(super) node: Arc<str>,
    /// Objects of the pod's namespace, each once.
    pub(super) names: Box<[(Related, Box<str>)]>,
}

/// A volume that is somebody's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Volume {
    /// `namespace/name` of the claim.
    pub(super) claim: Box<str>,
    /// The same of the secrets that kubelets need for it.
    pub(super) secrets: Box<[Box<str>]>,
}

static OF_POD: LazyLock<Wanted> = LazyLock::new(|| {
    const ALWAYS: [&str; 9] = [
        "metadata.name",
        "metadata.annotations",
        "spec.nodeName",
        "spec.serviceAccountName",
        "spec.imagePullSecrets",
        "spec.volumes",
        "spec.resourceClaims",
        "status.resourceClaimStatuses",
        "status.extendedResourceClaimStatus",
    ];
    let containers = ["initContainers", "containers", "ephemeralContainers"];
    let paths = containers
        .iter()
        .flat_map(|one| [format!("spec.{one}.env.valueFrom"), format!("spec.{one}.envFrom")])
        .chain(ALWAYS.map(str::to_owned));
    Wanted::at(paths.collect::<Vec<_>>().iter().map(String::as_str))
});
static OF_SPEC: LazyLock<Wanted> = LazyLock::new(|| Wanted::at(["spec"]));
static NODE_NAME: LazyLock<Wanted> = LazyLock::new(|| Wanted::at(["spec.nodeName"]));

/// A stored pod, if it is on a node.
pub(super) fn pod(json: &[u8]) -> Option<Pod> {
    let pod = read(json, &OF_POD)?;
    let node = pod.text_at(&["spec", "nodeName"]);
    if node.is_empty() {
        return None;
    }
    let mut names = Vec::new();
    // A node must not be able to make a pod that opens other objects to it.
    if object::annotation(&pod, references::MIRROR_POD).is_none() {
        let mut add = |kind: Related, name: &str| names.push((kind, name.into()));
        let account = pod.text_at(&["spec", "serviceAccountName"]);
        if !account.is_empty() {
            add(Related::ServiceAccount, account);
        }
        references::secrets(&pod).for_each(|name| add(Related::Secret, name));
        references::config_maps(&pod).for_each(|name| add(Related::ConfigMap, name));
        references::volume_claims(&pod).for_each(|name| add(Related::Claim, &name));
        references::resource_claims(&pod).for_each(|name| add(Related::ResourceClaim, name));
        names.sort_unstable();
        names.dedup();
    }
    Some(Pod { node: node.into(), names: names.into() })
}

/// A stored volume, if it is somebody's.
pub(super) fn volume(json: &[u8]) -> Option<Volume> {
    const IN_TREE: [&str; 6] = ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi"];
    const OF_NODES: [&str; 3] = ["nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"];
    let volume = read(json, &OF_SPEC)?;
    let spec = volume.get("spec")?;
    let claim = spec.get("claimRef").filter(|claim| !claim.is_null())?;
    let namespace = claim.text_at(&["namespace"]);
    let mut secrets = Vec::new();
    let mut add = |its: &str, default: &str, name: &str| {
        let namespace = if its.is_empty() { default } else { its };
        secrets.push(format!("{namespace}/{name}").into());
    };
    if let Some(azure) = spec.get("azureFile").filter(|azure| !azure.is_null()) {
        add(azure.text_at(&["secretNamespace"]), namespace, azure.text_at(&["secretName"]));
    }
    let reference = |source: &str, member: &str| spec.at(&[source, member]).filter(|one| !one.is_null());
    for source in IN_TREE {
        if let Some(secret) = reference(source, "secretRef") {
            add(secret.text_at(&["namespace"]), namespace, secret.text_at(&["name"]));
        }
    }
    let elsewhere = OF_NODES.into_iter().filter_map(|member| reference("csi", member));
    for secret in reference("storageos", "secretRef").into_iter().chain(elsewhere) {
        add(secret.text_at(&["namespace"]), "", secret.text_at(&["name"]));
    }
    let claim = format!("{namespace}/{}", claim.text_at(&["name"])).into();
    Some(Volume { claim, secrets: secrets.into() })
}

/// The node that a stored attachment or slice is of.
pub(super) fn node_name(json: &[u8]) -> Option<Box<str>> {
    let object = read(json, &NODE_NAME)?;
    Some(object.text_at(&["spec", "nodeName"])).filter(|name| !name.is_empty()).map(Into::into)
}

fn read(json: &[u8], wanted: &Wanted) -> Option<Value> {
    decode_wanted(json, wanted).or_else(|| decode(json).ok().map(|(value, _)| value))
}
