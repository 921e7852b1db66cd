//! Verbs are those that the API has, and no resource lists one twice.

use crate::check::index::{Index, homes};
use crate::diagnostic::{Diagnostics, Spanned};
use crate::ir::Verb;

/// Reports verbs that are not.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    for resource in homes(index.spec).flat_map(|home| &home.version.resources) {
        check_some(&resource.verbs, problems);
        for subresource in &resource.subresources {
            check_some(&subresource.verbs, problems);
        }
    }
}

fn check_some(verbs: &[Spanned<String>], problems: &mut Diagnostics) {
    for (at, verb) in verbs.iter().enumerate() {
        if !Verb::ALL.iter().any(|(name, _)| *name == verb.value) {
            problems.report_unknown(&verb.at, "verb", verb, Verb::ALL.iter().map(|(name, _)| *name));
        } else if verbs[..at].iter().any(|other| other.value == verb.value) {
            problems.report(&verb.at, format!("`{}` is listed twice", **verb));
        }
    }
}
