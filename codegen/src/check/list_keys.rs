//! Lists say how they merge, and only lists do: a map list has keys, keys belong to map lists.

use crate::check::index::{Index, fields};
use crate::diagnostic::Diagnostics;
use crate::spec::{Field, Holds, ListType};

/// Reports list words that do not fit together.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    for (_, _, field) in fields(index.spec) {
        check_list(field, problems);
        check_patch(field, problems);
    }
}

fn check_list(field: &Field, problems: &mut Diagnostics) {
    let Some(list_type) = &field.list_type else {
        if let Some(key) = field.keys.first() {
            problems.report_with_help(&key.at, "keys without a list type", "say `listType: map`");
        }
        return;
    };
    let Holds::List(item) = &field.holds.value else {
        problems.report(&list_type.at, format!("`{}` is no list", *field.name));
        return;
    };
    let of_objects = matches!(**item, Holds::Named(_));
    match list_type.value {
        ListType::Map if !of_objects => {
            problems.report_with_help(&list_type.at, "only objects have keys", "say `set` or `atomic`");
        }
        ListType::Map if field.keys.is_empty() => {
            let help = "say which fields tell items apart: `keys: [name]`";
            problems.report_with_help(&list_type.at, "a map list needs keys", help);
        }
        ListType::Map => {}
        ListType::Set | ListType::Atomic => {
            if let Some(key) = field.keys.first() {
                problems.report_with_help(&key.at, "only a map list has keys", "say `listType: map`");
            }
        }
    }
}

fn check_patch(field: &Field, problems: &mut Diagnostics) {
    if let Some(key) = &field.patch_key
        && !field.patch.as_ref().is_some_and(|words| words.iter().any(|word| word == "merge"))
    {
        problems.report_with_help(&key.at, "a patch key without merging", "say `patch: merge`");
    }
}
