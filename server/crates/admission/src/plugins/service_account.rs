//! `ServiceAccount`: every pod runs as a service account, and mounts its token where it may.

use std::time::Duration;

use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_meta::status::Result;
use apiwright_registry::{Selection, WatchOptions};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};

use super::service_account_secrets::allowed_secrets;
use super::values::{array_at, items, object_at, text};
use crate::attributes::{Attributes, Operation};
use crate::objects::Objects;
use crate::plugin::Plugin;
use crate::pod_references::{self, MIRROR_POD};

const DEFAULT: &str = "default";
const VOLUME_PREFIX: &str = "kube-api-access-";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const ROOT_CERTIFICATES: &str = "kube-root-ca.crt";
/// An hour, and a little for clocks that differ.
const TOKEN_SECONDS: i64 = 3607;
/// How long a new namespace's default account is waited for: a controller makes it.
const WAIT_FOR_DEFAULT: Duration = Duration::from_millis(1500);

/// The plugin.
pub(crate) struct ServiceAccount {
    objects: Objects,
}

impl ServiceAccount {
    pub(crate) fn new(objects: Objects) -> Self {
        Self { objects }
    }

    async fn admit(&self, request: &Attributes<'_>, pod: &mut Value) -> Result<()> {
        if object::annotation(pod, MIRROR_POD).is_some() {
            return self.check(request, pod).await;
        }
        if pod.text_at(&["spec", "serviceAccountName"]).is_empty() {
            let spec = object_at(pod, &["spec"]);
            spec.insert("serviceAccountName", DEFAULT);
            // The name that the field had before; both are always told.
            spec.insert("serviceAccount", DEFAULT);
        }
        let account = self.account(request, pod).await?;
        if mounts_token(&account, pod) {
            mount_token(pod);
        }
        if items(pod, &["spec", "imagePullSecrets"]).next().is_none()
            && let Some(secrets) = account.get("imagePullSecrets").filter(|list| !list.is_null())
        {
            object_at(pod, &["spec"]).insert("imagePullSecrets", secrets.clone());
        }
        Ok(())
    }

    async fn check(&self, request: &Attributes<'_>, pod: &Value) -> Result<()> {
        let forbid = |why: &str| Err(request.forbid(Some(pod), why));
        let name = pod.text_at(&["spec", "serviceAccountName"]);
        if object::annotation(pod, MIRROR_POD).is_some() {
            if !name.is_empty() {
                return forbid("a mirror pod may not reference service accounts");
            }
            if pod_references::secrets(pod).next().is_some() {
                return forbid("a mirror pod may not reference secrets");
            }
            if projects_token(pod) {
                return forbid("a mirror pod may not use ServiceAccountToken volume projections");
            }
            return Ok(());
        }
        if name.is_empty() {
            let (namespace, pod_name) = (request.namespace, object::name(pod));
            return forbid(&format!("no service account specified for pod {namespace}/{pod_name}"));
        }
        let account = self.account(request, pod).await?;
        let enforced = object::annotation(&account, "kubernetes.io/enforce-mountable-secrets");
        if enforced.is_some_and(is_true)
            && let Err(why) = allowed_secrets(&account, pod)
        {
            return forbid(&why);
        }
        Ok(())
    }

    /// The account that a pod names.
    async fn account(&self, request: &Attributes<'_>, pod: &Value) -> Result<Value> {
        let name = pod.text_at(&["spec", "serviceAccountName"]);
        let mut account = self.objects.get("", "serviceaccounts", request.namespace, name).await?;
        if account.is_none() && name == DEFAULT {
            self.wait_for_default(request.namespace).await?;
            account = self.objects.get("", "serviceaccounts", request.namespace, name).await?;
        }
        account.ok_or_else(|| {
            let namespace = request.namespace;
            let why = format!(
                "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"
            );
            request.forbid(Some(pod), why)
        })
    }

    /// Waits until a namespace's default account appears, but not for long.
    async fn wait_for_default(&self, namespace: &str) -> Result<()> {
        let Some(store) = self.objects.store("", "serviceaccounts") else { return Ok(()) };
        let selection = Selection {
            namespace: namespace.into(),
            fields: apiwright_meta::fields::FieldSelector::one("metadata.name", DEFAULT),
            ..Selection::default()
        };
        let options = WatchOptions { initial_events: true, ..WatchOptions::default() };
        let mut watch = store.watch(selection, options).await?;
        // Whatever happens first: the account, the end of the watch, the end of patience.
        let _ = tokio::time::timeout(WAIT_FOR_DEFAULT, watch.next()).await;
        Ok(())
    }
}

impl Plugin for ServiceAccount {
    fn name(&self) -> &'static str {
        "ServiceAccount"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        request.operation == Operation::Create && request.is("", "pods")
    }

    fn mutate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            match object {
                Some(pod) => self.admit(request, pod).await,
                None => Ok(()),
            }
        }
        .boxed()
    }

    fn validate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            match object {
                Some(pod) => self.check(request, pod).await,
                None => Ok(()),
            }
        }
        .boxed()
    }
}

/// What Go's `strconv.ParseBool` takes for true.
fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

/// Whether a pod is to have its account's token: the pod says, else the account, else yes.
fn mounts_token(account: &Value, pod: &Value) -> bool {
    let said = |value: Option<&Value>| value.and_then(Value::as_bool);
    said(pod.at(&["spec", "automountServiceAccountToken"]))
        .or_else(|| said(account.get("automountServiceAccountToken")))
        .unwrap_or(true)
}

fn mount_token(pod: &mut Value) {
    let existing = items(pod, &["spec", "volumes"]).map(|volume| text(volume, "name"));
    let existing = existing.into_iter().find(|name| name.starts_with(VOLUME_PREFIX)).map(str::to_owned);
    let has_volume = existing.is_some();
    let volume = existing.unwrap_or_else(|| apiwright_registry::generate_name(VOLUME_PREFIX));
    let mut needed = false;
    for member in ["initContainers", "containers"] {
        let containers = pod.at_mut(&["spec", member]).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            // Whoever mounts something else there does not want the token.
            if items(container, &["volumeMounts"]).any(|mount| text(mount, "mountPath") == MOUNT_PATH) {
                continue;
            }
            let mut mount = Object::with_capacity(3);
            mount.push("name", volume.as_str());
            mount.push("readOnly", true);
            mount.push("mountPath", MOUNT_PATH);
            array_at(container, &[], "volumeMounts").push(Value::Object(mount));
            needed = true;
        }
    }
    if needed && !has_volume {
        array_at(pod, &["spec"], "volumes").push(token_volume(&volume));
    }
}

/// The token, the cluster's certificates and the namespace as files.
fn token_volume(name: &str) -> Value {
    let object = |members: Vec<(&str, Value)>| Value::Object(members.into_iter().collect());
    let token = object(vec![("expirationSeconds", TOKEN_SECONDS.into()), ("path", "token".into())]);
    let certificate = object(vec![("key", "ca.crt".into()), ("path", "ca.crt".into())]);
    let certificates =
        object(vec![("name", ROOT_CERTIFICATES.into()), ("items", Value::Array(vec![certificate]))]);
    let field = object(vec![("apiVersion", "v1".into()), ("fieldPath", "metadata.namespace".into())]);
    let namespace = object(vec![("path", "namespace".into()), ("fieldRef", field)]);
    let downward = object(vec![("items", Value::Array(vec![namespace]))]);
    let sources = vec![
        object(vec![("serviceAccountToken", token)]),
        object(vec![("configMap", certificates)]),
        object(vec![("downwardAPI", downward)]),
    ];
    let projected = object(vec![("sources", Value::Array(sources)), ("defaultMode", Value::Int(0o644))]);
    object(vec![("name", name.into()), ("projected", projected)])
}

/// Whether a volume projects a token.
fn projects_token(pod: &Value) -> bool {
    items(pod, &["spec", "volumes"])
        .flat_map(|volume| items(volume, &["projected", "sources"]))
        .any(|source| source.get("serviceAccountToken").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_mounted_once() {
        let text = format!(
            r#"{{"spec":{{"containers":[{{"name":"a"}},{{"name":"b","volumeMounts":[{{"name":"own","mountPath":"{MOUNT_PATH}"}}]}}]}}}}"#
        );
        let mut pod = apiwright_json::decode(text.as_bytes()).unwrap().0;
        mount_token(&mut pod);
        mount_token(&mut pod);
        let volumes: Vec<&Value> = items(&pod, &["spec", "volumes"]).collect();
        assert_eq!(volumes.len(), 1);
        assert_eq!(text_of(volumes[0]).len(), VOLUME_PREFIX.len() + 5);
        let mounts: Vec<usize> =
            items(&pod, &["spec", "containers"]).map(|one| items(one, &["volumeMounts"]).count()).collect();
        assert_eq!(mounts, [1, 1]);
    }

    fn text_of(volume: &Value) -> &str {
        super::text(volume, "name")
    }
}
