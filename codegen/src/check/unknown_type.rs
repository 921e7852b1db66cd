//! What is referred to exists: the types of fields, the kinds of resources and subresources.

use crate::check::index::{Home, Index, fields, homes};
use crate::diagnostic::{Diagnostics, Place};
use crate::parse;
use crate::spec::{Holds, TypeName};

/// Reports references that lead nowhere.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    for (home, _, field) in fields(index.spec) {
        let mut holds = &field.holds.value;
        while let Holds::List(inner) | Holds::Map(inner) = holds {
            holds = inner;
        }
        if let Holds::Named(name) = holds {
            check_one(index, home, name, &field.holds.at, problems);
        }
    }
    for home in homes(index.spec) {
        for resource in &home.version.resources {
            if !resource.kind.is_empty() && index.local(home, &resource.kind).is_none() {
                let help = format!("add a type `{}` to the types.yaml beside it", *resource.kind);
                let what = format!("the kind `{}` has no type", *resource.kind);
                problems.report_with_help(&resource.kind.at, what, help);
            }
            for kind in resource.subresources.iter().filter_map(|one| one.kind.as_ref()) {
                check_one(index, home, kind, &kind.at, problems);
            }
            for kind in resource.storage.iter().filter_map(|storage| storage.stored_as.as_ref()) {
                check_one(index, home, kind, &kind.at, problems);
            }
        }
    }
}

fn check_one<'a>(index: &Index<'a>, home: Home<'a>, name: &TypeName, at: &Place, problems: &mut Diagnostics) {
    if index.find(home, name).is_none() {
        let mut known = index.names(home);
        known.extend(parse::built_in_names().map(String::from));
        problems.report_unknown(at, "type", &name.to_string(), known.iter().map(String::as_str));
    }
}
