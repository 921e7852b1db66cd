//! Paths that stay where they belong.

use apiwright_meta::Path;
use apiwright_meta::field::quoted;

use super::Faults;

/// A path that stays below its root.
pub fn descending(text: &str, path: &Path, out: &mut Faults<'_>) {
    if text.starts_with('/') {
        out.invalid(path.clone(), quoted(text), "must be a relative path");
    }
    no_steps_back(text, path, out);
}

/// A path below its root whose names are free.
pub fn local(text: &str, path: &Path, out: &mut Faults<'_>) {
    descending(text, path, out);
    if text.starts_with("..") && !text.starts_with("../") {
        out.invalid(path.clone(), quoted(text), "must not start with '..'");
    }
}

/// A path without a way up.
pub fn no_steps_back(text: &str, path: &Path, out: &mut Faults<'_>) {
    if text.split('/').any(|part| part == "..") {
        out.invalid(path.clone(), quoted(text), "must not contain '..'");
    }
}
