//! The names of signers: a domain and a path.

use apiwright_meta::field::quoted;
use apiwright_meta::names::{DNS1123_LABEL_MAX, DNS1123_SUBDOMAIN_MAX, dns1123_label, dns1123_subdomain};
use apiwright_meta::{ErrorList, Path};

/// Room for a domain, a slash, and a namespace and a name with a dot between.
const NAME_BYTES_MAX: usize = DNS1123_SUBDOMAIN_MAX + 1 + DNS1123_LABEL_MAX + 1 + DNS1123_SUBDOMAIN_MAX;

/// The faults of a signer's name.
pub(super) fn faults(name: &str, path: &Path, errors: &mut ErrorList) {
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
            faults(name, &Path::new("a"), &mut errors);
            assert_eq!(errors.aggregate(), expected, "{name}");
        }
    }
}
