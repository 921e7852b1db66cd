//! Identity leases of API servers that are gone.

use std::sync::Arc;
use std::time::Duration;

use apiwright_controllers::{Change, Next, Result, Writer};
use apiwright_meta::status::Reason;
use apiwright_meta::time::Time;
use apiwright_registry::Store;
use apiwright_registry::store::DeleteOptions;

use super::look_up;
use crate::generated::controllers::identity_lease_cleanup::{Controller, Facts, Lease as State};
use crate::generated::typed::coordination_v1::Lease;

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
    /// The lease, and how long it stays.
    type Observed = Option<(Lease, i64)>;

    async fn observe(&self, key: &str) -> Result<(Facts, Option<(Lease, i64)>)> {
        let name = key.rsplit('/').next().unwrap_or(key);
        let found: Option<Lease> = look_up::typed(&self.leases, NAMESPACE, name).await?;
        let is_ours = |lease: &Lease| lease.metadata.labels.get(LABEL).is_some_and(|label| label == LABELLED);
        let Some(lease) = found.filter(is_ours) else {
            return Ok((Facts { lease: State::Absent }, None));
        };
        let left = expiry(&lease) + GRACE_SECONDS - Time::now().seconds;
        let state = if left > 0 { State::Held } else { State::Expired };
        Ok((Facts { lease: state }, Some((lease, left))))
    }

    async fn wait(&self, _key: &str, observed: Option<(Lease, i64)>) -> Result<Next> {
        let left = observed.map_or(1, |(_, left)| u64::try_from(left).unwrap_or(1));
        Ok(Next::After(Duration::from_secs(left)))
    }

    async fn delete(&self, _key: &str, observed: Option<(Lease, i64)>) -> Result<Next> {
        let Some((lease, _)) = observed else { return Ok(Next::Done) };
        let options = DeleteOptions {
            uid: Some(lease.metadata.uid),
            resource_version: Some(lease.metadata.resource_version),
            ..DeleteOptions::default()
        };
        let deleted = self.writer.delete(&self.leases, (NAMESPACE, &lease.metadata.name), &options).await;
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
fn expiry(lease: &Lease) -> i64 {
    let spec = lease.spec.as_ref();
    let (renewed, duration) =
        (spec.and_then(|spec| spec.renew_time), spec.and_then(|spec| spec.lease_duration_seconds));
    match (renewed, duration) {
        (Some(renewed), Some(duration)) => renewed.0.seconds.saturating_add(duration.into()),
        _ => 0,
    }
}
