//! `PersistentVolumeClaimResize`: a claim grows only when it is bound and its class allows it.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::status::Result;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::attributes::{Attributes, Operation};
use crate::objects::Objects;
use crate::plugin::Plugin;

/// The plugin.
pub(crate) struct PersistentVolumeClaimResize {
    objects: Objects,
}

impl PersistentVolumeClaimResize {
    pub(crate) fn new(objects: Objects) -> Self {
        Self { objects }
    }

    async fn check(&self, request: &Attributes<'_>, claim: &Value, old: &Value) -> Result<()> {
        if storage(claim) <= storage(old) {
            return Ok(());
        }
        if old.text_at(&["status", "phase"]) != "Bound" {
            return Err(request.forbid(Some(claim), "Only bound persistent volume claims can be expanded"));
        }
        if self.may_grow(class(claim), class(old)).await? {
            return Ok(());
        }
        let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must \
                   support resize";
        Err(request.forbid(Some(claim), why))
    }

    async fn may_grow(&self, class: &str, old: &str) -> Result<bool> {
        if class.is_empty() || class != old {
            return Ok(false);
        }
        let class = self.objects.get("storage.k8s.io", "storageclasses", "", class).await?;
        let allowed = class.and_then(|class| class.get("allowVolumeExpansion").and_then(Value::as_bool));
        Ok(allowed.unwrap_or_default())
    }
}

impl Plugin for PersistentVolumeClaimResize {
    fn name(&self) -> &'static str {
        "PersistentVolumeClaimResize"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        request.operation == Operation::Update && request.is("", "persistentvolumeclaims")
    }

    fn validate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            match (object, old) {
                (Some(claim), Some(old)) => self.check(request, claim, old).await,
                _ => Ok(()),
            }
        }
        .boxed()
    }
}

fn storage(claim: &Value) -> Quantity {
    let asked = claim.at(&["spec", "resources", "requests", "storage"]);
    asked.and_then(|asked| Quantity::from_value(asked).ok()).unwrap_or_default()
}

/// The class of a claim; an annotation named it before there was a field.
fn class(claim: &Value) -> &str {
    let annotated = object::annotation(claim, "volume.beta.kubernetes.io/storage-class");
    annotated.unwrap_or_else(|| claim.text_at(&["spec", "storageClassName"]))
}
