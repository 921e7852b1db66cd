//! The service account `default` of every namespace.

use std::sync::Arc;

use apiwright_controllers::{Identity, Next, Result, Writer};
use apiwright_json::Object;
use apiwright_meta::status::Reason;
use apiwright_registry::Store;

use super::look_up::{self, Phase};
use crate::generated::controllers::serviceaccount_controller::{Account, Controller, Facts, Namespace};

/// Its name.
const NAME: &str = "default";
pub(super) const IDENTITY: Identity =
    Identity::manager("system:serviceaccount:kube-system:service-account-controller");

/// Creates service accounts.
pub(super) struct DefaultAccounts {
    pub(super) namespaces: Arc<Store>,
    pub(super) accounts: Arc<Store>,
    pub(super) writer: Writer,
}

impl Controller for DefaultAccounts {
    type Observed = ();

    async fn observe(&self, key: &str) -> Result<(Facts, ())> {
        let namespace = match look_up::phase(&self.namespaces, key).await? {
            Phase::Absent => Namespace::Absent,
            Phase::Active => Namespace::Active,
            Phase::Terminating => Namespace::Terminating,
        };
        let account = match namespace {
            Namespace::Active => look_up::object(&self.accounts, key, NAME).await?,
            Namespace::Absent | Namespace::Terminating => None,
        };
        let account = if account.is_some() { Account::Present } else { Account::Absent };
        Ok((Facts { namespace, account }, ()))
    }

    async fn create(&self, key: &str, (): ()) -> Result<Next> {
        let metadata: Object = [("name", NAME), ("namespace", key)].into_iter().collect();
        let mut account = Object::new();
        account.push("kind", "ServiceAccount");
        account.push("apiVersion", "v1");
        account.push("metadata", metadata);
        let created = self.writer.create(&self.accounts, key, account.into()).await;
        look_up::unless(created, Reason::AlreadyExists).map(|()| Next::Done)
    }
}
