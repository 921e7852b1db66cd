//! `--controllers`: which controllers run, in kube-controller-manager's syntax.
//!
//! `*` stands for all that run by default, `name` for one, `-name` for all but one; the first word about
//! a controller holds. Those of kube-apiserver run in any case: there they cannot be switched off.

use crate::spec::ControllerSpec;

/// Checks a selection.
///
/// # Errors
/// Names that no controller has.
pub fn check(selection: &[String], specs: &[&ControllerSpec]) -> Result<(), String> {
    let unknown = selection.iter().find(|word| {
        let name = word.strip_prefix('-').unwrap_or(word);
        name != "*" && !specs.iter().any(|spec| spec.managed && is_named(spec, name))
    });
    match unknown {
        Some(word) => {
            let name = word.strip_prefix('-').unwrap_or(word);
            Err(format!("{name:?} is not in the list of known controllers"))
        }
        None => Ok(()),
    }
}

/// Whether a controller runs.
pub fn is_enabled(spec: &ControllerSpec, selection: &[String]) -> bool {
    if !spec.managed {
        return true;
    }
    for word in selection {
        match word.strip_prefix('-') {
            Some(name) if is_named(spec, name) => return false,
            None if is_named(spec, word) => return true,
            _ => {}
        }
    }
    selection.iter().any(|word| word == "*")
}

fn is_named(spec: &ControllerSpec, name: &str) -> bool {
    spec.name == name || spec.aliases.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &'static str, aliases: &'static [&'static str], managed: bool) -> ControllerSpec {
        ControllerSpec {
            name,
            doc: "",
            managed,
            aliases,
            workers: 1,
            key: "",
            after: &[],
            retry_millis: (5, 1000),
            watches: &[],
            facts: &[],
            rules: &[],
            outcomes: &[],
        }
    }

    #[test]
    fn the_syntax_of_kube_controller_manager() {
        let namespace = spec("namespace-controller", &["namespace"], true);
        let ttl = spec("ttl-controller", &["ttl"], true);
        let service = spec("kubernetes-service", &[], false);
        for (flag, want) in [
            ("*", [true, true, true]),
            ("-*", [false, false, true]),
            ("*,-ttl", [true, false, true]),
            ("ttl-controller", [false, true, true]),
            ("-namespace-controller", [false, false, true]),
            ("*,-namespace,namespace", [false, true, true]),
        ] {
            let selection: Vec<String> = flag.split(',').map(str::to_owned).collect();
            let got = [&namespace, &ttl, &service].map(|one| is_enabled(one, &selection));
            assert_eq!(got, want, "{flag}");
            assert_eq!(check(&selection, &[&namespace, &ttl, &service]), Ok(()), "{flag}");
        }
        let wrong = check(&["*".into(), "-frobnicate".into()], &[&namespace]);
        assert_eq!(wrong, Err("\"frobnicate\" is not in the list of known controllers".into()));
        let fixed = check(&["kubernetes-service".into()], &[&service]);
        assert!(fixed.is_err(), "what cannot be switched is not in the list");
    }
}
