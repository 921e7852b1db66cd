//! `RuntimeClass`: a pod's runtime class adds its overhead and its scheduling rules to the pod.

use apiwright_json::{Object, Value};
use apiwright_meta::status::Result;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::values::{array_at, items, object_at, resource_list, text};
use crate::attributes::{Attributes, Operation};
use crate::objects::Objects;
use crate::plugin::Plugin;

const OTHER_OVERHEAD: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const OVERHEAD_WITHOUT_CLASS: &str =
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

/// The plugin.
pub(crate) struct RuntimeClass {
    objects: Objects,
}

impl RuntimeClass {
    pub(crate) fn new(objects: Objects) -> Self {
        Self { objects }
    }

    /// The class that a pod names.
    async fn class(&self, request: &Attributes<'_>, pod: &Value) -> Result<Option<Value>> {
        let Some(name) = pod.at(&["spec", "runtimeClassName"]).and_then(Value::as_str) else {
            return Ok(None);
        };
        match self.objects.get("node.k8s.io", "runtimeclasses", "", name).await? {
            Some(class) => Ok(Some(class)),
            None => {
                Err(request.forbid(Some(pod), format!("pod rejected: RuntimeClass \"{name}\" not found")))
            }
        }
    }

    async fn admit(&self, request: &Attributes<'_>, pod: &mut Value) -> Result<()> {
        let Some(class) = self.class(request, pod).await? else { return Ok(()) };
        if class.get("overhead").is_some() {
            let fixed = ["overhead", "podFixed"];
            let own = resource_list(pod, &["spec", "overhead"]);
            if !own.is_empty() && own != resource_list(&class, &fixed) {
                return Err(request.forbid(Some(pod), OTHER_OVERHEAD));
            }
            if let Some(fixed) = class.at(&fixed) {
                object_at(pod, &["spec"]).insert("overhead", fixed.clone());
            }
        }
        let Some(scheduling) = class.get("scheduling") else { return Ok(()) };
        select_nodes(request, pod, scheduling)?;
        if items(scheduling, &["tolerations"]).next().is_some() {
            let own: Vec<Value> = items(pod, &["spec", "tolerations"]).cloned().collect();
            let all: Vec<Value> =
                own.into_iter().chain(items(scheduling, &["tolerations"]).cloned()).collect();
            *array_at(pod, &["spec"], "tolerations") = without_redundant(all);
        }
        Ok(())
    }

    async fn check(&self, request: &Attributes<'_>, pod: &Value) -> Result<()> {
        let class = self.class(request, pod).await?;
        let own = resource_list(pod, &["spec", "overhead"]);
        match class.filter(|class| class.get("overhead").is_some()) {
            Some(class) if own == resource_list(&class, &["overhead", "podFixed"]) => Ok(()),
            Some(_) => Err(request.forbid(Some(pod), OTHER_OVERHEAD)),
            None if own.is_empty() => Ok(()),
            None => Err(request.forbid(Some(pod), OVERHEAD_WITHOUT_CLASS)),
        }
    }
}

impl Plugin for RuntimeClass {
    fn name(&self) -> &'static str {
        "RuntimeClass"
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

/// Adds the class's node selector to the pod's.
fn select_nodes(request: &Attributes<'_>, pod: &mut Value, scheduling: &Value) -> Result<()> {
    let Some(wanted) = scheduling.get("nodeSelector").and_then(Value::as_object) else { return Ok(()) };
    for (key, value) in wanted.iter() {
        let own = pod.at(&["spec", "nodeSelector", key]);
        if let Some(own) = own.filter(|own| *own != value) {
            let shown = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                shown(value),
                shown(own)
            );
            return Err(request.forbid(Some(pod), why));
        }
    }
    if !wanted.is_empty() {
        let selector: &mut Object = object_at(pod, &["spec", "nodeSelector"]);
        for (key, value) in wanted.iter() {
            selector.insert(key.clone(), value.clone());
        }
        selector.sort();
    }
    Ok(())
}

/// Tolerations without those that others include.
fn without_redundant(all: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::with_capacity(all.len());
    for (at, toleration) in all.iter().enumerate() {
        let mut others = kept.iter().chain(&all[at + 1..]);
        if !others.any(|other| includes(other, toleration)) {
            kept.push(toleration.clone());
        }
    }
    kept
}

/// Whether whoever tolerates `wide` tolerates `narrow`.
fn includes(wide: &Value, narrow: &Value) -> bool {
    if wide == narrow {
        return true;
    }
    let (operator, key) = (text(wide, "operator"), text(wide, "key"));
    if text(narrow, "key") != key && !(key.is_empty() && operator == "Exists") {
        return false;
    }
    let effect = text(wide, "effect");
    if text(narrow, "effect") != effect && !effect.is_empty() {
        return false;
    }
    let seconds = |toleration: &Value| toleration.get("tolerationSeconds").and_then(Value::as_i64);
    if effect == "NoExecute"
        && let Some(longest) = seconds(wide)
        && seconds(narrow).is_none_or(|seconds| seconds > longest)
    {
        return false;
    }
    match operator {
        "Equal" | "" => text(narrow, "operator") == "Equal" && text(narrow, "value") == text(wide, "value"),
        "Exists" => true,
        _ => false,
    }
}
