//! Admission policies: expressions that are asked about requests, or that change them.

use apiwright_cel::{Type, escape};
use apiwright_json::Value;
use apiwright_meta::conditions::validate_conditions;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path, names, object};
use apiwright_policy::vocabulary::{Names, env};
use apiwright_policy::{Expected, fault};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::{items, match_conditions, match_resources};
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::{brackets, cells};

const ANNOTATIONS_MAX: usize = 20;
const ANNOTATION_BYTES_MAX: usize = 5 * 1024;

/// The hooks of admission policies.
#[derive(Debug)]
pub struct AdmissionPolicy;

impl Hooks for AdmissionPolicy {
    fn validate_create(&self, _: WriteContext<'_>, policy: &Value, errors: &mut ErrorList) {
        of_policy(policy, true, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        policy: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        if context.subresource == "status" {
            of_status(policy, errors);
            return;
        }
        let unchanged = |member: &str| policy.at(&["spec", member]) == old.at(&["spec", member]);
        of_policy(policy, !unchanged("paramKind") || !unchanged("matchConditions"), errors);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Validations" => cells::count(object, &["spec", "validations"]).into(),
            "Mutations" => cells::count(object, &["spec", "mutations"]).into(),
            "ParamKind" => match object.at(&["spec", "paramKind"]) {
                Some(kind) => format!("{}/{}", kind.text_at(&["apiVersion"]), kind.text_at(&["kind"])).into(),
                None => "<unset>".into(),
            },
            _ => Value::Null,
        }
    }
}

fn of_policy(policy: &Value, with_conditions: bool, errors: &mut ErrorList) {
    let none = Value::Null;
    let spec = policy.get("spec").unwrap_or(&none);
    let path = Path::new("spec");
    let mut faults = Faults::take(errors, &path);
    let mutates = object::kind(policy).starts_with("Mutating");
    faults.declared_below(&path.child("failurePolicy"));
    let kind = spec.get("paramKind");
    let params = kind.is_some();
    if let Some(kind) = kind {
        param_kind(kind, &path.child("paramKind"), &mut faults);
    }
    constraints(spec, mutates, &path.child("matchConstraints"), &mut faults);
    if with_conditions {
        let env = env(Names::asking(params), &[]);
        match_conditions::conditions(
            items(spec, "matchConditions"),
            &path.child("matchConditions"),
            &mut faults,
            &|text, path, errors| match_conditions::expression(&env, text, path, errors),
        );
    }
    let types = variables(items(spec, "variables"), params, &path.child("variables"), &mut faults);
    if mutates {
        mutations(spec, params, &types, &path.child("mutations"), &mut faults);
        faults.declared_below(&path.child("reinvocationPolicy"));
        return;
    }
    if items(spec, "validations").is_empty() && items(spec, "auditAnnotations").is_empty() {
        for member in ["validations", "auditAnnotations"] {
            let words = "validations or auditAnnotations must contain at least one item";
            faults.required(path.child(member), words);
        }
    }
    validations(spec, params, &types, &path.child("validations"), &mut faults);
    annotations(policy, params, &types, &path.child("auditAnnotations"), &mut faults);
}

/// What does not compile or gives something else.
fn expression(outcome: Result<Type, String>, text: &str, path: &Path, errors: &mut ErrorList) {
    if let Err(why) = outcome {
        errors.invalid(path.clone(), quoted(text), &why);
    }
}

fn param_kind(kind: &Value, path: &Path, faults: &mut Faults<'_>) {
    let at = path.child("apiVersion");
    let api_version = kind.text_at(&["apiVersion"]);
    match api_version.split('/').collect::<Vec<_>>()[..] {
        [""] => faults.declared_below(&at),
        ["", ""] => faults.invalid(at, quoted(api_version), "version must be specified"),
        [version] => version_label(version, &at, faults),
        [group, version] => {
            if !group.is_empty() {
                joined(group, names::dns1123_subdomain(group), "", &at, faults);
            }
            match version {
                "" => faults.invalid(at, quoted(api_version), "version must be specified"),
                version => version_label(version, &at, faults),
            }
        }
        _ => {
            let words = format!("unexpected GroupVersion string: {api_version}");
            faults.invalid(at, quoted(api_version), &words);
        }
    }
    let at = path.child("kind");
    match kind.text_at(&["kind"]) {
        "" => faults.declared_below(&at),
        kind => {
            let faulty = names::dns1035_label(&kind.to_lowercase());
            joined(kind, faulty, "may have mixed case, but should otherwise match: ", &at, faults);
        }
    }
}

fn version_label(version: &str, path: &Path, errors: &mut ErrorList) {
    joined(version, names::dns1035_label(version), "", path, errors);
}

fn joined(value: &str, faulty: Vec<String>, intro: &str, path: &Path, errors: &mut ErrorList) {
    if !faulty.is_empty() {
        errors.invalid(path.clone(), quoted(value), &format!("{intro}{}", faulty.join(",")));
    }
}

fn constraints(spec: &Value, mutates: bool, path: &Path, faults: &mut Faults<'_>) {
    faults.declared(path);
    let Some(constraints) = spec.get("matchConstraints") else { return };
    match_resources::match_resources(constraints, path, faults);
    if items(constraints, "resourceRules").is_empty() {
        faults.required(path.child("resourceRules"), "");
    }
    if mutates {
        match_resources::no_deletions(constraints, path, faults);
    }
}

/// The types of the variables: each may name those before it.
fn variables(all: &[Value], params: bool, path: &Path, errors: &mut ErrorList) -> Vec<(String, Type)> {
    let mut types: Vec<(String, Type)> = Vec::new();
    for (at, variable) in all.iter().enumerate() {
        let (path, name) = (path.index(at), variable.text_at(&["name"]));
        if name.trim().is_empty() {
            errors.required(path.child("name"), "name is not specified");
        } else if !is_identifier(name) {
            errors.invalid(path.child("name"), quoted(name), "must be a valid CEL identifier");
        }
        let (path, text) = (path.child("expression"), variable.text_at(&["expression"]));
        let mut ty = Type::Dyn;
        if text.trim().is_empty() {
            errors.required(path, "expression is not specified");
        } else {
            match fault(&env(Names::asking(params), &types), text, Expected::Any) {
                Ok(found) => ty = found,
                Err(why) => errors.invalid(path, quoted(text), &why),
            }
        }
        types.push((name.to_owned(), ty));
    }
    types
}

/// Whether a name is one for the grammar, too.
fn is_identifier(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let goes_on = name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    // Keywords are escaped; so are two underscores, which are fine here.
    starts && goes_on && (name.contains("__") || escape(name).as_deref() == Some(name))
}

fn validations(spec: &Value, params: bool, types: &[(String, Type)], path: &Path, faults: &mut Faults<'_>) {
    let all = items(spec, "validations");
    if all.is_empty() {
        return;
    }
    let (asking, telling) = (env(Names::asking(params), types), env(Names::telling(params), types));
    for (at, validation) in all.iter().enumerate() {
        let path = path.index(at);
        let (at, text) = (path.child("expression"), validation.text_at(&["expression"]));
        match text.trim() {
            "" => faults.required(at, "expression is not specified"),
            _ => expression(fault(&asking, text, Expected::Bool), text, &at, faults),
        }
        let (at, text) = (path.child("messageExpression"), validation.text_at(&["messageExpression"]));
        match text.trim() {
            "" if text.is_empty() => {}
            "" => faults.invalid(at, quoted(text), "must be non-empty if specified"),
            _ => expression(fault(&telling, text, Expected::String), text, &at, faults),
        }
        let (at, text) = (path.child("message"), validation.text_at(&["message"]));
        if text.trim().is_empty() && !text.is_empty() {
            faults.invalid(at, quoted(text), "must be non-empty if specified");
        } else if text.trim().contains(['\n', '\r']) {
            faults.invalid(at, quoted(text), "must not contain line breaks");
        }
        faults.declared_below(&path);
    }
}

fn annotations(policy: &Value, params: bool, types: &[(String, Type)], path: &Path, faults: &mut Faults<'_>) {
    let spec = policy.get("spec").unwrap_or(&Value::Null);
    let all = items(spec, "auditAnnotations");
    if all.len() > ANNOTATIONS_MAX {
        let words = format!("must not have more than {ANNOTATIONS_MAX} auditAnnotations");
        let shown = go_value(spec.get("auditAnnotations").unwrap_or(&Value::Null));
        faults.invalid(path.clone(), shown, &words);
    }
    if all.is_empty() {
        return;
    }
    let env = env(Names::asking(params), types);
    let mut seen: Vec<&str> = Vec::new();
    for (at, annotation) in all.iter().enumerate() {
        let path = path.index(at);
        let (at, key) = (path.child("key"), annotation.text_at(&["key"]));
        match object::name(policy) {
            "" => faults.invalid(at.clone(), quoted(key), "requires metadata.name be non-empty"),
            name => {
                let key = format!("{name}/{key}");
                faults.invalid_each(&at, &key, names::qualified_name(&key));
            }
        }
        let (of_value, text) = (path.child("valueExpression"), annotation.text_at(&["valueExpression"]));
        match text.trim() {
            "" => faults.required(of_value, "valueExpression is not specified"),
            long if long.len() > ANNOTATION_BYTES_MAX => {
                faults.required(of_value, &format!("must not exceed {ANNOTATION_BYTES_MAX} bytes in length"));
            }
            short => expression(fault(&env, short, Expected::StringOrNull), text, &of_value, faults),
        }
        if seen.contains(&key) {
            faults.duplicate(at, quoted(key));
        }
        seen.push(key);
    }
}

fn mutations(spec: &Value, params: bool, types: &[(String, Type)], path: &Path, faults: &mut Faults<'_>) {
    let all = items(spec, "mutations");
    if all.is_empty() {
        faults.required(path.clone(), "mutations must contain at least one item");
        return;
    }
    let env = env(Names::mutating(params), types);
    for (at, mutation) in all.iter().enumerate() {
        let path = path.index(at);
        let patch_type = mutation.text_at(&["patchType"]);
        let (wanted, other, expected) = match patch_type {
            "JSONPatch" => ("jsonPatch", "applyConfiguration", Expected::Patches),
            "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", Expected::Object),
            _ => {
                faults.declared(&path.child("patchType"));
                faults.drop_below(&path);
                continue;
            }
        };
        let at = path.child(wanted);
        match mutation.get(wanted) {
            None => faults.required(at, &format!("must be specified when patchType is {patch_type}")),
            Some(given) => {
                let (at, text) = (at.child("expression"), given.text_at(&["expression"]));
                match text.trim() {
                    "" if faults.is_declared(&at) => faults.declared(&at),
                    "" => faults.required(at, ""),
                    _ => expression(fault(&env, text, expected), text, &at, faults),
                }
            }
        }
        if mutation.get(other).is_some() {
            let words = format!("must not be specified when patchType is {patch_type}");
            faults.invalid(path.child(other), quoted(&format!("{{{other}}}")), &words);
        }
        faults.drop_below(&path);
    }
}

fn of_status(policy: &Value, errors: &mut ErrorList) {
    let none = Value::Null;
    let status = policy.get("status").unwrap_or(&none);
    let path = Path::new("status");
    let mut faults = Faults::take(errors, &path);
    let warnings =
        status.get("typeChecking").map_or(&[][..], |checking| items(checking, "expressionWarnings"));
    for (at, warning) in warnings.iter().enumerate() {
        let path = path.child("typeChecking").child("expressionWarnings").index(at);
        let at = path.child("warning");
        match warning.text_at(&["warning"]) {
            "" if faults.is_declared(&at) => faults.declared(&at),
            "" => faults.required(at, ""),
            _ => {}
        }
        let path = path.child("fieldRef");
        match warning.text_at(&["fieldRef"]).trim() {
            "" => faults.required(path, ""),
            field => {
                if let Some(why) = brackets::fault(field) {
                    faults.invalid(path, quoted(field), &format!("invalid JSONPath: {why}"));
                }
            }
        }
    }
    faults.append(validate_conditions(status.get("conditions"), &path.child("conditions")));
    faults.drop_below(&path.child("conditions"));
}
