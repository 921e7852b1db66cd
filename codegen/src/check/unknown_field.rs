//! Paths and field names lead somewhere: those of columns, field selectors, scales and renames, the
//! keys of lists, the members of unions.

use crate::check::index::{Home, Index, fields, homes};
use crate::diagnostic::{Diagnostics, Spanned};
use crate::spec::{Cell, Column, ColumnDoc, Does, Field, Holds, Part, Resource, Type};

/// Reports names of fields that are not there.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    for home in homes(index.spec) {
        for one in &home.version.types {
            check_unions(one, problems);
            for column in &one.columns {
                check_column(index, home, one, column, problems);
            }
        }
        for resource in &home.version.resources {
            // A kind without a type is another rule's matter.
            if let Some(of) = index.local(home, &resource.kind) {
                check_resource(index, home, of, resource, problems);
            }
        }
    }
    for (home, _, field) in fields(index.spec) {
        check_keys(index, home, field, problems);
    }
}

fn check_resource<'a>(
    index: &Index<'a>,
    home: Home<'a>,
    of: &'a Type,
    resource: &'a Resource,
    problems: &mut Diagnostics,
) {
    for column in &resource.columns {
        check_column(index, home, of, column, problems);
    }
    for selectable in &resource.selectable {
        follow(index, home, of, &selectable.path, problems);
    }
    for subresource in &resource.subresources {
        if let Does::Scale(wished, actual, selector) = &subresource.does {
            for path in [wished, actual].into_iter().chain(selector) {
                follow(index, home, of, path, problems);
            }
        }
        if let Does::Status = &subresource.does
            && !of.fields.iter().any(|field| *field.name == "status")
        {
            let message = format!("`{}` has no field `status`", *of.name);
            problems.report(&subresource.name.at, message);
        }
    }
    for (here, there) in resource.storage.iter().flat_map(|storage| &storage.rename) {
        member(of, here, problems);
        let stored = resource.storage.as_ref().and_then(|storage| storage.stored_as.as_ref());
        if let Some((_, stored)) = stored.and_then(|name| index.find(home, name)) {
            member(stored, there, problems);
        }
    }
}

fn check_column<'a>(
    index: &Index<'a>,
    home: Home<'a>,
    of: &'a Type,
    column: &Column,
    problems: &mut Diagnostics,
) {
    match &column.value {
        Cell::Since(path) | Cell::Path(path, _) => follow(index, home, of, path, problems),
        Cell::Text(parts) => {
            for part in parts {
                if let Part::Path(path, _) = part {
                    follow(index, home, of, path, problems);
                }
            }
        }
        Cell::Name | Cell::Age | Cell::Hook => {}
    }
    if let ColumnDoc::Of(field) = &column.doc {
        match index.find(home, &field.of) {
            Some((_, of)) => member(of, &Spanned::new(field.field.clone(), field.at.clone()), problems),
            None => problems.report(&field.at, format!("unknown type `{}`", field.of)),
        }
    }
}

fn check_unions(one: &Type, problems: &mut Diagnostics) {
    for union in &one.unions {
        for name in union.discriminator.iter().chain(union.members.iter().map(|(field, _)| field)) {
            member(one, name, problems);
        }
    }
}

/// The keys of a list are fields of its items.
fn check_keys<'a>(index: &Index<'a>, home: Home<'a>, field: &Field, problems: &mut Diagnostics) {
    let (Holds::List(item) | Holds::Map(item)) = &field.holds.value else { return };
    let Holds::Named(name) = &**item else { return };
    let Some((_, of)) = index.find(home, name) else { return };
    for key in field.keys.iter().chain(&field.patch_key) {
        member(of, key, problems);
    }
}

fn follow<'a>(
    index: &Index<'a>,
    home: Home<'a>,
    of: &'a Type,
    path: &Spanned<String>,
    problems: &mut Diagnostics,
) {
    // That a path is missing was said where it was read.
    if !path.is_empty()
        && let Err((step, known)) = index.follow(home, of, path)
    {
        problems.report_unknown(&path.at, &format!("field in `{}`:", **path), &step, known);
    }
}

fn member(of: &Type, name: &Spanned<String>, problems: &mut Diagnostics) {
    if !of.fields.iter().any(|field| *field.name == **name) {
        let known = of.fields.iter().map(|field| field.name.as_str());
        problems.report_unknown(&name.at, &format!("field of `{}`:", *of.name), name, known);
    }
}
