//! What a controller's spec says.

use crate::diagnostic::{Place, Spanned};

/// `controllers/<name>.yaml`.
#[derive(Debug)]
pub struct Controller {
    /// Its name, which is the file's.
    pub name: Spanned<String>,
    /// What it does.
    pub doc: Spanned<String>,
    /// Which of upstream's processes has it.
    pub reconciler: Reconciler,
    /// Other names that `--controllers` knows it by.
    pub aliases: Vec<Spanned<String>>,
    /// How many keys it works on at once.
    pub workers: u32,
    /// What its keys are.
    pub key: Spanned<String>,
    /// The controllers that must have seen everything once before it starts.
    pub after: Vec<Spanned<String>>,
    /// The first wait after a failure and the longest one, in milliseconds.
    pub retry: (u64, u64),
    /// What makes it look at a key.
    pub watches: Vec<Watch>,
    /// What it decides on.
    pub facts: Vec<Fact>,
    /// Where the rules are.
    pub rules_at: Place,
    /// The first that fits holds.
    pub rules: Vec<Rule>,
    /// What may be done, and what each means.
    pub outcomes: Vec<(Spanned<String>, Spanned<String>)>,
    /// What must be decided.
    pub examples: Vec<Example>,
}

/// Which of upstream's processes has a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconciler {
    /// kube-apiserver: it runs always, in every replica.
    ApiServer,
    /// kube-controller-manager: it can be switched off, runs in one replica, and in none while a real
    /// kube-controller-manager leads.
    Manager,
}

/// A resource whose changes a controller looks at.
#[derive(Debug)]
pub struct Watch {
    /// `apps/v1/deployments`, or `all`.
    pub resource: Spanned<String>,
    /// Which key a change is about.
    pub from: KeyFrom,
    /// The only object that matters, `namespace/name` or `name`.
    pub only: Option<Spanned<String>>,
}

/// Which key a change is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyFrom {
    /// The object: `namespace/name`, or `name`.
    Object,
    /// Its name.
    Name,
    /// Its namespace.
    Namespace,
    /// Rust says, and may say several.
    Hook,
    /// This one, whatever changes.
    Always(String),
}

/// A fact.
#[derive(Debug)]
pub struct Fact {
    /// Its name.
    pub name: Spanned<String>,
    /// Its values; `None` for `true` and `false`.
    pub values: Option<Vec<Spanned<String>>>,
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Where it is.
    pub at: Place,
    /// The facts that it looks at, and the values that fit.
    pub when: Vec<(Spanned<String>, Vec<Spanned<String>>)>,
    /// The outcome.
    pub then: Spanned<String>,
}

/// An example.
#[derive(Debug)]
pub struct Example {
    /// Where it is.
    pub at: Place,
    /// Facts; those that are not named may be anything.
    pub given: Vec<(Spanned<String>, Spanned<String>)>,
    /// What must be decided.
    pub then: Spanned<String>,
}

impl Fact {
    /// The names of its values.
    pub fn names(&self) -> Vec<&str> {
        match &self.values {
            None => vec!["false", "true"],
            Some(values) => values.iter().map(|value| value.as_str()).collect(),
        }
    }
}
