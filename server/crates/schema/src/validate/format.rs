//! The named formats of strings in built-in kinds.

use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names};

/// Checks a text against a format; unknown ones allow everything, as upstream's do.
pub(super) fn check(format: &str, text: &str, path: &Path, errors: &mut ErrorList) {
    match format {
        "k8s-short-name" => errors.invalid_each(path, text, names::dns1123_label(text)),
        "k8s-long-name" => errors.invalid_each(path, text, names::dns1123_subdomain(text)),
        "k8s-long-name-caseless" => {
            errors.invalid_each(path, text, names::dns1123_subdomain(&text.to_ascii_lowercase()));
        }
        "k8s-label-key" => errors.invalid_each(path, text, names::label_key(text)),
        "k8s-prefixed-label-key" => errors.invalid_each(path, text, names::prefixed_label_key(text)),
        "k8s-label-value" => errors.invalid_each(path, text, names::label_value(text)),
        "k8s-path-segment-name" => errors.invalid_each(path, text, names::path_segment_name(text)),
        "k8s-uuid" if !is_uuid(text) => errors.invalid(path.clone(), quoted(text), uuid_fault(text)),
        "k8s-resource-pool-name" => pool_name(text, path, errors),
        "k8s-extended-resource-name" => extended_resource_name(text, path, errors),
        "k8s-resource-fully-qualified-name" => fully_qualified_name(text, path, errors),
        _ => {}
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

/// What is wrong with a text that is no UUID in lower case.
fn uuid_fault(text: &str) -> &'static str {
    let is_spelt = text.len() == 36 && is_uuid(&text.to_ascii_lowercase());
    if is_spelt {
        "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal \
         characters"
    } else {
        "error validating uid: invalid UUID format"
    }
}

/// Subdomains with slashes between them.
fn pool_name(text: &str, path: &Path, errors: &mut ErrorList) {
    if text.len() > 253 {
        errors.too_long(path.clone(), 253);
    }
    for part in text.split('/') {
        errors.invalid_each(path, part, names::dns1123_subdomain(part));
    }
}

/// A name in a domain that is not Kubernetes', and that quotas can count.
fn extended_resource_name(text: &str, path: &Path, errors: &mut ErrorList) {
    let is_extended = text.contains('/')
        && !text.contains("kubernetes.io/")
        && !text.starts_with("requests.")
        && names::label_key(&format!("requests.{text}")).is_empty();
    if !is_extended {
        errors.invalid(path.clone(), quoted(text), "must be a valid extended resource name");
    }
}

/// A domain, a slash and an identifier of at most 32 characters.
fn fully_qualified_name(text: &str, path: &Path, errors: &mut ErrorList) {
    match text.split('/').collect::<Vec<_>>()[..] {
        [name] => {
            identifier(name, path, errors);
            let detail = "a fully qualified name must be a domain and a name separated by a slash";
            errors.invalid(path.clone(), quoted(text), detail);
        }
        [domain, name] => {
            if domain.is_empty() {
                errors.invalid(path.clone(), "\"\"", "the domain must not be empty");
            } else {
                if domain.len() > 63 {
                    errors.too_long(path.clone(), 63);
                }
                errors.invalid_each(path, domain, names::dns1123_subdomain(&domain.to_ascii_lowercase()));
            }
            if name.is_empty() {
                errors.invalid(path.clone(), "\"\"", "the name must not be empty");
            } else {
                identifier(name, path, errors);
            }
        }
        _ => errors.invalid(path.clone(), quoted(text), "must not contain more than one slash"),
    }
}

fn identifier(name: &str, path: &Path, errors: &mut ErrorList) {
    const LENGTH_MAX: usize = 32;
    if name.len() > LENGTH_MAX {
        errors.too_long(path.clone(), LENGTH_MAX);
    }
    errors.invalid_each(path, name, names::c_identifier(name));
}
