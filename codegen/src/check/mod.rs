//! The rules that specs keep. One file per rule; each looks at everything and reports every fault
//! it finds, so that one build shows them all. What passes can be lowered without looking back.

mod controllers;
pub(crate) mod decisions;
mod default_literal;
mod duplicate_tag;
mod examples;
mod hooks;
pub mod index;
mod list_keys;
mod rules_fit;
mod short_names;
mod storage;
mod unknown_field;
mod unknown_type;
mod verbs;

use crate::check::index::Index;
use crate::diagnostic::Diagnostics;
use crate::spec::Spec;

/// Reports every fault.
pub fn check(spec: &Spec, problems: &mut Diagnostics) {
    let index = Index::of(spec);
    let rules: [fn(&Index<'_>, &mut Diagnostics); 13] = [
        unknown_type::check,
        unknown_field::check,
        duplicate_tag::check,
        list_keys::check,
        default_literal::check,
        rules_fit::check,
        verbs::check,
        short_names::check,
        storage::check,
        hooks::check,
        examples::check,
        controllers::check,
        decisions::check,
    ];
    for rule in rules {
        rule(&index, problems);
    }
}
