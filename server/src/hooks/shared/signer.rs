//! The names of signers, a domain and a path, and of what they trust.

use apiwright_meta::field::quoted;
use apiwright_meta::names::{
    DNS1123_LABEL_MAX, DNS1123_SUBDOMAIN_MAX, dns1123_label, dns1123_subdomain, name_is_dns_subdomain,
};
use apiwright_meta::{ErrorList, Path};

/// Room for a domain, a slash, and a namespace and a name with a dot between.
const NAME_BYTES_MAX: usize = DNS1123_SUBDOMAIN_MAX + 1 + DNS1123_LABEL_MAX + 1 + DNS1123_SUBDOMAIN_MAX;

/// The faults of a signer's name.
pub fn signer_name(name: &str, path: &Path, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.required(path.clone(), "");
        return;
    }
    let [domain, rest] = name.split('/').collect::<Vec<_>>()[..] else {
        let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.invalid(path.clone(), quoted(name), why);
        return;
    };
    if domain.len() > DNS1123_SUBDOMAIN_MAX {
        errors.too_long(path.clone(), DNS1123_SUBDOMAIN_MAX);
    }
    first_wrong_label(domain, dns1123_label, path, errors);
    if !domain.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        errors.invalid(path.clone(), quoted(domain), why);
    }
    first_wrong_label(rest, dns1123_subdomain, path, errors);
    if name.len() > NAME_BYTES_MAX {
        errors.too_long(path.clone(), NAME_BYTES_MAX);
    }
}

/// What is wrong with the name of a ClusterTrustBundle that is referred to: whose it is, it says itself.
pub fn trust_bundle_name(name: &str) -> Vec<String> {
    let signer = name.rsplit_once(':').map_or_else(String::new, |(signer, _)| signer.replace(':', "/"));
    trust_bundle_name_of(&signer, name)
}

/// What is wrong with the name of a signer's ClusterTrustBundle; of nobody's where the signer is empty.
pub fn trust_bundle_name_of(signer: &str, name: &str) -> Vec<String> {
    if signer.is_empty() {
        if name.contains(':') {
            return vec!["ClusterTrustBundle without signer name must not have \":\" in its name".into()];
        }
        return name_is_dns_subdomain(name, false);
    }
    let prefix = format!("{}:", signer.replace('/', ":"));
    match name.strip_prefix(&prefix) {
        None => {
            vec![format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}")]
        }
        Some(rest) => name_is_dns_subdomain(rest, false),
    }
}

/// Of several wrong labels the first is enough: they would all read the same.
fn first_wrong_label(text: &str, check: fn(&str) -> Vec<String>, path: &Path, errors: &mut ErrorList) {
    let wrong = text.split('.').map(|label| (label, check(label))).find(|(_, faults)| !faults.is_empty());
    for fault in wrong.iter().flat_map(|(label, faults)| faults.iter().map(move |fault| (label, fault))) {
        let why = format!("validating label {}: {}", quoted(fault.0), fault.1);
        errors.invalid(path.clone(), quoted(text), &why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_trust_bundles() {
        let table = [
            ("", "own", None),
            ("", "a:own", Some("ClusterTrustBundle without signer name must not have \":\" in its name")),
            ("example.com/a", "example.com:a:own", None),
            (
                "example.com/a",
                "own",
                Some(
                    "ClusterTrustBundle for signerName example.com/a must be named with prefix example.com:a:",
                ),
            ),
        ];
        for (signer, name, expected) in table {
            assert_eq!(trust_bundle_name_of(signer, name).first().map(String::as_str), expected, "{name}");
        }
        assert!(trust_bundle_name("example.com:a:own").is_empty());
    }

    #[test]
    fn names_of_signers() {
        let table = [
            ("example.com/own", "[]"),
            ("", "a: Required value"),
            (
                "own",
                "a: Invalid value: \"own\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
            ),
            (
                "example/own",
                "a: Invalid value: \"example\": should be a domain with at least two segments separated by dots",
            ),
        ];
        for (name, expected) in table {
            let mut errors = ErrorList::new();
            signer_name(name, &Path::new("a"), &mut errors);
            assert_eq!(errors.aggregate(), expected, "{name}");
        }
    }
}
