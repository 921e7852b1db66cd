//! Names within a domain: `example.com/thing` and `thing.example.com` (upstream: `util/validation`).

use crate::field::{ErrorList, Path, quoted};
use crate::names;

/// The faults of a name of at least three segments, as webhooks have: `hook.example.com`.
pub fn validate_fully_qualified_name(path: &Path, name: &str) -> ErrorList {
    let mut errors = ErrorList::new();
    let faults = names::dns1123_subdomain(name);
    if name.is_empty() {
        errors.required(path.clone(), "");
    } else if !faults.is_empty() {
        errors.invalid(path.clone(), quoted(name), &faults.join(","));
    } else if name.split('.').count() < 3 {
        let words = "should be a domain with at least three segments separated by dots";
        errors.invalid(path.clone(), quoted(name), words);
    }
    errors
}

/// The faults of a host's whole name, with or without a final dot.
pub fn validate_fully_qualified_domain_name(path: &Path, name: &str) -> ErrorList {
    let mut errors = ErrorList::new();
    if name.is_empty() {
        errors.required(path.clone(), "");
        return errors;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let faults = names::dns1123_subdomain(name);
    if !faults.is_empty() {
        errors.invalid(path.clone(), quoted(name), &faults.join(","));
        return errors;
    }
    if name.split('.').count() < 2 {
        let words = "should be a domain with at least two segments separated by dots";
        errors.invalid(path.clone(), quoted(name), words);
        return errors;
    }
    let wrong = name
        .split('.')
        .map(|label| (label, names::dns1123_label(label)))
        .find(|(_, faults)| !faults.is_empty());
    if let Some((label, faults)) = wrong {
        errors.invalid(path.clone(), quoted(label), &faults.join(","));
    }
    errors
}

/// The faults of a path behind a domain: `example.com/a/b`.
pub fn validate_domain_prefixed_path(path: &Path, value: &str) -> ErrorList {
    const HTTP_PATH: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
    let mut errors = ErrorList::new();
    if value.is_empty() {
        errors.required(path.clone(), "");
        return errors;
    }
    let Some((host, rest)) =
        value.split_once('/').filter(|(host, rest)| !host.is_empty() && !rest.is_empty())
    else {
        let words = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.invalid(path.clone(), quoted(value), words);
        return errors;
    };
    errors.invalid_each(path, host, names::dns1123_subdomain(host));
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !rest.bytes().all(fine) {
        errors.invalid(path.clone(), quoted(rest), &names::mismatch("Invalid path", HTTP_PATH, &[]));
    }
    errors
}

/// The faults of a label's key that must have a prefix.
pub fn validate_domain_prefixed_key(path: &Path, key: &str) -> ErrorList {
    let mut errors = ErrorList::new();
    if key.is_empty() {
        errors.required(path.clone(), "");
        return errors;
    }
    errors.invalid_each(path, key, names::label_key(key));
    if errors.is_empty() && !key.contains('/') {
        let words = "must be a domain-prefixed key (such as \"acme.io/foo\")";
        errors.invalid(path.clone(), quoted(key), words);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults() {
        type Check = fn(&Path, &str) -> ErrorList;
        let table: &[(Check, &str, &str)] = &[
            (validate_fully_qualified_name, "a.b.c", "[]"),
            (validate_fully_qualified_name, "", "p: Required value"),
            (
                validate_fully_qualified_name,
                "a.b",
                "p: Invalid value: \"a.b\": should be a domain with at least three segments separated by dots",
            ),
            (validate_fully_qualified_domain_name, "a.b.", "[]"),
            (
                validate_fully_qualified_domain_name,
                "a",
                "p: Invalid value: \"a\": should be a domain with at least two segments separated by dots",
            ),
            (validate_domain_prefixed_path, "a.b/c/d", "[]"),
            (
                validate_domain_prefixed_path,
                "a.b/",
                "p: Invalid value: \"a.b/\": must be a domain-prefixed path (such as \"acme.io/foo\")",
            ),
            (
                validate_domain_prefixed_path,
                "a.b/ c",
                "p: Invalid value: \" c\": Invalid path (regex used for validation is \
                 '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
            ),
            (validate_domain_prefixed_key, "a.b/c", "[]"),
            (
                validate_domain_prefixed_key,
                "c",
                "p: Invalid value: \"c\": must be a domain-prefixed key (such as \"acme.io/foo\")",
            ),
        ];
        for (check, value, expected) in table {
            assert_eq!(check(&Path::new("p"), value).aggregate(), *expected, "{value}");
        }
    }
}
