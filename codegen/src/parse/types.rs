//! `groups/<folder>/<version>/types.yaml`.

use crate::diagnostic::{Diagnostics, Spanned};
use crate::parse::words::{Words, entries, text};
use crate::parse::yaml::{Node, Tree};
use crate::parse::{names, resource};
use crate::spec::{Field, ListType, Rule, Type, Union};

/// The word under which a type says what holds for all of it.
const TYPE: &str = "$type";

/// Reads a file of types, in the order of the file.
pub(super) fn read(tree: Node, problems: &mut Diagnostics) -> Vec<Type> {
    entries(tree, problems).into_iter().map(|(name, fields)| read_type(name, fields, problems)).collect()
}

fn read_type(name: Spanned<String>, node: Node, problems: &mut Diagnostics) -> Type {
    let mut found =
        Type { name, doc: None, atomic: false, unions: Vec::new(), columns: Vec::new(), fields: Vec::new() };
    for (name, node) in entries(node, problems) {
        if *name == TYPE {
            if let Some(words) = Words::of(node, problems) {
                whole(&mut found, words);
            }
        } else if let Some(words) = Words::of(node, problems)
            && let Some(field) = field(name, words)
        {
            found.fields.push(field);
        }
    }
    found
}

fn whole(found: &mut Type, mut words: Words<'_>) {
    found.doc = words.text("doc");
    found.atomic = words.flag("atomic").unwrap_or(false);
    for node in words.items("unions") {
        let Some(mut words) = Words::of(node, words.problems()) else { continue };
        let discriminator = words.text("discriminator");
        let members = words.entries("members");
        let members = members
            .into_iter()
            .filter_map(|(field, value)| Some((field, text(value, words.problems())?.value)))
            .collect();
        words.finish();
        found.unions.push(Union { discriminator, members });
    }
    found.columns = words
        .items("columns")
        .into_iter()
        .filter_map(|node| resource::column(node, words.problems()))
        .collect();
    words.finish();
}

fn field(name: Spanned<String>, mut words: Words<'_>) -> Option<Field> {
    let held = words.need_text("type");
    let required = words.flag("required").unwrap_or(false);
    let field = Field {
        holds: Spanned::new(names::holds(&held), held.at.clone()),
        doc: words.text("doc"),
        pb: words.number("pb"),
        within: within(&mut words),
        required,
        pointer: words.flag("pointer").unwrap_or(false),
        keep: words.flag("keep").unwrap_or(required),
        go_type: words.text("goType").map(|text| text.value).unwrap_or_default(),
        list_type: words.choice(
            "listType",
            &[("atomic", ListType::Atomic), ("set", ListType::Set), ("map", ListType::Map)],
        ),
        keys: words.texts("keys").unwrap_or_default(),
        map_atomic: words
            .choice("mapType", &[("atomic", true), ("granular", false)])
            .map(|atomic| atomic.value),
        patch: patch(&mut words),
        patch_key: words.text("patchKey"),
        default: words.take("default"),
        fill: words.take("fill"),
        rules: rules(&mut words),
        name,
    };
    words.finish();
    if held.is_empty() { None } else { Some(field) }
}

/// One number, or several from the outermost message on.
fn within(words: &mut Words<'_>) -> Vec<u32> {
    let Some(node) = words.take("within") else { return Vec::new() };
    let nodes = match node.value {
        Tree::List(items) => items,
        _ => vec![node],
    };
    let problems = words.problems();
    nodes
        .into_iter()
        .filter_map(|node| crate::parse::words::number(node, problems))
        .map(|one| one.value)
        .collect()
}

/// The strategies of strategic merge patches; `replace` is what fields without one do.
const STRATEGIES: [&str; 3] = ["merge", "replace", "retainKeys"];

/// One strategy, or `merge retainKeys`.
fn patch(words: &mut Words<'_>) -> Option<Spanned<Vec<String>>> {
    let written = words.text("patch")?;
    let found: Vec<String> = written.split_whitespace().map(Into::into).collect();
    for one in &found {
        if !STRATEGIES.contains(&one.as_str()) {
            words.problems().report_unknown(&written.at, "patch strategy", one, STRATEGIES);
        }
    }
    Some(Spanned::new(found, written.at))
}

/// In the order in which faults are reported.
fn rules(words: &mut Words<'_>) -> Vec<Spanned<Rule>> {
    let mut rules = Vec::new();
    if let Some(nonempty) = words.take("nonEmpty") {
        rules.push(Spanned::new(Rule::NonEmpty, nonempty.at));
    }
    for (word, rule) in
        [("enum", Rule::Enum as fn(Vec<String>) -> Rule), ("values", Rule::Values as fn(Vec<String>) -> Rule)]
    {
        if let Some(texts) = words.texts(word) {
            let at = texts.first().map_or_else(|| words.at.clone(), |one| one.at.clone());
            rules.push(Spanned::new(rule(texts.into_iter().map(|one| one.value).collect()), at));
        }
    }
    for (word, rule) in
        [("minimum", Rule::Minimum as fn(f64) -> Rule), ("maximum", Rule::Maximum as fn(f64) -> Rule)]
    {
        rules.extend(words.number(word).map(|number| Spanned::new(rule(number.value), number.at)));
    }
    for (word, rule) in [
        ("minLength", Rule::MinLength as fn(u64) -> Rule),
        ("maxLength", Rule::MaxLength as fn(u64) -> Rule),
        ("maxBytes", Rule::MaxBytes as fn(u64) -> Rule),
        ("minItems", Rule::MinItems as fn(u64) -> Rule),
        ("maxItems", Rule::MaxItems as fn(u64) -> Rule),
    ] {
        rules.extend(words.number(word).map(|number| Spanned::new(rule(number.value), number.at)));
    }
    for (word, rule) in
        [("pattern", Rule::Pattern as fn(String) -> Rule), ("format", Rule::Format as fn(String) -> Rule)]
    {
        rules.extend(words.text(word).map(|text| Spanned::new(rule(text.value), text.at)));
    }
    if let Some(immutable) = words.take("immutable") {
        rules.push(Spanned::new(Rule::Immutable, immutable.at));
    }
    rules
}
