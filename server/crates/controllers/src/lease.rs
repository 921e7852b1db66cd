//! A Lease of `coordination.k8s.io`, read and written as client-go does.

use std::sync::Arc;

use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_meta::status::{Reason, Result};
use apiwright_meta::time;
use apiwright_registry::Store;
use apiwright_registry::store::Freshness;
use futures::future::BoxFuture;

use crate::election::{Lock, Record};
use crate::writer::Identity;

/// Where leases are that controllers lead by.
const NAMESPACE: &str = "kube-system";
const WHO: Identity = Identity::API_SERVER;

/// One lease.
pub struct Lease {
    /// The store of leases.
    pub store: Arc<Store>,
    /// Its name.
    pub name: &'static str,
}

impl Record {
    /// What a Lease says.
    pub fn of(lease: &Value) -> Self {
        let number = |member: &str| lease.at(&["spec", member]).and_then(Value::as_i64).unwrap_or_default();
        let text = |member: &str| lease.text_at(&["spec", member]).to_owned();
        Self {
            holder: text("holderIdentity"),
            duration_seconds: number("leaseDurationSeconds"),
            acquired: text("acquireTime"),
            renewed: text("renewTime"),
            transitions: number("leaseTransitions"),
        }
    }

    fn spec(&self) -> Object {
        let mut spec = Object::new();
        spec.push("holderIdentity", self.holder.as_str());
        spec.push("leaseDurationSeconds", self.duration_seconds);
        spec.push("acquireTime", self.acquired.as_str());
        spec.push("renewTime", self.renewed.as_str());
        spec.push("leaseTransitions", self.transitions);
        spec
    }
}

impl Lock for Lease {
    fn read(&self) -> BoxFuture<'_, Result<Option<(Record, String)>>> {
        Box::pin(async move {
            match self.store.get(NAMESPACE, self.name, Freshness::Latest).await {
                Ok(entry) => {
                    let lease = self.store.decode(&entry)?;
                    Ok(Some((Record::of(&lease), object::resource_version(&lease).to_owned())))
                }
                Err(status) if status.reason == Some(Reason::NotFound) => Ok(None),
                Err(status) => Err(status),
            }
        })
    }

    fn write<'a>(&'a self, record: &'a Record, version: Option<&'a str>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let Some(version) = version else {
                let metadata: Object = [("name", self.name), ("namespace", NAMESPACE)].into_iter().collect();
                let mut lease: Object =
                    [("kind", "Lease"), ("apiVersion", "coordination.k8s.io/v1")].into_iter().collect();
                lease.push("metadata", metadata);
                lease.push("spec", record.spec());
                return WHO.unasked().create(&self.store, NAMESPACE, lease.into()).await.map(|_| ());
            };
            let change = |lease: &mut Value| {
                // Compared with what is stored: a conflict, where it is another version by now.
                object::set_resource_version(lease, version);
                if let Some(lease) = lease.as_object_mut() {
                    lease.insert("spec", record.spec());
                }
                Ok(())
            };
            WHO.unasked().update(&self.store, (NAMESPACE, self.name), "", change).await.map(|_| ())
        })
    }

    fn now(&self) -> String {
        time::now_micro()
    }
}
