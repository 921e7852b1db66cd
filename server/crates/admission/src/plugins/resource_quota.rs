//! `ResourceQuota`: counts what a namespace's objects use, and refuses what exceeds its quotas.
//!
//! Invariant: usage is charged before the object is stored, by compare and swap on the quota's
//! status; the quota controller ([`observed`]) corrects what was charged for objects that failed afterwards.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::{Reason, Result};
use apiwright_registry::{Check, Store, Transform, WriteOptions};
use futures::FutureExt;
use futures::future::BoxFuture;

use self::charge::{Charge, charge};
use self::evaluator::Evaluator;
use super::values::{object_at, resource_list, to_value};
use crate::attributes::{Attributes, Operation};
use crate::objects::Objects;
use crate::plugin::Plugin;

mod charge;
mod evaluator;
pub mod observed;
mod pods;
mod scopes;

/// How often a charge is tried when the quota changes meanwhile.
const TRIES_MAX: usize = 4;

/// The plugin.
pub(crate) struct ResourceQuota {
    objects: Objects,
    /// One charge at a time in a namespace: writers here need not race each other.
    charging: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
}

impl ResourceQuota {
    pub(crate) fn new(objects: Objects) -> Self {
        Self { objects, charging: Mutex::default() }
    }

    async fn check(&self, request: &Attributes<'_>, object: &Value, old: Option<&Value>) -> Result<()> {
        let evaluator = Evaluator::of(request);
        if !evaluator.handles(request) {
            return Ok(());
        }
        let Some(store) = self.objects.store("", "resourcequotas") else { return Ok(()) };
        let quotas = || self.objects.list("", "resourcequotas", request.namespace);
        if quotas().await?.is_empty() {
            return Ok(());
        }
        let turn = self.turn(request.namespace);
        let _turn = turn.lock().await;
        let mut done: Vec<String> = Vec::new();
        for _ in 0..TRIES_MAX {
            let all = quotas().await?;
            let left = all.iter().filter(|quota| !done.iter().any(|name| name == object::name(quota)));
            let charges = charge(left, &evaluator, request, object, old)?;
            if request.dry_run {
                return Ok(());
            }
            let mut raced = false;
            for charge in charges {
                match self.store_charge(store, &charge).await {
                    Ok(()) => done.push(object::name(&charge.quota).to_owned()),
                    Err(status) if status.reason == Some(Reason::Conflict) => raced = true,
                    Err(status) if status.reason == Some(Reason::NotFound) => {}
                    Err(status) => return Err(status),
                }
            }
            if !raced {
                return Ok(());
            }
        }
        let resource = store.resource.group_resource();
        Err(apiwright_meta::Status::conflict(
            &resource,
            request.namespace,
            "the quotas of the namespace keep changing",
        ))
    }

    /// The lock of a namespace.
    fn turn(&self, namespace: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut charging = self.charging.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = charging.get(namespace).and_then(Weak::upgrade) {
            return turn;
        }
        charging.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        charging.insert(namespace.to_owned(), Arc::downgrade(&turn));
        turn
    }

    /// Writes a quota's new usage, if the quota is as it was when it was read.
    async fn store_charge(&self, store: &Store, charge: &Charge) -> Result<()> {
        let write = WriteOptions { subresource: "status".into(), ..WriteOptions::default() };
        let (namespace, name) = (object::namespace(&charge.quota), object::name(&charge.quota));
        let mut quota = charge.quota.clone();
        object_at(&mut quota, &["status"]).insert("used", to_value(&charge.used));
        store.update(&write, namespace, name, &mut Replacement(quota), &Unchecked).await.map(|_| ())
    }
}

impl Plugin for ResourceQuota {
    fn name(&self) -> &'static str {
        "ResourceQuota"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        matches!(request.operation, Operation::Create | Operation::Update)
            && !request.namespace.is_empty()
            && (request.subresource.is_empty() || request.subresource == "resize")
            && !request.is("", "events")
            && request.kind.kind != "Namespace"
    }

    fn validate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            match object {
                Some(object) => self.check(request, object, old).await,
                None => Ok(()),
            }
        }
        .boxed()
    }
}

/// A quota that replaces the one with its resourceVersion.
struct Replacement(Value);

impl Transform for Replacement {
    fn apply<'a>(&'a mut self, _old: Option<&'a Value>) -> BoxFuture<'a, Result<Value>> {
        let quota = self.0.clone();
        async { Ok(quota) }.boxed()
    }
}

/// The server's own bookkeeping passes no admission.
struct Unchecked;

impl Check for Unchecked {
    fn check<'a>(&'a self, _new: Option<&'a Value>, _old: Option<&'a Value>) -> BoxFuture<'a, Result<()>> {
        async { Ok(()) }.boxed()
    }
}

/// What a quota allows and what is used of it, from its status.
fn hard_and_used(quota: &Value) -> (super::values::ResourceList, super::values::ResourceList) {
    (resource_list(quota, &["status", "hard"]), resource_list(quota, &["status", "used"]))
}
