//! Identity leases of API servers that are gone.

use std::sync::Arc;
use std::time::Duration;

use apiwright_controllers::{Change, Next, Result, Writer};
use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Reason;
use apiwright_meta::time::Time;
use apiwright_registry::Store;
use apiwright_registry::store::DeleteOptions;

use super::look_up;
use crate::generated::controllers::identity_lease_cleanup::{Controller, Facts, Lease};

const NAMESPACE: &str = "kube-system";
const LABEL: &str = "apiserver.kubernetes.io/identity";
const LABELLED: &str = "kube-apiserver";
/// How often kube-apiserver looks: so long an expired lease stays.
const GRACE_SECONDS: i64 = 3600;

/// Deletes leases.
pub(super) struct IdentityLeases {
    pub(super) leases: Arc<Store>,
    pub(super) writer: Writer,
}

impl Controller for IdentityLeases {
    type Observed = Option<(Value, i64)>;

    async fn observe(&self, key: &str) -> Result<(Facts, Option<(Value, i64)>)> {
        let name = key.rsplit('/').next().unwrap_or(key);
        let found = look_up::object(&self.leases, NAMESPACE, name).await?;
        let Some(lease) = found.filter(|lease| object::label(lease, LABEL) == Some(LABELLED)) else {
            return Ok((Facts { lease: Lease::Absent }, None));
        };
        let left = expiry(&lease) + GRACE_SECONDS - Time::now().seconds;
        let state = if left > 0 { Lease::Held } else { Lease::Expired };
        Ok((Facts { lease: state }, Some((lease, left))))
    }

    async fn wait(&self, _key: &str, observed: Option<(Value, i64)>) -> Result<Next> {
        let left = observed.map_or(1, |(_, left)| u64::try_from(left).unwrap_or(1));
        Ok(Next::After(Duration::from_secs(left)))
    }

    async fn delete(&self, _key: &str, observed: Option<(Value, i64)>) -> Result<Next> {
        let Some((lease, _)) = observed else { return Ok(Next::Done) };
        let options = DeleteOptions {
            uid: Some(object::uid(&lease).to_owned()),
            resource_version: Some(object::resource_version(&lease).to_owned()),
            ..DeleteOptions::default()
        };
        let deleted = self.writer.delete(&self.leases, (NAMESPACE, object::name(&lease)), &options).await;
        look_up::unless(deleted, Reason::NotFound).map(|()| Next::Done)
    }

    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        let Some(facts) = change.facts() else { return };
        if change.new.is_some() && facts.namespace == NAMESPACE && facts.label(LABEL) == Some(LABELLED) {
            add(&change.key());
        }
    }
}

/// When a lease expires, or has; one that does not say has always been.
fn expiry(lease: &Value) -> i64 {
    let renewed = Time::parse_micro(lease.text_at(&["spec", "renewTime"])).map(|time| time.seconds);
    let duration = lease.at(&["spec", "leaseDurationSeconds"]).and_then(Value::as_i64);
    match (renewed, duration) {
        (Ok(renewed), Some(duration)) => renewed.saturating_add(duration),
        _ => 0,
    }
}
