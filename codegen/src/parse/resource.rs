//! `groups/<folder>/<version>/<plural>.yaml`.

use crate::diagnostic::{Diagnostics, Place, Spanned};
use crate::parse::words::{Words, text};
use crate::parse::yaml::{Node, Tree};
use crate::parse::{examples, names};
use crate::spec::{
    Cell, Column, ColumnDoc, Does, FieldName, ListDocs, Names, Resource, Selectable, Storage, Strategy,
    Subresource, TypeName,
};

/// What may be done with a resource that does not say it.
const ALL_VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// What may be done with `status` and `scale`.
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// Reads a resource.
pub(super) fn read(plural: &str, tree: Node, problems: &mut Diagnostics) -> Option<Resource> {
    let file = Place { line: 1, column: 1, ..tree.at.clone() };
    let mut words = Words::of(tree, problems)?;
    let kind = words.need_text("kind");
    let singular = words.text("singular").map_or_else(|| kind.to_lowercase(), |text| text.value);
    let namespaced = words.choice("scope", &[("Namespaced", true), ("Cluster", false)]);
    if namespaced.is_none() && !words.was_given("scope") {
        words.problems().report(&file, "`scope` is missing");
    }
    let resource = Resource {
        singular,
        namespaced: namespaced.is_none_or(|one| one.value),
        short_names: words.texts("shortNames").unwrap_or_default(),
        categories: words.texts("categories").unwrap_or_default(),
        verbs: verbs(&mut words, &ALL_VERBS),
        storage: storage(&mut words),
        strategy: strategy(&mut words),
        hooks: words.text("hooks"),
        typed: words.flag("typed").unwrap_or(false),
        subresources: subresources(&mut words),
        selectable: selectable(&mut words),
        columns: {
            let nodes = words.items("columns");
            nodes.into_iter().filter_map(|node| column(node, words.problems())).collect()
        },
        examples: examples::read(&mut words),
        list: list(&mut words),
        plural: Spanned::new(plural.into(), file),
        kind,
    };
    words.finish();
    Some(resource)
}

fn verbs(words: &mut Words<'_>, usual: &[&str]) -> Vec<Spanned<String>> {
    let at = words.at.clone();
    words
        .texts("verbs")
        .unwrap_or_else(|| usual.iter().map(|verb| Spanned::new((*verb).into(), at.clone())).collect())
}

fn list(words: &mut Words<'_>) -> ListDocs {
    let Some(node) = words.take("list") else { return ListDocs::default() };
    let Some(mut words) = Words::of(node, words.problems()) else { return ListDocs::default() };
    let mut text = |name| words.text(name).map(|text| text.value);
    let docs = ListDocs { doc: text("doc"), metadata: text("metadata"), items: text("items") };
    words.finish();
    docs
}

fn storage(words: &mut Words<'_>) -> Option<Storage> {
    let usual =
        Storage { prefix: None, stored_as: None, rename: Vec::new(), hook: false, hash: None, ttl: 0 };
    let Some(node) = words.take("storage") else { return Some(usual) };
    if matches!(&node.value, Tree::Scalar(text, false) if text == "none") {
        return None;
    }
    let mut words = Words::of(node, words.problems())?;
    let renames = words.entries("rename");
    let rename = renames
        .into_iter()
        .filter_map(|(here, there)| Some((here, text(there, words.problems())?)))
        .collect::<Vec<_>>();
    let storage = Storage {
        prefix: words.text("prefix"),
        stored_as: words.text("as").map(reference),
        hook: words.choice("conversion", &[("hook", true)]).is_some(),
        hash: words.text("hash").map(|hash| hash.value),
        ttl: words.number("ttl").map_or(0, |ttl| ttl.value),
        rename,
    };
    words.exclusive(&[("rename", !storage.rename.is_empty()), ("conversion", storage.hook)]);
    words.finish();
    Some(storage)
}

fn strategy(words: &mut Words<'_>) -> Strategy {
    let Some(node) = words.take("strategy") else { return Strategy::default() };
    let Some(mut words) = Words::of(node, words.problems()) else { return Strategy::default() };
    let names = words.choice(
        "names",
        &[
            ("subdomain", Names::Subdomain),
            ("label", Names::Label),
            ("label1035", Names::Label1035),
            ("pathSegment", Names::PathSegment),
            ("hook", Names::Hook),
        ],
    );
    let strategy = Strategy {
        names: names.map(|one| one.value).unwrap_or_default(),
        create_on_update: words.flag("createOnUpdate").unwrap_or(false),
        unconditional_update: words.flag("unconditionalUpdate").unwrap_or(false),
        generation: words.flag("generation").unwrap_or(false),
        status_fields: words.texts("statusFields").unwrap_or_default(),
        graceful_delete: words.flag("gracefulDelete").unwrap_or(false),
        delete_returns_object: words.flag("deleteReturnsObject").unwrap_or(false),
        status_on_create: words.flag("statusOnCreate").unwrap_or(false),
        unowned: words.texts("unowned").unwrap_or_default(),
        unowned_by_status: words.texts("unownedByStatus").unwrap_or_default(),
    };
    words.finish();
    strategy
}

fn subresources(words: &mut Words<'_>) -> Vec<Subresource> {
    let entries = words.entries("subresources");
    let problems = words.problems();
    entries
        .into_iter()
        .filter_map(|(name, node)| Some(subresource(name, Words::of(node, problems)?)))
        .collect()
}

fn subresource(name: Spanned<String>, mut words: Words<'_>) -> Subresource {
    let does = match name.as_str() {
        "status" => Does::Status,
        "scale" => Does::Scale(
            words.need_text("specReplicas"),
            words.need_text("statusReplicas"),
            words.text("selector"),
        ),
        _ => words.text("unavailable").map_or(Does::Action, |reason| Does::Unavailable(reason.value)),
    };
    let kind = words.text("kind").map(reference);
    let verbs = verbs(&mut words, &SUBRESOURCE_VERBS);
    words.finish();
    Subresource { name, does, kind, verbs }
}

fn selectable(words: &mut Words<'_>) -> Vec<Selectable> {
    let nodes = words.items("selectable");
    let problems = words.problems();
    let mut found = Vec::new();
    for node in nodes {
        let Some(mut words) = Words::of(node, problems) else { continue };
        let name = words.need_text("name");
        let path = words.text("path").unwrap_or_else(|| Spanned::new(format!(".{}", *name), name.at.clone()));
        found.push(Selectable {
            default: words.text("default").map(|text| text.value).unwrap_or_default(),
            indexed: words.flag("indexed").unwrap_or(false),
            name,
            path,
        });
        words.finish();
    }
    found
}

/// Reads a column.
pub(super) fn column(node: Node, problems: &mut Diagnostics) -> Option<Column> {
    let mut words = Words::of(node, problems)?;
    let name = words.need_text("name");
    let kind = words.text("type").map_or_else(|| "string".into(), |text| text.value);
    let format = words.text("format").map(|text| text.value);
    let wide = words.flag("wide").unwrap_or(false);
    let (value, usual_format, usual_doc) = cell(&mut words);
    let doc = words.text("doc").map(|text| ColumnDoc::Text(text.value));
    let doc_of = words.text("docOf").and_then(|text| names::field_name(text, words.problems()));
    words.exclusive(&[("doc", doc.is_some()), ("docOf", doc_of.is_some())]);
    let at = words.at.clone();
    let doc = doc.or_else(|| doc_of.map(ColumnDoc::Of)).unwrap_or_else(|| match usual_doc {
        "" => ColumnDoc::Text(String::new()),
        field => ColumnDoc::Of(Spanned::new(
            FieldName {
                of: TypeName { home: Some(("meta".into(), "v1".into())), name: "ObjectMeta".into() },
                field: field.into(),
            },
            at.clone(),
        )),
    });
    words.finish();
    Some(Column { name, kind, format: format.unwrap_or_else(|| usual_format.into()), wide, doc, value, at })
}

/// Where cells come from, the format that goes with it and the field of `ObjectMeta` that explains it.
fn cell(words: &mut Words<'_>) -> (Cell, &'static str, &'static str) {
    let value = words.choice("value", &[("name", true), ("age", false)]);
    let path = words.text("path");
    let otherwise = words.text("or").map(|text| text.value);
    let since = words.text("since");
    let template = words.text("text");
    let hook = words.flag("hook").unwrap_or(false);
    let given = [
        ("value", value.is_some()),
        ("path", path.is_some()),
        ("since", since.is_some()),
        ("text", template.is_some()),
        ("hook", hook),
    ];
    words.exclusive(&given);
    if let Some(otherwise) = &otherwise
        && path.is_none()
    {
        let at = words.at.clone();
        words.problems().report(&at, format!("`or: {otherwise}` needs a `path`"));
    }
    match (value, path, since, template) {
        (Some(name), ..) if name.value => (Cell::Name, "name", "name"),
        (Some(_), ..) => (Cell::Age, "", "creationTimestamp"),
        (_, Some(path), ..) => (Cell::Path(path, otherwise.unwrap_or_default()), "", ""),
        (_, _, Some(since), _) => (Cell::Since(since), "", ""),
        (.., Some(text)) => (Cell::Text(names::template(&text, words.problems())), "", ""),
        _ if hook => (Cell::Hook, "", ""),
        _ => {
            let at = words.at.clone();
            let help = "say `value: name`, `value: age`, `path`, `since`, `text` or `hook: true`";
            words.problems().report_with_help(&at, "the column has no cells", help);
            (Cell::Name, "", "")
        }
    }
}

fn reference(text: Spanned<String>) -> Spanned<TypeName> {
    Spanned::new(names::type_name(&text), text.at)
}
