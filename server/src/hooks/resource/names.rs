//! The names of attributes and capacities: an identifier, with or without a domain.

use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names};

use crate::hooks::shared::storage_driver::csi_name;

/// How long an identifier is at most, and a whole name.
const IDENTIFIER_BYTES_MAX: usize = 32;
const NAME_BYTES_MAX: usize = 63 + 1 + IDENTIFIER_BYTES_MAX;

/// The faults of a name whose domain may be left out.
pub(super) fn qualified(name: &str, path: &Path, errors: &mut ErrorList) {
    match name.split('/').collect::<Vec<_>>()[..] {
        [name] => identifier(name, path, errors),
        [domain, name] => {
            if domain.is_empty() {
                errors.invalid(path.clone(), "\"\"", "the domain must not be empty");
            } else {
                csi_name(domain, path, errors);
            }
            if name.is_empty() {
                errors.invalid(path.clone(), "\"\"", "the name must not be empty");
            } else {
                identifier(name, path, errors);
            }
        }
        _ => errors.invalid(path.clone(), quoted(name), "must not contain more than one slash"),
    }
}

/// The faults of a name that has a domain.
pub(super) fn fully_qualified(name: &str, path: &Path, errors: &mut ErrorList) {
    qualified(name, path, errors);
    if !name.contains('/') {
        let why = "a fully qualified name must be a domain and a name separated by a slash";
        errors.invalid(path.clone(), quoted(name), why);
    }
}

fn identifier(name: &str, path: &Path, errors: &mut ErrorList) {
    if name.len() > IDENTIFIER_BYTES_MAX {
        errors.too_long(path.clone(), IDENTIFIER_BYTES_MAX);
    }
    errors.invalid_each(path, name, names::c_identifier(name));
}

/// A key as paths show it: too long ones without their middle.
pub(super) fn shown_key(key: &str, bytes_max: usize) -> String {
    let most = bytes_max.max(16);
    if key.len() <= most {
        return key.to_owned();
    }
    let rest = most - 3;
    let (mut head, mut tail) = (rest.div_ceil(2), key.len() - rest / 2);
    while !key.is_char_boundary(head) {
        head -= 1;
    }
    while !key.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}...{}", &key[..head], &key[tail..])
}

/// The path of an attribute or a capacity.
pub(super) fn key_path(path: &Path, key: &str) -> Path {
    path.key(&shown_key(key, NAME_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_attributes() {
        let table = [
            ("model", "[]"),
            ("gpu.example.com/model", "[]"),
            ("/model", "a: Invalid value: \"\": the domain must not be empty"),
            ("gpu.example.com/", "a: Invalid value: \"\": the name must not be empty"),
            ("a/b/c", "a: Invalid value: \"a/b/c\": must not contain more than one slash"),
        ];
        for (name, expected) in table {
            let mut errors = ErrorList::new();
            qualified(name, &Path::new("a"), &mut errors);
            assert_eq!(errors.aggregate(), expected, "{name}");
        }
    }

    #[test]
    fn keys_are_shortened_in_the_middle() {
        let table = [("short", "short"), ("abcdefghijklmnopqrstuvwxyz", "abcdefg...uvwxyz")];
        for (key, expected) in table {
            assert_eq!(shown_key(key, 1), expected, "{key}");
        }
        let odd = "ä".repeat(20);
        assert!(shown_key(&odd, 1).contains("..."));
    }
}
