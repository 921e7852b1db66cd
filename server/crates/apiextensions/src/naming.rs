//! Which names a definition gets: those that no other of its group has.
//!
//! Pure: facts in, a decision out.

use std::collections::HashSet;

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

/// Decides; `None` where everything is as it should be. `group` are all definitions of the group.
pub(crate) fn decide<'a>(
    definition: &Definition,
    group: impl Iterator<Item = &'a Definition>,
) -> Option<Naming> {
    let (wanted, had) = (&definition.names, &definition.accepted);
    if wanted == had && definition.established {
        return None;
    }
    let (mut resources, mut kinds) = (HashSet::new(), HashSet::new());
    for one in group {
        let names = &one.accepted;
        resources.extend([names.plural.as_str(), &names.singular]);
        resources.extend(names.short_names.iter().map(String::as_str));
        kinds.extend([names.kind.as_str(), &names.list_kind]);
    }

    let mut accepted = had.clone();
    let mut conflict = None;
    let mut claim = |reason: &str, wanted: &str, had: &str, used: &HashSet<&str>| {
        let fresh = wanted == had || !used.contains(wanted);
        if !fresh {
            conflict = Some((format!("{reason}Conflict"), format!("{wanted:?} is already in use")));
        }
        fresh
    };
    if claim("Plural", &wanted.plural, &had.plural, &resources) {
        accepted.plural.clone_from(&wanted.plural);
    }
    if claim("Singular", &wanted.singular, &had.singular, &resources) {
        accepted.singular.clone_from(&wanted.singular);
    }
    let taken: Vec<&String> = wanted
        .short_names
        .iter()
        .filter(|name| !had.short_names.contains(name) && resources.contains(name.as_str()))
        .collect();
    if taken.is_empty() {
        accepted.short_names.clone_from(&wanted.short_names);
    } else {
        let faults: Vec<String> = taken.iter().map(|name| format!("{name:?} is already in use")).collect();
        let message = if faults.len() == 1 { faults.concat() } else { format!("[{}]", faults.join(", ")) };
        conflict = Some(("ShortNamesConflict".to_owned(), message));
    }
    let mut claim = |reason: &str, wanted: &str, had: &str| {
        let fresh = wanted == had || !kinds.contains(wanted);
        if !fresh {
            conflict = Some((format!("{reason}Conflict"), format!("{wanted:?} is already in use")));
        }
        fresh
    };
    if claim("Kind", &wanted.kind, &had.kind) {
        accepted.kind.clone_from(&wanted.kind);
    }
    if claim("ListKind", &wanted.list_kind, &had.list_kind) {
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
            let naming = decide(&new, [&taken, &new].into_iter()).expect("a decision");
            assert_eq!((&*naming.names_accepted.reason, &*naming.names_accepted.message), (reason, message));
            let established = naming.established.expect("it was not established").reason;
            assert_eq!(established == "Installing", reason == "NoConflicts");
        }
    }

    #[test]
    fn what_is_decided_is_not_decided_again() {
        let taken = definition([""; 5], ["as", "a", "", "A", "AList"]);
        let mut new = definition(["as", "b", "", "B", "BList"], [""; 5]);
        let naming = decide(&new, [&taken, &new].into_iter()).expect("a decision");
        new.accepted = naming.accepted;
        new.names_accepted = Some(naming.names_accepted);
        assert_eq!(decide(&new, [&taken, &new].into_iter()), None);
        let free = decide(&new, [&new].into_iter()).expect("the name is free now");
        assert_eq!(free.accepted, new.names);
        new.accepted = free.accepted;
        new.names_accepted = Some(free.names_accepted);
        let last = decide(&new, [&new].into_iter()).expect("it is installed now");
        assert_eq!(last.established.map(|decision| decision.status), Some("True"));
        new.established = true;
        assert_eq!(decide(&new, [&new].into_iter()), None);
    }
}
