//! What a request for a certificate asks for, and whether its signer signs that: kube-controller-manager's
//! rules and words.

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry::OID_X509_EXT_SUBJECT_ALT_NAME;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;

pub(super) const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
pub(super) const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
pub(super) const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";
pub(super) const LEGACY: &str = "kubernetes.io/legacy-unknown";

/// A request, as far as anybody here looks at it.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) organizations: Vec<String>,
    pub(super) common_name: String,
    dns_names: usize,
    addresses: usize,
    emails: usize,
    uris: usize,
    /// As they are in the request.
    pub(super) subject: Vec<u8>,
    pub(super) has_subject: bool,
    pub(super) public_key: Vec<u8>,
    pub(super) alternative_names: Option<Vec<u8>>,
}

impl Request {
    /// Reads `spec.request`: PEM.
    pub(super) fn read(pem: &[u8]) -> Option<Self> {
        let (_, pem) = parse_x509_pem(pem).ok()?;
        if pem.label != "CERTIFICATE REQUEST" {
            return None;
        }
        let (_, parsed) = X509CertificationRequest::from_der(&pem.contents).ok()?;
        let info = &parsed.certification_request_info;
        let text = |value: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            value.as_str().map(str::to_owned).unwrap_or_default()
        };
        let mut request = Self {
            organizations: info.subject.iter_organization().map(text).collect(),
            common_name: info.subject.iter_common_name().map(text).last().unwrap_or_default(),
            subject: info.subject.as_raw().to_vec(),
            has_subject: info.subject.iter_attributes().next().is_some(),
            public_key: info.subject_pki.raw.to_vec(),
            ..Self::default()
        };
        for extension in info.iter_attributes().filter_map(|one| match one.parsed_attribute() {
            x509_parser::cri_attributes::ParsedCriAttribute::ExtensionRequest(requested) => {
                Some(&requested.extensions)
            }
            _ => None,
        }) {
            for one in extension.iter().filter(|one| one.oid == OID_X509_EXT_SUBJECT_ALT_NAME) {
                request.alternative_names = Some(one.value.to_vec());
                if let ParsedExtension::SubjectAlternativeName(names) = one.parsed_extension() {
                    request.count(&names.general_names);
                }
            }
        }
        Some(request)
    }

    fn count(&mut self, names: &[GeneralName<'_>]) {
        let count = |is: fn(&GeneralName<'_>) -> bool| names.iter().filter(|name| is(name)).count();
        self.dns_names = count(|name| matches!(name, GeneralName::DNSName(_)));
        self.addresses = count(|name| matches!(name, GeneralName::IPAddress(_)));
        self.emails = count(|name| matches!(name, GeneralName::RFC822Name(_)));
        self.uris = count(|name| matches!(name, GeneralName::URI(_)));
    }

    /// Why a signer does not sign it; `None` for signers that are not known.
    pub(super) fn fits(&self, signer: &str, usages: &[&str]) -> Option<Result<(), String>> {
        match signer {
            CLIENT => Some(client_usages(usages)),
            KUBELET_CLIENT => Some(self.kubelet_client(usages)),
            KUBELET_SERVING => Some(self.kubelet_serving(usages)),
            LEGACY => Some(Ok(())),
            _ => None,
        }
    }

    /// Whether it is for a kubelet's client certificate.
    pub(super) fn kubelet_client(&self, usages: &[&str]) -> Result<(), String> {
        self.is_of_node()?;
        for (count, kind) in
            [(self.dns_names, "DNS"), (self.emails, "Email"), (self.addresses, "IP"), (self.uris, "URI")]
        {
            if count > 0 {
                return Err(format!("{kind} subjectAltNames are not allowed"));
            }
        }
        self.is_named_as_node()?;
        exactly(usages, "client auth")
    }

    fn kubelet_serving(&self, usages: &[&str]) -> Result<(), String> {
        self.is_of_node()?;
        if self.dns_names == 0 && self.addresses == 0 {
            return Err("DNS or IP subjectAltName is required".into());
        }
        for (count, kind) in [(self.emails, "Email"), (self.uris, "URI")] {
            if count > 0 {
                return Err(format!("{kind} subjectAltNames are not allowed"));
            }
        }
        exactly(usages, "server auth")?;
        self.is_named_as_node()
    }

    fn is_of_node(&self) -> Result<(), String> {
        let is_so = self.organizations == ["system:nodes"];
        is_so.then_some(()).ok_or_else(|| "subject organization is not system:nodes".into())
    }

    fn is_named_as_node(&self) -> Result<(), String> {
        let is_so = self.common_name.starts_with("system:node:");
        is_so.then_some(()).ok_or_else(|| "subject common name does not begin with system:node:".into())
    }
}

/// A kubelet's usages; only keys of RSA need `key encipherment`.
fn exactly(usages: &[&str], role: &str) -> Result<(), String> {
    let mut sorted = usages.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut all = ["digital signature", "key encipherment", role];
    all.sort_unstable();
    let mut without = vec!["digital signature", role];
    without.sort_unstable();
    if sorted == all || sorted == without {
        return Ok(());
    }
    Err(format!("usages did not match [{}]", all.join(" ")))
}

fn client_usages(usages: &[&str]) -> Result<(), String> {
    let optional = ["digital signature", "key encipherment"];
    if let Some(other) = usages.iter().find(|usage| **usage != "client auth" && !optional.contains(usage)) {
        return Err(format!("invalid usage for client certificate: {other}"));
    }
    if usages.contains(&"client auth") {
        return Ok(());
    }
    Err("missing required usage for client certificate: client auth".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Request {
        Request {
            organizations: vec!["system:nodes".into()],
            common_name: "system:node:a".into(),
            ..Request::default()
        }
    }

    #[test]
    fn what_signers_sign() {
        let client = ["client auth", "digital signature"];
        let serving = ["key encipherment", "digital signature", "server auth"];
        let words = |why: &str| Some(Err(why.to_owned()));
        for (request, signer, usages, want) in [
            (node(), KUBELET_CLIENT, &client[..], Some(Ok(()))),
            (
                node(),
                KUBELET_CLIENT,
                &serving[..],
                words("usages did not match [client auth digital signature key encipherment]"),
            ),
            (
                Request { common_name: "a".into(), ..node() },
                KUBELET_CLIENT,
                &client[..],
                words("subject common name does not begin with system:node:"),
            ),
            (
                Request { dns_names: 1, ..node() },
                KUBELET_CLIENT,
                &client[..],
                words("DNS subjectAltNames are not allowed"),
            ),
            (node(), KUBELET_SERVING, &serving[..], words("DNS or IP subjectAltName is required")),
            (Request { addresses: 1, ..node() }, KUBELET_SERVING, &serving[..], Some(Ok(()))),
            (
                Request::default(),
                KUBELET_SERVING,
                &serving[..],
                words("subject organization is not system:nodes"),
            ),
            (Request::default(), CLIENT, &client[..], Some(Ok(()))),
            (
                Request::default(),
                CLIENT,
                &serving[..],
                words("invalid usage for client certificate: server auth"),
            ),
            (
                Request::default(),
                CLIENT,
                &["digital signature"][..],
                words("missing required usage for client certificate: client auth"),
            ),
            (Request::default(), LEGACY, &serving[..], Some(Ok(()))),
            (Request::default(), "example.com/other", &client[..], None),
        ] {
            assert_eq!(request.fits(signer, usages), want, "{signer} {usages:?}");
        }
    }
}
