//! Approved requests are signed, or refused.

use std::sync::Arc;

use apiwright_controllers::{Next, Result, Writer};
use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::object;
use apiwright_meta::status::Reason;
use apiwright_meta::time::Time;
use apiwright_registry::Store;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::authority::SigningAuthority;
use super::request::{self, Request};
use super::{Stage, add_condition, stage, usages};
use crate::controllers::look_up;
use crate::generated::controllers::certificatesigningrequest_signing_controller::{
    Content, Controller, Facts, Request as State, Signer,
};
use crate::generated::typed::certificates_v1::CertificateSigningRequest;

/// Signs.
pub(in crate::controllers) struct Signing {
    pub(in crate::controllers) requests: Arc<Store>,
    pub(in crate::controllers) authority: SigningAuthority,
    pub(in crate::controllers) writer: Writer,
}

/// What is to be signed, and why it is not.
pub(in crate::controllers) struct Observed {
    asked: CertificateSigningRequest,
    request: Option<Request>,
    why: String,
}

impl Signing {
    async fn update(
        &self,
        asked: &CertificateSigningRequest,
        change: impl Fn(&mut Value) + Send + Sync,
    ) -> Result<Next> {
        let (name, uid) = (&*asked.metadata.name, &*asked.metadata.uid);
        let change = |value: &mut Value| {
            if object::uid(value) == uid {
                change(value);
            }
            Ok(())
        };
        let written = self.writer.update(&self.requests, ("", name), "status", change).await;
        look_up::unless(written, Reason::NotFound).map(|()| Next::Done)
    }
}

impl Controller for Signing {
    type Observed = Observed;

    async fn observe(&self, key: &str) -> Result<(Facts, Observed)> {
        let asked = look_up::typed(&self.requests, "", key).await?;
        let state = match asked.as_ref().map(stage) {
            None => State::Absent,
            Some(Stage::Pending | Stage::Denied) => State::Pending,
            Some(Stage::Approved) => State::Approved,
            Some(Stage::Issued) => State::Issued,
            Some(Stage::Failed) => State::Failed,
        };
        let asked = asked.unwrap_or_default();
        let signer = &*asked.spec.signer_name;
        let is_ours = [request::CLIENT, request::KUBELET_CLIENT, request::KUBELET_SERVING, request::LEGACY]
            .contains(&signer);
        // Most are looked at again and again after they were dealt with.
        let looked_at =
            (state == State::Approved && is_ours).then(|| Request::read(&asked.spec.request.0)).flatten();
        let (content, why) = match looked_at.as_ref().and_then(|one| one.fits(signer, &usages(&asked.spec))) {
            None => (Content::Unreadable, String::new()),
            Some(Ok(())) => (Content::Fitting, String::new()),
            Some(Err(why)) => (Content::Unfitting, why),
        };
        let facts =
            Facts { request: state, signer: if is_ours { Signer::Ours } else { Signer::Others }, content };
        Ok((facts, Observed { asked, request: looked_at, why }))
    }

    async fn refuse(&self, _key: &str, observed: Observed) -> Result<Next> {
        let say = |value: &mut Value| {
            add_condition(value, "Failed", "SignerValidationFailure", &observed.why);
        };
        self.update(&observed.asked, say).await
    }

    async fn sign(&self, _key: &str, observed: Observed) -> Result<Next> {
        let Some(request) = &observed.request else { return Ok(Next::Done) };
        let spec = &observed.asked.spec;
        let certificate = self
            .authority
            .sign(request, &usages(spec), spec.expiration_seconds.map(i64::from), Time::now())
            .map_err(|why| Status::internal(format!("error auto signing csr: {why}")))?;
        let certificate = BASE64_STANDARD.encode(certificate);
        let put = |value: &mut Value| {
            if let Some(value) = value.as_object_mut() {
                value.object("status").insert("certificate", certificate.as_str());
            }
        };
        self.update(&observed.asked, put).await
    }
}
