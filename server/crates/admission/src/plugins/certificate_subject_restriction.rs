//! `CertificateSubjectRestriction`: nobody gets a client certificate that makes them a master.

use apiwright_json::Value;
use apiwright_meta::status::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use futures::future::BoxFuture;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Name;

use crate::attributes::{Attributes, Operation};
use crate::plugin::Plugin;

const SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const MASTERS: &str = "system:masters";

/// The plugin.
pub(crate) struct CertificateSubjectRestriction;

impl Plugin for CertificateSubjectRestriction {
    fn name(&self) -> &'static str {
        "CertificateSubjectRestriction"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        request.operation == Operation::Create
            && request.is("certificates.k8s.io", "certificatesigningrequests")
    }

    fn validate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        let verdict = object.map_or(Ok(()), |object| check(request, object));
        async { verdict }.boxed()
    }
}

fn check(request: &Attributes<'_>, object: &Value) -> Result<()> {
    if object.text_at(&["spec", "signerName"]) != SIGNER {
        return Ok(());
    }
    let organizations = organizations(object.text_at(&["spec", "request"]))
        .map_err(|why| request.forbid(Some(object), format!("unable to parse CSR: {why}")))?;
    if organizations.iter().any(|one| one == MASTERS) {
        let why = format!("use of {SIGNER} signer with {MASTERS} group is not allowed");
        return Err(request.forbid(Some(object), why));
    }
    Ok(())
}

/// The organizations of a request's subject: the groups of the user that it is to make.
fn organizations(request: &str) -> std::result::Result<Vec<String>, &'static str> {
    let texts = |subject: &X509Name<'_>| {
        subject.iter_organization().filter_map(|one| one.as_str().ok().map(str::to_owned)).collect()
    };
    subject(request, texts)
}

/// The common name of a request's subject: the name of the user that it is to make.
pub(super) fn common_name(request: &str) -> std::result::Result<String, &'static str> {
    let last = |subject: &X509Name<'_>| {
        subject.iter_common_name().last().and_then(|name| name.as_str().ok()).unwrap_or_default().to_owned()
    };
    subject(request, last)
}

/// What is read of the subject of a certificate request, PEM in base64.
fn subject<T>(request: &str, read: impl FnOnce(&X509Name<'_>) -> T) -> std::result::Result<T, &'static str> {
    let no_request = "PEM block type must be CERTIFICATE REQUEST";
    let pem = STANDARD.decode(request).map_err(|_| no_request)?;
    let (_, block) = parse_x509_pem(&pem).map_err(|_| no_request)?;
    if block.label != "CERTIFICATE REQUEST" {
        return Err(no_request);
    }
    let (_, parsed) =
        X509CertificationRequest::from_der(&block.contents).map_err(|_| "asn1: structure error")?;
    Ok(read(&parsed.certification_request_info.subject))
}
