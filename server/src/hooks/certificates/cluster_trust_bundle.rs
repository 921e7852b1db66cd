//! ClusterTrustBundles: certificates of authorities, of a signer or of nobody in particular.

use std::collections::BTreeMap;

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;
use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

use crate::hooks::shared::signer::{signer_name, trust_bundle_name_of};

const BUNDLE_BYTES_MAX: usize = 1024 * 1024;

/// The hooks of ClusterTrustBundles.
#[derive(Debug)]
pub struct ClusterTrustBundle;

impl Hooks for ClusterTrustBundle {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, None, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        faults(object, Some(old), errors);
    }
}

/// What an old bundle has is not looked at again.
fn faults(bundle: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let text = |object: &Value, member: &str| object.text_at(&["spec", member]).to_owned();
    let (signer, name) = (text(bundle, "signerName"), object::name(bundle));
    let path = Path::new("spec");
    errors.invalid_each(&Path::new("metadata").child("name"), name, trust_bundle_name_of(&signer, name));
    if !signer.is_empty() {
        signer_name(&signer, &path.child("signerName"), errors);
    }
    let certificates = text(bundle, "trustBundle");
    if old.is_none_or(|old| text(old, "trustBundle") != certificates) {
        certificate_faults(&certificates, &path.child("trustBundle"), errors);
    }
    if old.is_some_and(|old| text(old, "signerName") != signer) {
        errors.invalid(path.child("signerName"), go_value(&signer.into()), "field is immutable");
    }
}

/// Certificates of authorities and nothing else, each once.
fn certificate_faults(text: &str, path: &Path, errors: &mut ErrorList) {
    if text.len() > BUNDLE_BYTES_MAX {
        errors.too_long(path.clone(), BUNDLE_BYTES_MAX);
        return;
    }
    let mut seen: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    let mut is_sound = true;
    let mut refuse = |why: &str| errors.invalid(path.clone(), quoted("<value omitted>"), why);
    for (at, block) in Pem::iter_from_buffer(text.as_bytes()).filter_map(Result::ok).enumerate() {
        match block_fault(at, &block) {
            None => seen.entry(block.contents).or_default().push(at),
            Some(why) => {
                is_sound = false;
                refuse(&why);
            }
        }
    }
    if !is_sound {
        return;
    }
    if seen.is_empty() {
        refuse("at least one trust anchor must be provided");
    }
    for places in seen.values().filter(|places| places.len() > 1) {
        let places: Vec<String> = places.iter().map(ToString::to_string).collect();
        refuse(&format!("duplicate trust anchor (indices [{}])", places.join(" ")));
    }
}

fn block_fault(at: usize, block: &Pem) -> Option<String> {
    if block.label != "CERTIFICATE" {
        return Some(format!("entry {at} has bad block type: {}", block.label));
    }
    let Ok((_, certificate)) = X509Certificate::from_der(&block.contents) else {
        return Some(format!("entry {at} does not parse as X.509"));
    };
    let is_authority = certificate.basic_constraints().ok().flatten().is_some_and(|basic| basic.value.ca);
    (!is_authority).then(|| format!("entry {at} does not have the CA bit set"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(is_authority: bool) -> String {
        let mut parameters = rcgen::CertificateParams::new(vec!["a".to_owned()]).unwrap();
        if is_authority {
            parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        }
        parameters.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem()
    }

    #[test]
    fn faults_of_bundles() {
        let authority = certificate(true);
        let refused = |why: &str| format!("p: Invalid value: \"<value omitted>\": {why}");
        let table = [
            (authority.clone(), "[]".to_owned()),
            (String::new(), refused("at least one trust anchor must be provided")),
            (authority.repeat(2), refused("duplicate trust anchor (indices [0 1])")),
            (authority + &certificate(false), refused("entry 1 does not have the CA bit set")),
            (
                "-----BEGIN KEY-----\nYQ==\n-----END KEY-----\n".to_owned(),
                refused("entry 0 has bad block type: KEY"),
            ),
        ];
        for (text, expected) in table {
            let mut errors = ErrorList::new();
            certificate_faults(&text, &Path::new("p"), &mut errors);
            assert_eq!(errors.aggregate(), expected);
        }
    }
}
