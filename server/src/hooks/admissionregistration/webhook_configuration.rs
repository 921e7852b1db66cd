//! Webhook configurations: which webhooks are called, for what, and how.

use apiwright_json::Value;
use apiwright_meta::domains::validate_fully_qualified_name;
use apiwright_meta::field::quoted;
use apiwright_meta::labels::{SelectorLeniency, validate_label_selector};
use apiwright_meta::{ErrorList, Path};
use apiwright_policy::vocabulary::{Names, env};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::{items, match_conditions, rules};
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::{cells, webhook_client};

/// The hooks of webhook configurations.
#[derive(Debug)]
pub struct WebhookConfiguration;

impl Hooks for WebhookConfiguration {
    fn validate_create(&self, _: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        webhooks(object, &Leniency::default(), errors);
    }

    fn validate_update(&self, _: WriteContext<'_>, object: &Value, old: &Value, errors: &mut ErrorList) {
        webhooks(object, &Leniency::of(object, old), errors);
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Webhooks" => cells::count(object, &["webhooks"]).into(),
            _ => Value::Null,
        }
    }
}

/// What an old configuration already had wrong, and may keep.
#[derive(Default)]
struct Leniency {
    match_conditions: bool,
    side_effects: bool,
    review_versions: bool,
    names: bool,
    selectors: SelectorLeniency,
}

impl Leniency {
    fn of(object: &Value, old: &Value) -> Self {
        let (new, old) = (items(object, "webhooks"), items(old, "webhooks"));
        let conditions = |hooks: &[Value]| {
            hooks.iter().map(|hook| items(hook, "matchConditions").to_vec()).collect::<Vec<_>>()
        };
        let known = |hook: &Value| {
            let versions = items(hook, "admissionReviewVersions");
            versions.is_empty() || versions.iter().any(|one| matches!(one.as_str(), Some("v1" | "v1beta1")))
        };
        let names: Vec<&str> = old.iter().map(|hook| hook.text_at(&["name"])).collect();
        let invalid = |hook: &Value| {
            SELECTORS.iter().any(|name| {
                let errors =
                    validate_label_selector(hook.get(name), SelectorLeniency::default(), &Path::default());
                !errors.is_empty()
            })
        };
        Self {
            match_conditions: conditions(new) == conditions(old),
            side_effects: !old.iter().all(|hook| HARMLESS.contains(&hook.text_at(&["sideEffects"]))),
            review_versions: !old.iter().all(known),
            names: names.iter().enumerate().any(|(at, name)| names[..at].contains(name)),
            selectors: SelectorLeniency {
                invalid_values: old.iter().any(invalid),
                ..SelectorLeniency::default()
            },
        }
    }
}

const SELECTORS: [&str; 2] = ["namespaceSelector", "objectSelector"];
const HARMLESS: [&str; 2] = ["None", "NoneOnDryRun"];
const SIDE_EFFECTS: [&str; 4] = ["None", "NoneOnDryRun", "Some", "Unknown"];

fn webhooks(configuration: &Value, lenient: &Leniency, errors: &mut ErrorList) {
    let path = Path::new("webhooks");
    let mut faults = Faults::take(errors, &path);
    let mut seen: Vec<&str> = Vec::new();
    for (at, hook) in items(configuration, "webhooks").iter().enumerate() {
        let path = path.index(at);
        webhook(hook, lenient, &path, &mut faults);
        webhook_client::review_versions(
            items(hook, "admissionReviewVersions"),
            !lenient.review_versions,
            "must specify one of v1, v1beta1",
            &path.child("admissionReviewVersions"),
            &mut faults,
        );
        let name = hook.text_at(&["name"]);
        if lenient.names || name.is_empty() {
            continue;
        }
        if seen.contains(&name) {
            faults.duplicate(path.child("name"), quoted(name));
        }
        seen.push(name);
    }
}

fn webhook(hook: &Value, lenient: &Leniency, path: &Path, faults: &mut Faults<'_>) {
    faults.append(validate_fully_qualified_name(&path.child("name"), hook.text_at(&["name"])));
    for (at, rule) in items(hook, "rules").iter().enumerate() {
        rules::rule(rule, &path.child("rules").index(at), faults);
    }
    faults.declared_below(&path.child("failurePolicy"));
    faults.declared_below(&path.child("matchPolicy"));
    side_effects(hook, lenient, &path.child("sideEffects"), faults);
    let seconds = hook.get("timeoutSeconds").and_then(Value::as_i64);
    if let Some(seconds) = seconds.filter(|seconds| !(1..=30).contains(seconds)) {
        let words = "the timeout value must be between 1 and 30 seconds";
        faults.invalid(path.child("timeoutSeconds"), seconds, words);
    }
    for name in SELECTORS {
        faults.append(validate_label_selector(hook.get(name), lenient.selectors, &path.child(name)));
    }
    faults.declared_below(&path.child("reinvocationPolicy"));
    let none = Value::Null;
    webhook_client::address(hook.get("clientConfig").unwrap_or(&none), &path.child("clientConfig"), faults);
    if !lenient.match_conditions {
        let conditions = items(hook, "matchConditions");
        let env = env(Names::asking(false), &[]);
        match_conditions::conditions(
            conditions,
            &path.child("matchConditions"),
            faults,
            &|text, path, errors| match_conditions::expression(&env, text, path, errors),
        );
    }
}

fn side_effects(hook: &Value, lenient: &Leniency, path: &Path, errors: &mut ErrorList) {
    let allowed: &[&str] = if lenient.side_effects { &SIDE_EFFECTS } else { &HARMLESS };
    match hook.get("sideEffects").and_then(Value::as_str) {
        None => errors.required(path.clone(), &format!("must specify one of {}", allowed.join(", "))),
        Some(known) if allowed.contains(&known) => {}
        Some(other) => errors.not_supported(path.clone(), quoted(other), allowed),
    }
}
