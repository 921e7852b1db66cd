//! Who says `hook` has hooks. Versions that are not served by default may wait for theirs: what
//! they leave to hooks is empty until then.

use crate::check::index::{Index, homes};
use crate::diagnostic::Diagnostics;
use crate::spec::{Cell, Names, Resource};

/// Reports resources that leave something to hooks that they do not have.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    let served = homes(index.spec).filter(|home| home.version.served);
    for resource in served.flat_map(|home| &home.version.resources) {
        match &resource.hooks {
            Some(hooks) if !is_type_name(hooks) => {
                problems.report(&hooks.at, format!("`{}` cannot be the name of a Rust type", **hooks));
            }
            Some(_) => {}
            None => check_one(resource, problems),
        }
    }
}

fn check_one(resource: &Resource, problems: &mut Diagnostics) {
    let help = format!("write `hooks: {}` and implement it in server/src/hooks", *resource.kind);
    for column in &resource.columns {
        if matches!(column.value, Cell::Hook) {
            let message = format!("the column `{}` needs hooks", *column.name);
            problems.report_with_help(&column.at, message, help.clone());
        }
    }
    if resource.storage.as_ref().is_some_and(|storage| storage.hook) {
        problems.report_with_help(&resource.plural.at, "the conversion needs hooks", help.clone());
    }
    if resource.strategy.names == Names::Hook {
        problems.report_with_help(&resource.plural.at, "the check of names needs hooks", help);
    }
}

fn is_type_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.chars().all(|one| one.is_ascii_alphanumeric())
}
