//! Decision tables are complete: every combination of facts is decided, every rule decides some,
//! every outcome is wanted, and the examples come out as they say.

use crate::check::index::Index;
use crate::diagnostic::{Diagnostics, Spanned};
use crate::spec::{Controller, Fact};
use crate::table::{Table, fits};

/// The outcome that needs nobody to do anything.
pub(crate) const NOTHING: &str = "nothing";
/// What generated code calls things itself.
const TAKEN: [&str; 8] =
    ["facts", "outcome", "controller", "reconciler", "observe", "keys", "observed", "examples"];
/// More facts than anybody can think of at once.
const COMBINATIONS_MAX: usize = 100_000;

/// Reports tables with gaps, dead rules, unknown names, wrong examples.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    for controller in &index.spec.controllers {
        if names(controller, problems) {
            table(controller, problems);
        }
    }
}

/// The controller's table. Its names passed the checks.
pub(crate) fn of(controller: &Controller) -> Table {
    let rules = controller.rules.iter().map(|rule| {
        let one = |fact: &Fact| {
            let (_, values) = rule.when.iter().find(|(name, _)| **name == *fact.name)?;
            let names = fact.names();
            Some(values.iter().filter_map(|value| names.iter().position(|name| *name == **value)).collect())
        };
        controller.facts.iter().map(one).collect()
    });
    Table { sizes: controller.facts.iter().map(|fact| fact.names().len()).collect(), rules: rules.collect() }
}

/// Whether every name means something.
fn names(controller: &Controller, problems: &mut Diagnostics) -> bool {
    let mut sound = true;
    for fact in &controller.facts {
        sound &= identifiers(fact, problems);
    }
    for (name, _) in &controller.outcomes {
        if !is_camel(name) || **name == NOTHING {
            problems.report(&name.at, format!("`{}` cannot be the name of an outcome", **name));
            sound = false;
        }
    }
    for rule in &controller.rules {
        for (name, values) in &rule.when {
            for value in values {
                sound &= value_of(controller, name, value, problems);
            }
        }
        sound &= outcome(controller, &rule.then, problems);
    }
    for example in &controller.examples {
        for (name, value) in &example.given {
            sound &= value_of(controller, name, value, problems);
        }
        sound &= outcome(controller, &example.then, problems);
    }
    for (name, _) in &controller.outcomes {
        if !controller.rules.iter().any(|rule| *rule.then == **name) {
            problems.report(&name.at, format!("no rule comes to `{}`", **name));
        }
    }
    sound
}

fn identifiers(fact: &Fact, problems: &mut Diagnostics) -> bool {
    let mut sound = true;
    if !is_camel(&fact.name) {
        let help = "write it as `presentAtStart`";
        let message = format!("`{}` cannot be the name of a fact", *fact.name);
        problems.report_with_help(&fact.name.at, message, help);
        sound = false;
    }
    let Some(values) = &fact.values else { return sound };
    if values.len() < 2 {
        problems.report(&fact.name.at, format!("`{}` has no two values to tell apart", *fact.name));
        sound = false;
    }
    for (at, value) in values.iter().enumerate() {
        if !value.starts_with(|first: char| first.is_ascii_uppercase()) || !is_word(value) {
            let help = "write it as `OnStart`";
            let message = format!("`{}` cannot be the value of a fact", **value);
            problems.report_with_help(&value.at, message, help);
            sound = false;
        }
        if values[..at].iter().any(|other| **other == **value) {
            problems.report(&value.at, format!("`{}` is a value of `{}` already", **value, *fact.name));
            sound = false;
        }
    }
    sound
}

fn value_of(
    controller: &Controller,
    name: &Spanned<String>,
    value: &Spanned<String>,
    problems: &mut Diagnostics,
) -> bool {
    let Some(fact) = controller.facts.iter().find(|fact| *fact.name == **name) else {
        let known = controller.facts.iter().map(|fact| fact.name.as_str());
        problems.report_unknown(&name.at, "fact", name, known);
        return false;
    };
    let known = fact.names().contains(&value.as_str());
    if !known {
        problems.report_unknown(&value.at, &format!("value of `{}`", **name), value, fact.names());
    }
    known
}

fn outcome(controller: &Controller, name: &Spanned<String>, problems: &mut Diagnostics) -> bool {
    let mut names = controller.outcomes.iter().map(|(name, _)| name.as_str()).chain([NOTHING]);
    let known = names.clone().any(|one| one == **name);
    if !known {
        problems.report_unknown(&name.at, "outcome", name, &mut names);
    }
    known
}

fn table(controller: &Controller, problems: &mut Diagnostics) {
    let table = of(controller);
    if table.combinations() > COMBINATIONS_MAX {
        let message = format!("there are {} combinations of facts", table.combinations());
        problems.report_with_help(
            &controller.name.at,
            message,
            "split the controller, or join facts that go together",
        );
        return;
    }
    let mut reached = vec![false; table.rules.len()];
    let mut gaps = Vec::new();
    for values in table.each() {
        match table.decide(&values) {
            Some(rule) => reached[rule] = true,
            None => gaps.push(values),
        }
    }
    if let Some((first, others)) = gaps.split_first() {
        let more = if others.is_empty() { String::new() } else { format!(", nor {} more", others.len()) };
        let message = format!("no rule decides {{{}}}{more}", shown(controller, first));
        problems.report_with_help(&controller.rules_at, message, "the last rule may be `{then: nothing}`");
    }
    for (at, rule) in controller.rules.iter().enumerate().filter(|(at, _)| !reached[*at]) {
        let before: Vec<String> = (0..at)
            .filter(|other| overlaps(&table.rules[*other], &table.rules[at]))
            .map(|other| controller.rules[other].at.line.to_string())
            .collect();
        let help = format!("what it says is decided by the rules in lines {}", before.join(", "));
        problems.report_with_help(&rule.at, "no combination of facts comes to this rule", help);
    }
    examples(controller, &table, problems);
}

fn examples(controller: &Controller, table: &Table, problems: &mut Diagnostics) {
    for example in &controller.examples {
        let given: Vec<Option<Vec<usize>>> = controller
            .facts
            .iter()
            .map(|fact| {
                let (_, value) = example.given.iter().find(|(name, _)| **name == *fact.name)?;
                Some(fact.names().iter().position(|name| *name == **value).into_iter().collect())
            })
            .collect();
        let wrong = table.each().filter(|values| fits(&given, values)).find_map(|values| {
            let rule = &controller.rules[table.decide(&values)?];
            (*rule.then != *example.then).then_some((values, rule))
        });
        if let Some((values, rule)) = wrong {
            let shown = shown(controller, &values);
            let message = format!("{{{shown}}} comes to `{}`, not to `{}`", *rule.then, *example.then);
            let help = format!("the rule in line {} decides it", rule.at.line);
            problems.report_with_help(&example.at, message, help);
        }
    }
}

fn overlaps(a: &[Option<Vec<usize>>], b: &[Option<Vec<usize>>]) -> bool {
    a.iter().zip(b).all(|pair| match pair {
        (Some(a), Some(b)) => a.iter().any(|value| b.contains(value)),
        _ => true,
    })
}

fn shown(controller: &Controller, values: &[usize]) -> String {
    let facts = controller.facts.iter().zip(values);
    let shown: Vec<String> =
        facts.map(|(fact, value)| format!("{}: {}", *fact.name, fact.names()[*value])).collect();
    shown.join(", ")
}

fn is_camel(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && is_word(text)
        && syn::parse_str::<syn::Ident>(text).is_ok()
        && !TAKEN.contains(&text)
}

fn is_word(text: &str) -> bool {
    text.chars().all(|one| one.is_ascii_alphanumeric())
}
