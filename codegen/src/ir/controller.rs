//! Controllers: names as Rust has them, rules as numbers.

use crate::table::Table;

/// A controller.
#[derive(Debug)]
pub struct Controller {
    /// Its name.
    pub name: String,
    /// Its module.
    pub module: String,
    /// What it does.
    pub doc: String,
    /// Whether it is one of kube-controller-manager's.
    pub managed: bool,
    /// Other names.
    pub aliases: Vec<String>,
    /// How many keys it works on at once.
    pub workers: u32,
    /// What its keys are.
    pub key: String,
    /// Whom it waits for.
    pub after: Vec<String>,
    /// The first wait after a failure and the longest one, in milliseconds.
    pub retry: (u64, u64),
    /// What makes it look at a key.
    pub watches: Vec<Watch>,
    /// What it decides on.
    pub facts: Vec<Fact>,
    /// Which rule holds when.
    pub table: Table,
    /// What each rule comes to, as an index into the outcomes.
    pub then: Vec<usize>,
    /// What may be done; the first is nothing.
    pub outcomes: Vec<Outcome>,
    /// What must be decided.
    pub examples: Vec<Example>,
}

/// A resource whose changes a controller looks at.
#[derive(Debug)]
pub struct Watch {
    /// Group, version and plural; `None` for everything.
    pub resource: Option<(String, String, String)>,
    /// Which key a change is about.
    pub from: KeyFrom,
    /// The only object that matters.
    pub only: Option<String>,
}

/// Which key a change is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum KeyFrom {
    Object,
    Name,
    Namespace,
    Hook,
    Always(String),
}

/// A fact.
#[derive(Debug)]
pub struct Fact {
    /// Its name in the spec.
    pub name: String,
    /// Its field.
    pub field: String,
    /// Its enum; empty for `bool`.
    pub ident: String,
    /// Its values.
    pub values: Vec<String>,
}

/// An outcome.
#[derive(Debug)]
pub struct Outcome {
    /// Its name in the spec.
    pub name: String,
    /// Its variant.
    pub ident: String,
    /// Its method; empty where there is nothing to do.
    pub method: String,
    /// What it means.
    pub doc: String,
}

/// An example: for each fact the value that is given, if any, and the outcome.
#[derive(Debug)]
pub struct Example {
    /// What is given.
    pub given: Vec<Option<usize>>,
    /// What must be decided.
    pub then: usize,
}
