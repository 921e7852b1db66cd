//! The named formats of strings.

use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names};

use super::{Words, formats};

/// Checks a text against a format; unknown ones allow everything, as upstream's do.
pub(super) fn check(format: &str, text: &str, path: &Path, words: Words, errors: &mut ErrorList) {
    if words == Words::Custom {
        let fits = match format {
            "k8s-short-name" => names::dns1123_label(text).is_empty(),
            "k8s-long-name" => names::dns1123_subdomain(text).is_empty(),
            format => formats::is(format, text),
        };
        if !fits {
            let detail = format!("{} in body must be of type {format}: {}", path.as_str(), quoted(text));
            errors.type_invalid(path.clone(), quoted(text), &detail);
        }
        return;
    }
    match format {
        "k8s-short-name" => errors.invalid_each(path, text, names::dns1123_label(text)),
        "k8s-long-name" => errors.invalid_each(path, text, names::dns1123_subdomain(text)),
        "k8s-long-name-caseless" => errors.invalid_each(path, text, caseless_subdomain(text)),
        "k8s-label-key" => errors.invalid_each(path, text, names::label_key(text)),
        "k8s-prefixed-label-key" => errors.invalid_each(path, text, names::prefixed_label_key(text)),
        "k8s-label-value" => errors.invalid_each(path, text, names::label_value(text)),
        "k8s-path-segment-name" => errors.invalid_each(path, text, names::path_segment_name(text)),
        "k8s-uuid" if !is_uuid(text) => {
            errors.invalid(path.clone(), quoted(text), "must be a lowercase UUID in 8-4-4-4-12 format");
        }
        "k8s-resource-pool-name" => pool_name(text, path, errors),
        "k8s-extended-resource-name" => extended_resource_name(text, path, errors),
        "k8s-resource-fully-qualified-name" => fully_qualified_name(text, path, errors),
        _ => {}
    }
}

/// A subdomain with capitals allowed, which has words of its own.
fn caseless_subdomain(text: &str) -> Vec<String> {
    let mut faults = names::dns1123_subdomain(&text.to_ascii_lowercase());
    for fault in faults.iter_mut().filter(|fault| fault.contains("regex used")) {
        *fault = names::mismatch(
            "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an \
             alphanumeric character",
            r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
            &["Example.com"],
        );
    }
    faults
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

/// Subdomains with slashes between them.
fn pool_name(text: &str, path: &Path, errors: &mut ErrorList) {
    if text.len() > 253 {
        errors.too_long(path.clone(), 253);
    }
    for (at, part) in text.split('/').enumerate() {
        if part.is_empty() {
            errors.invalid(path.clone(), quoted(text), &format!("segment {at}: must not be empty"));
        }
        for fault in names::dns1123_subdomain(part).into_iter().filter(|_| !part.is_empty()) {
            errors.invalid(path.clone(), quoted(part), &format!("segment {at}: {fault}"));
        }
    }
}

/// A name in a domain that is not Kubernetes', and that quotas can count.
fn extended_resource_name(text: &str, path: &Path, errors: &mut ErrorList) {
    let fault = |detail: &str, errors: &mut ErrorList| errors.invalid(path.clone(), quoted(text), detail);
    if !text.contains('/') {
        fault("a name must be a domain-prefixed path, such as 'example.com/my-prop'", errors);
    } else if text.contains("kubernetes.io/") {
        fault("must not have \"kubernetes.io/\" domain", errors);
    }
    if text.starts_with("requests.") {
        fault("must not have \"requests.\" prefix", errors);
    }
    errors.invalid_each(path, text, names::label_key(&format!("requests.{text}")));
}

/// A domain, a slash and an identifier of at most 32 characters.
fn fully_qualified_name(text: &str, path: &Path, errors: &mut ErrorList) {
    let parts: Vec<&str> = text.split('/').collect();
    match parts[..] {
        [name] => identifier(name, path, errors),
        [domain, name] => {
            if domain.is_empty() {
                errors.invalid(path.clone(), "\"\"", "prefix must not be empty");
            } else {
                if domain.len() > 63 {
                    errors.too_long(path.clone(), 63);
                }
                for fault in names::dns1123_subdomain(domain) {
                    errors.invalid(path.clone(), quoted(domain), &format!("prefix: {fault}"));
                }
            }
            if name.is_empty() {
                errors.invalid(path.clone(), "\"\"", "name must not be empty");
            } else {
                identifier(name, path, errors);
            }
        }
        _ => {}
    }
    if parts.len() == 1 {
        let detail = "a fully qualified name must be a domain and a name separated by a slash";
        errors.invalid(path.clone(), quoted(text), detail);
    }
}

fn identifier(name: &str, path: &Path, errors: &mut ErrorList) {
    const LENGTH_MAX: usize = 32;
    if name.len() > LENGTH_MAX {
        errors.too_long(path.clone(), LENGTH_MAX);
    }
    errors.invalid_each(path, name, names::c_identifier(name));
}
