//! Minimal examples are objects of their kind, and what is tried can be tried.

use crate::check::index::{Home, Index, homes};
use crate::diagnostic::Diagnostics;
use crate::literal;
use crate::parse::yaml::{Node, Tree};
use crate::spec::{Examples, Holds, Resource, TypeName, Write};

/// Reports fields that kinds do not have and values of other types, objects without a name, changes
/// that are no maps, and writes that the resource does not have.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    for home in homes(index.spec) {
        for resource in &home.version.resources {
            if let Some(examples) = &resource.examples {
                check_minimal(index, home, resource, &examples.minimal, problems);
                check_rejected(resource, examples, problems);
            }
        }
    }
}

fn check_minimal<'a>(
    index: &Index<'a>,
    home: Home<'a>,
    resource: &'a Resource,
    minimal: &Node,
    problems: &mut Diagnostics,
) {
    let kind = TypeName { home: None, name: resource.kind.value.clone() };
    if let Err(wrong) = literal::json(index, home, &Holds::Named(kind), minimal) {
        problems.report(&wrong.at, format!("bad example: {}", wrong.value));
    }
    if !can(resource, "create") {
        problems.report(&minimal.at, format!("`{}` cannot be created", *resource.plural));
    }
    let is_named = member(minimal, "metadata").is_some_and(|metadata| member(metadata, "name").is_some());
    if resource.storage.is_some() && !is_named {
        problems.report(&minimal.at, "the example has no `metadata.name`");
    }
}

fn check_rejected(resource: &Resource, examples: &Examples, problems: &mut Diagnostics) {
    for one in &examples.rejected {
        if !matches!(one.change.value, Tree::Map(_)) {
            let message = format!("expected a map, found {}", one.change.value.what());
            problems.report(&one.change.at, message);
        }
        if one.write == Write::Update && !can(resource, "patch") {
            problems.report(&one.at, format!("`{}` cannot be patched", *resource.plural));
        }
    }
}

fn can(resource: &Resource, verb: &str) -> bool {
    resource.verbs.iter().any(|one| **one == verb)
}

fn member<'a>(of: &'a Node, name: &str) -> Option<&'a Node> {
    let Tree::Map(entries) = &of.value else { return None };
    entries.iter().find(|(key, _)| **key == name).map(|(_, value)| value)
}
