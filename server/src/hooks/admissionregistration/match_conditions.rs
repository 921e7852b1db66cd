//! Expressions that say which requests a webhook or a policy is about.

use apiwright_cel::Env;
use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names};
use apiwright_policy::{Expected, fault};

use crate::hooks::shared::faults::Faults;

/// What does not compile, or is not true or false.
pub(super) fn expression(env: &Env, text: &str, path: &Path, errors: &mut ErrorList) {
    if let Err(why) = fault(env, text, Expected::Bool) {
        errors.invalid(path.clone(), quoted(text), &why);
    }
}

const CONDITIONS_MAX: usize = 64;

/// The faults of match conditions; `expression` tells those of an expression.
pub(super) fn conditions(
    conditions: &[Value],
    path: &Path,
    faults: &mut Faults<'_>,
    expression: &dyn Fn(&str, &Path, &mut ErrorList),
) {
    if conditions.len() > CONDITIONS_MAX {
        faults.too_many(path.clone(), conditions.len(), CONDITIONS_MAX);
    }
    let mut seen: Vec<&str> = Vec::new();
    for (at, condition) in conditions.iter().enumerate() {
        let path = path.index(at);
        let (name, text) = (condition.text_at(&["name"]), condition.text_at(&["expression"]).trim());
        let (path_of_text, path_of_name) = (path.child("expression"), path.child("name"));
        match text {
            // Words find what is empty, and not what is blank.
            "" if faults.is_declared(&path_of_text) => faults.declared(&path_of_text),
            "" => faults.required(path_of_text, ""),
            text => expression(text, &path_of_text, faults),
        }
        faults.declared(&path_of_name);
        if name.is_empty() {
            continue;
        }
        faults.invalid_each(&path_of_name, name, names::qualified_name(name));
        if seen.contains(&name) {
            faults.duplicate(path_of_name, quoted(name));
        }
        seen.push(name);
    }
}
