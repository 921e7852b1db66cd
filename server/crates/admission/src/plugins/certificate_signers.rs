//! `CertificateApproval` and `CertificateSigning`: approving and signing take permission for the signer.

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::status::Result;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::attributes::{Attributes, Operation};
use crate::permits::{Ask, Permits};
use crate::plugin::Plugin;

const GROUP: &str = "certificates.k8s.io";
const REQUESTS: &str = "certificatesigningrequests";

/// One of the plugins: which subresource takes which permission.
pub(crate) struct CertificateSigners {
    permits: Arc<dyn Permits>,
    rule: &'static Rule,
}

struct Rule {
    plugin: &'static str,
    subresource: &'static str,
    verb: &'static str,
    /// Status fields without whose change there is nothing to ask; none to ask always.
    changes: &'static [&'static str],
}

static APPROVAL: Rule =
    Rule { plugin: "CertificateApproval", subresource: "approval", verb: "approve", changes: &[] };

static SIGNING: Rule = Rule {
    plugin: "CertificateSigning",
    subresource: "status",
    verb: "sign",
    changes: &["certificate", "conditions"],
};

impl CertificateSigners {
    pub(crate) fn approval(permits: Arc<dyn Permits>) -> Self {
        Self { permits, rule: &APPROVAL }
    }

    pub(crate) fn signing(permits: Arc<dyn Permits>) -> Self {
        Self { permits, rule: &SIGNING }
    }

    async fn check(&self, request: &Attributes<'_>, new: &Value, old: &Value) -> Result<()> {
        let rule = self.rule;
        let same = |field: &&str| new.at(&["status", field]) == old.at(&["status", field]);
        if !rule.changes.is_empty() && rule.changes.iter().all(same) {
            return Ok(());
        }
        let signer = old.text_at(&["spec", "signerName"]);
        if self.may(request, signer).await {
            return Ok(());
        }
        let why = format!("user not permitted to {} requests with signerName \"{signer}\"", rule.verb);
        Err(request.forbid(Some(new), why))
    }

    /// Whether the user may act for a signer, or for all of its domain.
    async fn may(&self, request: &Attributes<'_>, signer: &str) -> bool {
        let of_domain = signer.split_once('/').map(|(domain, _)| format!("{domain}/*"));
        for name in [Some(signer), of_domain.as_deref()].into_iter().flatten() {
            let what = Ask {
                verb: self.rule.verb,
                group: GROUP,
                version: "*",
                resource: "signers",
                namespace: "",
                name,
            };
            if self.permits.may(request.user, what).await {
                return true;
            }
        }
        false
    }
}

impl Plugin for CertificateSigners {
    fn name(&self) -> &'static str {
        self.rule.plugin
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        request.operation == Operation::Update
            && request.is_of(GROUP, REQUESTS)
            && request.subresource == self.rule.subresource
    }

    fn validate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            match (object, old) {
                (Some(new), Some(old)) => self.check(request, new, old).await,
                _ => Ok(()),
            }
        }
        .boxed()
    }
}
