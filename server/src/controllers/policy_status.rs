//! What is wrong with the types of validating admission policies, told in their status.

use std::sync::Arc;

use apiwright_cel::Decl;
use apiwright_controllers::{Identity, Next, Result, Writer};
use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_meta::status::Reason;
use apiwright_openapi::OpenApi;
use apiwright_policy::typecheck::{Types, warnings};
use apiwright_registry::Store;

use super::look_up;
use crate::generated::controllers::validatingadmissionpolicy_status_controller::{Controller, Facts, Policy};

pub(super) const IDENTITY: Identity = Identity {
    user: "system:serviceaccount:kube-system:validatingadmissionpolicy-status-controller",
    manager: "validatingadmissionpolicy-status-controller",
};

/// Checks policies.
pub(super) struct PolicyStatus {
    pub(super) policies: Arc<Store>,
    pub(super) openapi: Arc<OpenApi>,
    pub(super) writer: Writer,
}

impl Controller for PolicyStatus {
    type Observed = Option<Value>;

    async fn observe(&self, key: &str) -> Result<(Facts, Option<Value>)> {
        let found = look_up::object(&self.policies, "", key).await?;
        let policy = match &found {
            None => Policy::Absent,
            Some(policy) if object::generation(policy) > observed_generation(policy) => Policy::Changed,
            Some(_) => Policy::Checked,
        };
        Ok((Facts { policy }, found))
    }

    async fn check(&self, key: &str, observed: Option<Value>) -> Result<Next> {
        let Some(policy) = observed else { return Ok(Next::Done) };
        let found = warnings(&policy, self);
        let all = found.iter().map(|one| {
            Object::from_iter([("fieldRef", one.field.as_str()), ("warning", one.text.as_str())]).into()
        });
        let all: Vec<Value> = all.collect();
        let mut checking = Object::new();
        if !all.is_empty() {
            checking.push("expressionWarnings", all);
        }
        let mut status = Object::from_iter([("observedGeneration", object::generation(&policy))]);
        status.push("typeChecking", checking);
        let mut config = Object::from_iter([("apiVersion", self.policies.resource.api_version())]);
        config.push("kind", "ValidatingAdmissionPolicy");
        config.push("metadata", Object::from_iter([("name", key)]));
        config.push("status", status);
        let told = self.writer.apply(&self.policies, ("", key), "status", &config.into()).await;
        look_up::unless(told, Reason::NotFound).map(|()| Next::Done)
    }
}

impl Types for PolicyStatus {
    fn of_resource(&self, group: &str, version: &str, resource: &str) -> Option<(String, Arc<Decl>)> {
        let (kind, schema) = self.openapi.of_resource(group, version, resource)?;
        let decl = Decl::of_kind(&schema, &kind).unwrap_or_else(Decl::dynamic);
        Some((kind, decl))
    }

    fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Decl>> {
        Decl::of_kind(&self.openapi.of_kind(group, version, kind)?, kind)
    }
}

fn observed_generation(policy: &Value) -> i64 {
    policy.at(&["status", "observedGeneration"]).and_then(Value::as_i64).unwrap_or_default()
}
