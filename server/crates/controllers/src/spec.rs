//! What `controllers/<name>.yaml` says, as data that codegen writes.

/// A controller.
#[derive(Debug)]
pub struct ControllerSpec {
    /// Its name, as `--controllers` spells it.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// Whether it is one of kube-controller-manager's: it can be switched off, runs in one of several
    /// replicas, and not while a real kube-controller-manager leads.
    pub managed: bool,
    /// Other names that `--controllers` takes.
    pub aliases: &'static [&'static str],
    /// How many keys it works on at once.
    pub workers: usize,
    /// What its keys are.
    pub key: &'static str,
    /// The controllers that must have seen everything once before it starts.
    pub after: &'static [&'static str],
    /// The wait after the first failure and the longest one, in milliseconds.
    pub retry_millis: (u64, u64),
    /// What makes it look at a key.
    pub watches: &'static [WatchSpec],
    /// What it decides on.
    pub facts: &'static [FactSpec],
    /// The first that fits holds.
    pub rules: &'static [RuleSpec],
    /// What may be done, besides nothing.
    pub outcomes: &'static [OutcomeSpec],
}

/// A resource whose changes a controller looks at.
#[derive(Debug)]
pub struct WatchSpec {
    /// Which one; `None` for everything that is stored.
    pub resource: Option<ResourceName>,
    /// Which key a change is about.
    pub from: KeyFrom,
    /// The only object that matters, `namespace/name` or `name`.
    pub only: Option<&'static str>,
}

/// A resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceName {
    /// Empty for the core group.
    pub group: &'static str,
    /// For instance `v1`.
    pub version: &'static str,
    /// For instance `pods`.
    pub plural: &'static str,
}

/// Which key a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFrom {
    /// The object: `namespace/name`, or `name`.
    Object,
    /// Its name.
    Name,
    /// Its namespace.
    Namespace,
    /// [`crate::Reconcile::keys`] says.
    Hook,
    /// This one; it is looked at once at the start in any case.
    Always(&'static str),
}

/// A fact.
#[derive(Debug)]
pub struct FactSpec {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub values: &'static [&'static str],
}

/// A rule.
#[derive(Debug)]
pub struct RuleSpec {
    /// For each fact the values that fit; none for any.
    pub when: &'static [&'static [&'static str]],
    /// The outcome's name.
    pub then: &'static str,
}

/// An outcome.
#[derive(Debug)]
pub struct OutcomeSpec {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
}
