//! Controllers: names as Rust has them, rules and examples as numbers.

use crate::check::decisions::{self, NOTHING};
use crate::diagnostic::Spanned;
use crate::ir::{Controller, Example, Fact, KeyFrom, Outcome, Watch};
use crate::spec::{self, Reconciler};

pub(super) fn lower(of: &spec::Controller) -> Controller {
    let facts: Vec<Fact> = of.facts.iter().map(fact).collect();
    let mut outcomes = vec![Outcome {
        name: NOTHING.into(),
        ident: "Nothing".into(),
        method: String::new(),
        doc: "All is as it should be.".into(),
    }];
    outcomes.extend(of.outcomes.iter().map(|(name, doc)| Outcome {
        name: name.value.clone(),
        ident: pascal(name),
        method: snake(name),
        doc: doc.value.clone(),
    }));
    let outcome = |name: &str| outcomes.iter().position(|one| one.name == *name).unwrap_or_default();
    let then = of.rules.iter().map(|rule| outcome(&rule.then)).collect();
    let examples = of.examples.iter().map(|one| Example {
        given: facts.iter().map(|fact| given(one, fact)).collect(),
        then: outcome(&one.then),
    });
    Controller {
        name: of.name.value.clone(),
        module: of.name.replace(|one: char| !one.is_ascii_alphanumeric(), "_"),
        doc: of.doc.value.clone(),
        managed: of.reconciler == Reconciler::Manager,
        aliases: texts(&of.aliases),
        workers: of.workers,
        key: of.key.value.clone(),
        after: texts(&of.after),
        retry: of.retry,
        watches: of.watches.iter().map(watch).collect(),
        table: decisions::of(of),
        examples: examples.collect(),
        then,
        facts,
        outcomes,
    }
}

fn watch(of: &spec::Watch) -> Watch {
    let resource = of.resource.rsplit_once('/').map(|(group_version, plural)| {
        let (group, version) = group_version.rsplit_once('/').unwrap_or(("", group_version));
        (group.to_owned(), version.to_owned(), plural.to_owned())
    });
    let from = match &of.from {
        spec::KeyFrom::Object => KeyFrom::Object,
        spec::KeyFrom::Name => KeyFrom::Name,
        spec::KeyFrom::Namespace => KeyFrom::Namespace,
        spec::KeyFrom::Hook => KeyFrom::Hook,
        spec::KeyFrom::Always(key) => KeyFrom::Always(key.clone()),
    };
    Watch { resource, from, only: of.only.as_ref().map(|one| one.value.clone()) }
}

fn fact(of: &spec::Fact) -> Fact {
    Fact {
        name: of.name.value.clone(),
        field: snake(&of.name),
        ident: if of.values.is_some() { pascal(&of.name) } else { String::new() },
        values: of.names().into_iter().map(str::to_owned).collect(),
    }
}

fn given(example: &spec::Example, fact: &Fact) -> Option<usize> {
    let (_, value) = example.given.iter().find(|(name, _)| **name == *fact.name)?;
    fact.values.iter().position(|one| *one == **value)
}

fn texts(of: &[Spanned<String>]) -> Vec<String> {
    of.iter().map(|one| one.value.clone()).collect()
}

/// `presentAtStart` to `PresentAtStart`.
fn pascal(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect()
}

/// `presentAtStart` to `present_at_start`.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for one in name.chars() {
        if one.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(one.to_ascii_lowercase());
    }
    out
}
