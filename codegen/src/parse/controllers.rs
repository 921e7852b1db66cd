//! `controllers/<name>.yaml`: a controller's decision table.

use crate::diagnostic::{Diagnostics, Place, Spanned};
use crate::parse::Files;
use crate::parse::words::{Words, entries, items, text};
use crate::parse::yaml::{Node, Tree};
use crate::spec::{Controller, DecisionRule, Example, Fact, KeyFrom, Reconciler, Watch};

/// What upstream's client-go waits after the first failure, and at most.
const RETRY_MILLIS: (u64, u64) = (5, 1_000_000);

/// `always` holds a text, so that the others are made, not copied.
type MakeKey = fn() -> KeyFrom;

const KEYS: &[(&str, MakeKey)] = &[
    ("object", || KeyFrom::Object),
    ("metadata.name", || KeyFrom::Name),
    ("metadata.namespace", || KeyFrom::Namespace),
    ("hook", || KeyFrom::Hook),
];

/// Reads every file of the folder.
pub(super) fn read(files: &mut Files<'_>) -> Vec<Controller> {
    let names = files.optional_specs("controllers");
    names.into_iter().filter_map(|name| one(&name, files)).collect()
}

fn one(file: &str, files: &mut Files<'_>) -> Option<Controller> {
    let tree = files.tree(&format!("controllers/{file}.yaml"))?;
    let mut words = Words::of(tree, files.problems)?;
    let name = words.need_text("controller");
    if !name.is_empty() && *name != file {
        let help = format!("the file is called `{file}.yaml`");
        words.problems().report_with_help(&name.at, format!("`{}` lies in another's file", *name), help);
    }
    let doc = words.need_text("doc");
    let reconciler = words
        .choice(
            "process",
            &[("kube-apiserver", Reconciler::ApiServer), ("kube-controller-manager", Reconciler::Manager)],
        )
        .map_or(Reconciler::ApiServer, |one| one.value);
    let aliases = words.texts("aliases").unwrap_or_default();
    let workers = words.number("workers").map_or(1, |number| number.value);
    let key = words.need_text("key");
    let retry = retry(&mut words);
    let after = words.texts("after").unwrap_or_default();
    let watches = words.items("watches");
    let facts = words.entries("facts");
    let (rules_at, rules) = match words.need("rules") {
        Some(node) => (node.at.clone(), items(node, words.problems())),
        None => (words.at.clone(), Vec::new()),
    };
    let outcomes = words.entries("outcomes");
    let examples = words.items("examples");
    let problems = words.problems();
    let controller = Controller {
        watches: watches.into_iter().filter_map(|node| watch(node, problems)).collect(),
        facts: facts.into_iter().filter_map(|(name, node)| fact(name, node, problems)).collect(),
        rules: rules.into_iter().filter_map(|node| rule(node, problems)).collect(),
        outcomes: outcomes
            .into_iter()
            .filter_map(|(name, node)| Some((name, text(node, problems)?)))
            .collect(),
        examples: examples.into_iter().filter_map(|node| example(node, problems)).collect(),
        name,
        doc,
        reconciler,
        aliases,
        workers,
        key,
        after,
        retry,
        rules_at,
    };
    words.finish();
    Some(controller)
}

fn watch(node: Node, problems: &mut Diagnostics) -> Option<Watch> {
    let mut words = Words::of(node, problems)?;
    let resource = words.need_text("resource");
    let key = words.choice("key", KEYS);
    let always = words.text("always");
    let only = words.text("only");
    words.exclusive(&[("key", key.is_some()), ("always", always.is_some())]);
    words.finish();
    let from = match (always, key) {
        (Some(text), _) => KeyFrom::Always(text.value),
        (None, Some(key)) => (key.value)(),
        (None, None) => KeyFrom::Object,
    };
    Some(Watch { resource, from, only })
}

fn fact(name: Spanned<String>, node: Node, problems: &mut Diagnostics) -> Option<Fact> {
    match &node.value {
        Tree::Scalar(word, false) if word == "bool" => Some(Fact { name, values: None }),
        Tree::List(_) => {
            let values = items(node, problems).into_iter().filter_map(|one| text(one, problems)).collect();
            Some(Fact { name, values: Some(values) })
        }
        other => {
            let message = format!("expected `bool` or a list of values, found {}", other.what());
            problems.report(&node.at, message);
            None
        }
    }
}

fn rule(node: Node, problems: &mut Diagnostics) -> Option<DecisionRule> {
    let mut words = Words::of(node, problems)?;
    let at = words.at.clone();
    let when = words.entries("when");
    let then = words.need_text("then");
    let when = when.into_iter().map(|(fact, node)| (fact, values(node, words.problems()))).collect();
    words.finish();
    Some(DecisionRule { at, when, then })
}

fn example(node: Node, problems: &mut Diagnostics) -> Option<Example> {
    let mut words = Words::of(node, problems)?;
    let at = words.at.clone();
    let given = words.need("given").map(|node| entries(node, words.problems())).unwrap_or_default();
    let then = words.need_text("then");
    let problems = words.problems();
    let given = given.into_iter().filter_map(|(fact, node)| Some((fact, text(node, problems)?))).collect();
    words.finish();
    Some(Example { at, given, then })
}

/// One value, or a list of those that are as good.
fn values(node: Node, problems: &mut Diagnostics) -> Vec<Spanned<String>> {
    match node.value {
        Tree::List(items) => items.into_iter().filter_map(|one| text(one, problems)).collect(),
        _ => text(node, problems).into_iter().collect(),
    }
}

fn retry(words: &mut Words<'_>) -> (u64, u64) {
    let Some(node) = words.take("retry") else { return RETRY_MILLIS };
    let Some(mut words) = Words::of(node, words.problems()) else { return RETRY_MILLIS };
    let (first, last) = (duration(&mut words, "from"), duration(&mut words, "upTo"));
    words.finish();
    (first.unwrap_or(RETRY_MILLIS.0), last.unwrap_or(RETRY_MILLIS.1))
}

/// `5ms` or `30s`, in milliseconds.
fn duration(words: &mut Words<'_>, word: &'static str) -> Option<u64> {
    let written = words.text(word)?;
    let parsed = match written.strip_suffix("ms") {
        Some(number) => number.parse().ok(),
        None => written.strip_suffix('s').and_then(|number| number.parse::<u64>().ok()?.checked_mul(1000)),
    };
    if parsed.is_none() {
        wrong_duration(&written.at, words.problems());
    }
    parsed
}

fn wrong_duration(at: &Place, problems: &mut Diagnostics) {
    problems.report_with_help(at, "this is no duration", "write it as `5ms` or `30s`");
}
