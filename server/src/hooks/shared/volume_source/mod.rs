//! Sources of volumes, as pods and `PersistentVolumes` have them in common.
//!
//! Faults are said in upstream's order, those that the schema's words found among them.

mod block;
mod network;
mod paths;

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{Path, names};

use super::faults::Faults;
use super::storage_driver;

pub use paths::{descending, local, no_steps_back};

/// What a source belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Of<'a> {
    /// A volume of a pod, with its name.
    Pod(&'a str),
    /// A `PersistentVolume` of this name.
    Volume(&'a str),
}

impl Of<'_> {
    fn is_pod(self) -> bool {
        matches!(self, Self::Pod(_))
    }

    fn name(&self) -> &str {
        match self {
            Self::Pod(name) | Self::Volume(name) => name,
        }
    }
}

/// The faults of a source; `path` is that of the volume.
pub fn faults(kind: &str, source: &Value, of: Of<'_>, path: &Path, out: &mut Faults<'_>) {
    let own = path.child(kind);
    match kind {
        "hostPath" => host_path(source, &own, out),
        "local" => local_disk(source, &own, out),
        "gcePersistentDisk" => block::partitioned(source, "pdName", &own, &path.child("persistentDisk"), out),
        "awsElasticBlockStore" => {
            block::partitioned(source, "volumeID", &own, &path.child("persistentDisk"), out);
        }
        "azureDisk" => block::azure_disk(source, &own, out),
        "fc" => block::fibre_channel(source, &own, out),
        "iscsi" => block::iscsi(source, of, path, out),
        "nfs" => network::nfs(source, &own, out),
        "glusterfs" => network::gluster(source, &own, out),
        "flocker" => network::flocker(source, &own, out),
        "quobyte" => network::quobyte(source, &own, out),
        "storageos" => network::storage_os(source, of, &own, out),
        "flexVolume" => network::flex(source, &own, out),
        "cinder" => {
            out.declared_below(&own);
            secret(source, of, &own, out);
        }
        "azureFile" => {
            out.declared_below(&own);
            if source.get("secretNamespace").and_then(Value::as_str) == Some("") {
                out.required(own.child("secretNamespace"), "");
            }
        }
        "csi" => csi(source, of, &own, out),
        _ => {}
    }
    out.declared_below(&own);
}

fn host_path(source: &Value, own: &Path, out: &mut Faults<'_>) {
    let path = source.text_at(&["path"]);
    out.declared(&own.child("path"));
    if path.is_empty() {
        out.drop_below(&own.child("type"));
    } else {
        no_steps_back(path, &own.child("path"), out);
    }
}

fn local_disk(source: &Value, own: &Path, out: &mut Faults<'_>) {
    out.declared(&own.child("path"));
    no_steps_back(source.text_at(&["path"]), &own.child("path"), out);
}

/// A secret by name; in a `PersistentVolume`, which has no namespace, by namespace as well.
fn secret(source: &Value, of: Of<'_>, own: &Path, out: &mut Faults<'_>) {
    let Some(secret) = source.get("secretRef") else { return };
    let members: &[&str] = if of.is_pod() { &["name"] } else { &["name", "namespace"] };
    for member in members.iter().filter(|member| secret.text_at(&[member]).is_empty()) {
        out.required(own.child("secretRef").child(member), "");
    }
}

fn csi(source: &Value, of: Of<'_>, own: &Path, out: &mut Faults<'_>) {
    out.drop_below(&own.child("driver"));
    storage_driver::csi_name(source.text_at(&["driver"]), &own.child("driver"), out);
    if !of.is_pod() {
        out.declared(&own.child("volumeHandle"));
        for member in [
            "controllerPublishSecretRef",
            "controllerExpandSecretRef",
            "nodePublishSecretRef",
            "nodeExpandSecretRef",
        ] {
            if let Some(secret) = source.get(member) {
                named_secret(secret, &own.child(member), out);
            }
        }
        return;
    }
    if let Some(secret) = source.get("nodePublishSecretRef") {
        match secret.text_at(&["name"]) {
            "" => out.required(own.child("nodePublishSecretRef").child("name"), ""),
            // Upstream says it of the source here.
            name => out.invalid_each(&own.child("name"), name, names::dns1123_subdomain(name)),
        }
    }
}

fn named_secret(secret: &Value, path: &Path, out: &mut Faults<'_>) {
    let (name, namespace) = (secret.text_at(&["name"]), secret.text_at(&["namespace"]));
    for (member, text, faults) in [
        ("name", name, names::dns1123_subdomain(name)),
        ("namespace", namespace, names::dns1123_label(namespace)),
    ] {
        match text {
            "" => out.required(path.child(member), ""),
            text => out.invalid_each(&path.child(member), text, faults),
        }
    }
}

/// A member that must say something.
fn needed(source: &Value, member: &str, path: &Path, out: &mut Faults<'_>) {
    if source.text_at(&[member]).is_empty() {
        out.required(path.child(member), "");
    }
}

/// A number out of range.
fn in_byte(number: i64, path: Path, low: i64, out: &mut Faults<'_>) {
    if !(low.min(0)..=255).contains(&number) {
        out.invalid(path, number, &names::in_range(number, low, 255).join("; "));
    }
}

fn refuse(path: Path, text: &str, why: &str, out: &mut Faults<'_>) {
    out.invalid(path, quoted(text), why);
}

#[cfg(test)]
mod tests {
    use apiwright_meta::ErrorList;

    use super::*;

    #[test]
    fn faults_of_sources() {
        let pod = Of::Pod("v");
        let volume = Of::Volume("v");
        let table = [
            (
                pod,
                "gcePersistentDisk",
                r#"{"partition":256}"#,
                "[p.persistentDisk.pdName: Required value, \
              p.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive]",
            ),
            (
                pod,
                "iscsi",
                r#"{"targetPortal":"t","iqn":"x","lun":256}"#,
                "[p.iscsi.iqn: Invalid value: \"x\": must \
              be valid format starting with iqn, eui, or naa, p.iscsi.lun: Invalid value: 256: must be between 0 and \
              255, inclusive]",
            ),
            (
                volume,
                "iscsi",
                r#"{"targetPortal":"t","iqn":"iqn.x","chapAuthSession":true}"#,
                "[p.iscsi.iqn: Invalid \
              value: \"iqn.x\": must be valid format, p.iscsi.secretRef: Required value]",
            ),
            (pod, "iscsi", r#"{"targetPortal":"t","iqn":"iqn.2001-04.com.example:storage"}"#, "[]"),
            (
                pod,
                "fc",
                "{}",
                "p.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both",
            ),
            (
                pod,
                "fc",
                r#"{"targetWWNs":["a"],"wwids":["b"],"lun":1}"#,
                "p.fc.targetWWNs: Invalid value: [\"a\"]: \
              targetWWNs and wwids can not be specified simultaneously",
            ),
            (
                pod,
                "flocker",
                "{}",
                "p.flocker: Required value: one of datasetName and datasetUUID is required",
            ),
            (
                pod,
                "quobyte",
                r#"{"registry":"host","volume":"v"}"#,
                "p.quobyte.registry: Invalid value: \"host\": must \
              be a host:port pair or multiple pairs separated by commas",
            ),
            (pod, "quobyte", r#"{"registry":"host:1","volume":"v"}"#, "[]"),
            (
                volume,
                "cinder",
                r#"{"volumeID":"v","secretRef":{}}"#,
                "[p.cinder.secretRef.name: Required value, p.cinder.secretRef.namespace: Required value]",
            ),
            (pod, "cinder", r#"{"volumeID":"v","secretRef":{}}"#, "p.cinder.secretRef.name: Required value"),
            (
                pod,
                "flexVolume",
                r#"{"driver":"d","options":{"a.k8s.io/b":"c"}}"#,
                "p.flexVolume.options[a.k8s.io/b]: \
              Invalid value: \"a.k8s.io/b\": kubernetes.io and k8s.io namespaces are reserved",
            ),
            (
                pod,
                "azureDisk",
                r#"{"diskName":"d","diskURI":"u","kind":"Managed"}"#,
                "p.azureDisk.diskURI: Unsupported \
              value: \"u\": supported values: \"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/\
              microsoft.compute/disks/{disk-id}\"",
            ),
            (
                pod,
                "csi",
                r#"{"driver":"d","nodePublishSecretRef":{"name":"A"}}"#,
                "p.csi.name: Invalid value: \"A\": a \
              lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
              start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
              '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            ),
            (
                volume,
                "glusterfs",
                r#"{"endpoints":"e","path":"p","endpointsNamespace":""}"#,
                "p.glusterfs.endpointsNamespace: Invalid value: \"\": if the endpointnamespace is set, it must be a valid \
              namespace name",
            ),
            (
                volume,
                "storageos",
                r#"{"volumeName":"v","volumeNamespace":"A"}"#,
                "p.storageos.volumeNamespace: Invalid \
              value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
              must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
              validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            ),
        ];
        for (of, kind, source, expected) in table {
            let source = apiwright_json::decode(source.as_bytes()).unwrap().0;
            let mut errors = ErrorList::new();
            faults(kind, &source, of, &Path::new("p"), &mut Faults::take(&mut errors, &Path::new("p")));
            assert_eq!(errors.aggregate(), expected, "{kind}");
        }
    }
}
