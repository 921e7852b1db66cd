//! Bindings: where a policy is asked, with which parameters, and what follows.

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::labels::{SelectorLeniency, validate_label_selector};
use apiwright_meta::{ErrorList, Path, names, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::{items, match_resources};
use crate::hooks::shared::faults::Faults;

/// The hooks of bindings of admission policies.
#[derive(Debug)]
pub struct AdmissionPolicyBinding;

impl Hooks for AdmissionPolicyBinding {
    fn validate_create(&self, _: WriteContext<'_>, binding: &Value, errors: &mut ErrorList) {
        of_binding(binding, errors);
    }

    fn validate_update(&self, _: WriteContext<'_>, binding: &Value, _: &Value, errors: &mut ErrorList) {
        of_binding(binding, errors);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "ParamRef" => shown(object.at(&["spec", "paramRef"])).into(),
            _ => Value::Null,
        }
    }
}

/// `namespace/name`, with stars where there is none.
fn shown(reference: Option<&Value>) -> String {
    let Some(reference) = reference else { return "<unset>".into() };
    let or_star = |member: &str| match reference.text_at(&[member]) {
        "" => "*".to_owned(),
        text => text.to_owned(),
    };
    format!("{}/{}", or_star("namespace"), or_star("name"))
}

fn of_binding(binding: &Value, errors: &mut ErrorList) {
    let none = Value::Null;
    let spec = binding.get("spec").unwrap_or(&none);
    let path = Path::new("spec");
    let mut faults = Faults::take(errors, &path);
    let at = path.child("policyName");
    match spec.text_at(&["policyName"]) {
        "" => faults.declared(&at),
        name => faults.invalid_each(&at, name, names::name_is_dns_subdomain(name, false)),
    }
    if let Some(reference) = spec.get("paramRef") {
        param_ref(reference, &path.child("paramRef"), &mut faults);
    }
    let mutates = object::kind(binding).starts_with("Mutating");
    if let Some(resources) = spec.get("matchResources") {
        let path = path.child("matchResources");
        match_resources::match_resources(resources, &path, &mut faults);
        if mutates {
            match_resources::no_deletions(resources, &path, &mut faults);
        }
    }
    if !mutates {
        actions(spec, &path.child("validationActions"), &mut faults);
    }
}

fn param_ref(reference: &Value, path: &Path, faults: &mut Faults<'_>) {
    let words = "name and selector are mutually exclusive";
    let (name, selector) = (reference.text_at(&["name"]), reference.get("selector"));
    if !name.is_empty() {
        let path = path.child("name");
        faults.invalid_each(&path, name, names::path_segment_name(name));
        if selector.is_some() {
            faults.forbidden(path, words);
        }
    }
    if selector.is_some() {
        let path = path.child("selector");
        faults.append(validate_label_selector(selector, SelectorLeniency::default(), &path));
        if !name.is_empty() {
            faults.forbidden(path, words);
        }
    }
    if name.is_empty() && selector.is_none() {
        faults.required(path.clone(), "one of name or selector must be specified");
    }
    let path = path.child("parameterNotFoundAction");
    match reference.text_at(&["parameterNotFoundAction"]) {
        "" => faults.declared(&path),
        "Allow" | "Deny" => {}
        other => faults.not_supported(path, quoted(other), &["Allow", "Deny"]),
    }
}

/// What may come of a validation that fails.
const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];

fn actions(spec: &Value, path: &Path, faults: &mut Faults<'_>) {
    faults.drop_below(path);
    let all = items(spec, "validationActions");
    if all.is_empty() {
        faults.required(path.clone(), "at least one validation action is required");
    }
    for (at, action) in all.iter().enumerate() {
        let text = quoted(action.as_str().unwrap_or_default());
        if !action.as_str().is_some_and(|action| ACTIONS.contains(&action)) {
            faults.not_supported(path.index(at), &text, &ACTIONS);
        }
        if all[..at].contains(action) {
            faults.duplicate(path.index(at), &text);
        }
    }
    let has = |action: &str| all.iter().any(|one| one.as_str() == Some(action));
    if has("Deny") && has("Warn") {
        let words = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        faults.invalid(path.clone(), go_value(spec.get("validationActions").unwrap_or(&Value::Null)), words);
    }
}
