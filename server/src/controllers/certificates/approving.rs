//! Requests of kubelets for client certificates are approved, where RBAC permits.

use std::sync::Arc;

use apiwright_chain::{Authorizer, Decision, RequestInfo, User};
use apiwright_controllers::{Next, Result, Writer};
use apiwright_json::Value;
use apiwright_meta::status::Reason;
use apiwright_registry::{Store, typed};

use super::request::{KUBELET_CLIENT, Request};
use super::{Stage, add_condition, stage, usages};
use crate::controllers::look_up;
use crate::generated::controllers::certificatesigningrequest_approving_controller::{
    Controller, Facts, Node, Request as State,
};
use crate::generated::typed::certificates_v1::{CertificateSigningRequest, CertificateSigningRequestSpec};

/// Approves.
pub(in crate::controllers) struct Approving {
    pub(in crate::controllers) requests: Arc<Store>,
    pub(in crate::controllers) authorizer: Arc<dyn Authorizer>,
    pub(in crate::controllers) writer: Writer,
}

impl Approving {
    async fn may(&self, user: &User, subresource: &str) -> bool {
        let what = RequestInfo {
            is_resource: true,
            verb: "create".into(),
            group: "certificates.k8s.io".into(),
            version: "*".into(),
            resource: "certificatesigningrequests".into(),
            subresource: subresource.into(),
            ..RequestInfo::default()
        };
        matches!(self.authorizer.authorize(user, &what).await, Decision::Allow(_))
    }

    async fn say(&self, key: &str, message: &str) -> Result<Next> {
        let approve = |value: &mut Value| {
            // Somebody may have decided meanwhile.
            if stage(&typed::read(value)?) == Stage::Pending {
                add_condition(value, "Approved", "AutoApproved", message);
            }
            Ok(())
        };
        let written = self.writer.update(&self.requests, ("", key), "approval", approve).await;
        look_up::unless(written, Reason::NotFound).map(|()| Next::Done)
    }
}

impl Controller for Approving {
    type Observed = ();

    async fn observe(&self, key: &str) -> Result<(Facts, ())> {
        let asked: Option<CertificateSigningRequest> = look_up::typed(&self.requests, "", key).await?;
        let request = match asked.as_ref().map(stage) {
            None => State::Absent,
            Some(Stage::Pending) => State::Open,
            Some(Stage::Approved | Stage::Denied | Stage::Issued | Stage::Failed) => State::Decided,
        };
        let spec = asked.unwrap_or_default().spec;
        let mut facts = Facts { request, node: Node::None, may_own: false, may_any: false };
        if request != State::Open || spec.signer_name != KUBELET_CLIENT {
            return Ok((facts, ()));
        }
        let content = Request::read(&spec.request.0);
        facts.node = match &content {
            Some(asked) if asked.kubelet_client(&usages(&spec)).is_err() => Node::None,
            Some(asked) if asked.common_name == spec.username => Node::Own,
            Some(_) => Node::Other,
            None => Node::None,
        };
        if facts.node != Node::None {
            let user = user(spec);
            facts.may_own = facts.node == Node::Own && self.may(&user, "selfnodeclient").await;
            facts.may_any = self.may(&user, "nodeclient").await;
        }
        Ok((facts, ()))
    }

    async fn approve_own(&self, key: &str, (): ()) -> Result<Next> {
        self.say(key, "Auto approving self kubelet client certificate after SubjectAccessReview.").await
    }

    async fn approve(&self, key: &str, (): ()) -> Result<Next> {
        self.say(key, "Auto approving kubelet client certificate after SubjectAccessReview.").await
    }

    async fn wait(&self, _key: &str, (): ()) -> Result<Next> {
        Ok(Next::Again)
    }
}

/// Who asked, as the server noted it.
fn user(spec: CertificateSigningRequestSpec) -> User {
    User { name: spec.username, uid: spec.uid, groups: spec.groups, extra: spec.extra.into_iter().collect() }
}
