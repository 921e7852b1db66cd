//! Which names a definition gets: those that no other of its group has.
//!
//! Pure: facts in, a decision out.

use std::collections::HashMap;

use crate::definition::{Decision, Definition, Names};

/// What was decided about a definition's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Naming {
    /// The names that it has now.
    pub(crate) accepted: Names,
    /// The condition `NamesAccepted`.
    pub(crate) names_accepted: Decision,
    /// The condition `Established`; `None` where it stays as it is.
    pub(crate) established: Option<Decision>,
}

/// The names that the definitions of a group have, each with how many have it.
#[derive(Debug, Default)]
pub(crate) struct Used {
    resources: HashMap<String, usize>,
    kinds: HashMap<String, usize>,
}

impl Used {
    /// Notes what a definition has.
    pub(crate) fn add(&mut self, names: &Names) {
        let count = |all: &mut HashMap<String, usize>, name: &str| {
            *all.entry(name.to_owned()).or_default() += 1;
        };
        resources(names).for_each(|name| count(&mut self.resources, name));
        kinds(names).for_each(|name| count(&mut self.kinds, name));
    }

    /// Forgets what it had.
    pub(crate) fn remove(&mut self, names: &Names) {
        let count = |all: &mut HashMap<String, usize>, name: &str| {
            if let Some(count) = all.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    all.remove(name);
                }
            }
        };
        resources(names).for_each(|name| count(&mut self.resources, name));
        kinds(names).for_each(|name| count(&mut self.kinds, name));
    }
}

fn resources(names: &Names) -> impl Iterator<Item = &str> {
    let short = names.short_names.iter().map(String::as_str);
    [names.plural.as_str(), &names.singular].into_iter().chain(short)
}

fn kinds(names: &Names) -> impl Iterator<Item = &str> {
    [names.kind.as_str(), &names.list_kind].into_iter()
}

/// Decides; `None` where everything is as it should be. `used` is what the definitions of its group have,
/// this one among them.
pub(crate) fn decide(definition: &Definition, used: &Used) -> Option<Naming> {
    let (wanted, had) = (&definition.names, &definition.accepted);
    if wanted == had && definition.established {
        return None;
    }
    let mut accepted = had.clone();
    let mut conflict = None;
    let claim =
        |reason: &str, wanted: &str, had: &str, used: &HashMap<String, usize>, conflict: &mut Option<_>| {
            let fresh = wanted == had || !used.contains_key(wanted);
            if !fresh {
                *conflict = Some((format!("{reason}Conflict"), format!("{wanted:?} is already in use")));
            }
            fresh
        };
    if claim("Plural", &wanted.plural, &had.plural, &used.resources, &mut conflict) {
        accepted.plural.clone_from(&wanted.plural);
    }
    if claim("Singular", &wanted.singular, &had.singular, &used.resources, &mut conflict) {
        accepted.singular.clone_from(&wanted.singular);
    }
    let taken: Vec<&String> = wanted
        .short_names
        .iter()
        .filter(|name| !had.short_names.contains(name) && used.resources.contains_key(name.as_str()))
        .collect();
    if taken.is_empty() {
        accepted.short_names.clone_from(&wanted.short_names);
    } else {
        let faults: Vec<String> = taken.iter().map(|name| format!("{name:?} is already in use")).collect();
        let message = if faults.len() == 1 { faults.concat() } else { format!("[{}]", faults.join(", ")) };
        conflict = Some(("ShortNamesConflict".to_owned(), message));
    }
    if claim("Kind", &wanted.kind, &had.kind, &used.kinds, &mut conflict) {
        accepted.kind.clone_from(&wanted.kind);
    }
    if claim("ListKind", &wanted.list_kind, &had.list_kind, &used.kinds, &mut conflict) {
        accepted.list_kind.clone_from(&wanted.list_kind);
    }
    accepted.categories.clone_from(&wanted.categories);

    let names_accepted = match conflict {
        Some((reason, message)) => Decision { status: "False", reason, message },
        None => decision("True", "NoConflicts", "no conflicts found"),
    };
    let installed = definition.names_accepted.as_ref() == Some(&names_accepted) && accepted == *had;
    let established = (!definition.established).then(|| match names_accepted.status {
        // Twice, as upstream has it: who watches sees that names are accepted before more.
        "True" if installed => {
            decision("True", "InitialNamesAccepted", "the initial names have been accepted")
        }
        "True" => decision("False", "Installing", "the initial names have been accepted"),
        _ => decision("False", "NotAccepted", "not all names are accepted"),
    });
    let naming = Naming { accepted, names_accepted, established };
    let same = installed && naming.established.as_ref().is_none_or(|decision| decision.status == "False");
    (!same).then_some(naming)
}

fn decision(status: &'static str, reason: &str, message: &str) -> Decision {
    Decision { status, reason: reason.into(), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(wanted: [&str; 5], had: [&str; 5]) -> Definition {
        let names = |[plural, singular, short, kind, list_kind]: [&str; 5]| Names {
            plural: plural.into(),
            singular: singular.into(),
            short_names: short.split_whitespace().map(Into::into).collect(),
            kind: kind.into(),
            list_kind: list_kind.into(),
            categories: Vec::new(),
        };
        let spec = apiwright_json::decode(b"{}").expect("JSON").0;
        Definition { names: names(wanted), accepted: names(had), ..Definition::read(&spec) }
    }

    fn used(by: &[&Definition]) -> Used {
        let mut used = Used::default();
        for one in by {
            used.add(&one.accepted);
        }
        used
    }

    #[test]
    fn names_go_to_who_comes_first() {
        let taken = definition([""; 5], ["as", "a", "x y", "A", "AList"]);
        for (wanted, reason, message) in [
            (["bs", "b", "z", "B", "BList"], "NoConflicts", "no conflicts found"),
            (["as", "b", "", "B", "BList"], "PluralConflict", "\"as\" is already in use"),
            (["bs", "x", "", "B", "BList"], "SingularConflict", "\"x\" is already in use"),
            (["bs", "b", "y", "B", "BList"], "ShortNamesConflict", "\"y\" is already in use"),
            (
                ["bs", "b", "a y", "B", "BList"],
                "ShortNamesConflict",
                "[\"a\" is already in use, \"y\" is already in use]",
            ),
            (["bs", "b", "", "A", "AList"], "ListKindConflict", "\"AList\" is already in use"),
        ] {
            let new = definition(wanted, [""; 5]);
            let naming = decide(&new, &used(&[&taken, &new])).expect("a decision");
            assert_eq!((&*naming.names_accepted.reason, &*naming.names_accepted.message), (reason, message));
            let established = naming.established.expect("it was not established").reason;
            assert_eq!(established == "Installing", reason == "NoConflicts");
        }
    }

    #[test]
    fn names_are_free_when_nobody_has_them() {
        let names = definition([""; 5], ["as", "a", "x", "A", "AList"]).accepted;
        let mut used = Used::default();
        used.add(&names);
        used.add(&names);
        used.remove(&names);
        assert!(used.resources.contains_key("x") && used.kinds.contains_key("AList"));
        used.remove(&names);
        assert!(used.resources.is_empty() && used.kinds.is_empty());
    }

    #[test]
    fn what_is_decided_is_not_decided_again() {
        let taken = definition([""; 5], ["as", "a", "", "A", "AList"]);
        let mut new = definition(["as", "b", "", "B", "BList"], [""; 5]);
        let naming = decide(&new, &used(&[&taken, &new])).expect("a decision");
        new.accepted = naming.accepted;
        new.names_accepted = Some(naming.names_accepted);
        assert_eq!(decide(&new, &used(&[&taken, &new])), None);
        let free = decide(&new, &used(&[&new])).expect("the name is free now");
        assert_eq!(free.accepted, new.names);
        new.accepted = free.accepted;
        new.names_accepted = Some(free.names_accepted);
        let last = decide(&new, &used(&[&new])).expect("it is installed now");
        assert_eq!(last.established.map(|decision| decision.status), Some("True"));
        new.established = true;
        assert_eq!(decide(&new, &used(&[&new])), None);
    }
}
