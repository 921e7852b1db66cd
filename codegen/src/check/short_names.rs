//! Within a version, a name means one resource: plurals, singulars and short names do not overlap.

use std::collections::BTreeMap;

use crate::check::index::{Index, homes};
use crate::diagnostic::{Diagnostics, Spanned};

/// Reports names that mean two resources.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    for home in homes(index.spec) {
        let mut meant: BTreeMap<&str, &str> = BTreeMap::new();
        for resource in &home.version.resources {
            meant.insert(&resource.plural, &resource.plural);
            meant.insert(&resource.singular, &resource.plural);
        }
        for resource in &home.version.resources {
            for name in &resource.short_names {
                check_one(&mut meant, name, &resource.plural, problems);
            }
        }
    }
}

fn check_one<'a>(
    meant: &mut BTreeMap<&'a str, &'a str>,
    name: &'a Spanned<String>,
    plural: &'a str,
    problems: &mut Diagnostics,
) {
    match meant.insert(name, plural) {
        Some(other) if other != plural => {
            let message = format!("`{}` is already a name of `{other}`", **name);
            problems.report_with_help(&name.at, message, "kubectl could not tell which one is meant");
        }
        Some(_) => problems.report(&name.at, format!("`{}` is this resource's name already", **name)),
        None => {}
    }
}
