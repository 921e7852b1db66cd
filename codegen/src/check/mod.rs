//! The rules that specs keep. One file per rule; each looks at everything and reports every fault
//! it finds, so that one build shows them all. What passes can be lowered without looking back.

pub mod index;
mod unknown_type;

use crate::check::index::Index;
use crate::diagnostic::Diagnostics;
use crate::spec::Spec;

/// Reports every fault.
pub fn check(spec: &Spec, problems: &mut Diagnostics) {
    let index = Index::of(spec);
    for rule in [unknown_type::check] {
        rule(&index, problems);
    }
}
