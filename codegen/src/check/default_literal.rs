//! Defaults are values of their field's type.

use crate::check::index::{Index, fields};
use crate::diagnostic::Diagnostics;
use crate::literal;

/// Reports literals of another type, and fields with two defaults.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    for (home, _, field) in fields(index.spec) {
        for (word, written) in [("default", &field.default), ("fill", &field.fill)] {
            let Some(node) = written else { continue };
            if let Err(wrong) = literal::json(index, home, &field.holds, node) {
                problems.report(&wrong.at, format!("bad `{word}` of `{}`: {}", *field.name, wrong.value));
            }
        }
        if let (Some(_), Some(fill)) = (&field.default, &field.fill) {
            let help = "`default` is published, `fill` is not; a field has one of them";
            problems.report_with_help(&fill.at, format!("`{}` has two defaults", *field.name), help);
        }
    }
}
