//! What is wrong with the rules of a definition that is written (upstream: `apis/apiextensions/validation`).

use std::sync::Arc;

use apiwright_cel::Decl;
use apiwright_json::{Object, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path};

use super::compile::compile;
use super::{field_path, rule};

/// What one rule may cost.
const RULE_COST_MAX: u64 = 10_000_000;
/// What all rules of a schema may cost.
const SCHEMA_COST_MAX: u64 = 100_000_000;
/// How many of the most expensive rules are named.
const NAMED_MAX: usize = 4;

const REASONS: &[&str] =
    &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

const LINE_BREAKS: [char; 2] = ['\n', '\r'];

/// Faults of the words of one node's rules, whatever they mean.
pub fn words(schema: &Object, path: &Path, errors: &mut ErrorList) {
    for (at, rule) in rule::of(schema).iter().enumerate() {
        let path = path.child("x-kubernetes-validations").index(at);
        let (text, message) = (rule.text.trim(), rule.message.trim());
        if text.is_empty() {
            errors.required(path.child("rule"), "rule is not specified");
        } else if !rule.message.is_empty() && message.is_empty() {
            errors.invalid(path.child("message"), quoted(&rule.message), "must be non-empty if specified");
        } else if message.contains(LINE_BREAKS) {
            errors.invalid(path.child("message"), quoted(&rule.message), "must not contain line breaks");
        } else if text.contains(LINE_BREAKS) && message.is_empty() {
            let words = "message must be specified if rule contains line breaks";
            errors.required(path.child("message"), words);
        }
        if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
            let words = "messageExpression must be non-empty if specified";
            errors.required(path.child("messageExpression"), words);
        }
        if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
            errors.not_supported(path.child("reason"), quoted(reason), REASONS);
        }
        let shown = quoted(&rule.field_path);
        if !rule.field_path.is_empty() && rule.field_path.trim().is_empty() {
            errors.invalid(path.child("fieldPath"), &shown, "must be non-empty if specified");
        }
        if rule.field_path.contains(LINE_BREAKS) {
            errors.invalid(path.child("fieldPath"), &shown, "must not contain line breaks");
        }
        if !rule.field_path.is_empty() && field_path::parse(&rule.field_path, schema).is_none() {
            errors.invalid(path.child("fieldPath"), &shown, "must be a valid path");
        }
    }
}

/// Faults of what a schema's rules mean. Nodes that are `faulty`, or above some, are passed over; with
/// `priced` false, single rules may cost anything, as those of a schema that did not change.
pub fn check(schema: &Object, path: &Path, priced: bool, faulty: Vec<Path>, errors: &mut ErrorList) {
    let mut check = Check { known: faulty, priced, total: 0, expensive: Vec::new(), errors };
    let root = Place {
        schema,
        path: path.clone(),
        types: None,
        cardinality: Some(1),
        uncorrelatable: None,
        root: true,
    };
    check.node(root);
    check.total(path);
}

struct Check<'e> {
    /// The places of faults that are known already.
    known: Vec<Path>,
    priced: bool,
    total: u64,
    expensive: Vec<(u64, Path)>,
    errors: &'e mut ErrorList,
}

/// A node and what is known of its place.
struct Place<'s> {
    schema: &'s Object,
    path: Path,
    /// The types, once there are rules here or above; or that there are none.
    types: Option<Result<Arc<Decl>, ()>>,
    /// How often there can be such a value; none without bound.
    cardinality: Option<u64>,
    /// The first place above that cannot be found again in what was before.
    uncorrelatable: Option<Path>,
    root: bool,
}

impl<'s> Place<'s> {
    /// The types of the place itself, which are made where rules begin.
    fn typed(&mut self) {
        if self.types.is_none() && !rule::of(self.schema).is_empty() {
            self.types = Some(declare(self.schema, self.root));
        }
    }

    fn inner(&self, schema: &'s Object, path: Path, types: Option<Arc<Decl>>) -> Self {
        let types = match &self.types {
            None => None,
            Some(Err(())) => Some(Err(())),
            Some(Ok(_)) => Some(types.map_or_else(|| declare(schema, false), Ok)),
        };
        let cardinality = self.cardinality.zip(elements_max(self.schema));
        Self {
            schema,
            path,
            types,
            cardinality: cardinality.map(|(outer, inner)| outer.saturating_mul(inner)),
            uncorrelatable: self.uncorrelatable.clone(),
            root: false,
        }
    }
}

fn declare(schema: &Object, root: bool) -> Result<Arc<Decl>, ()> {
    let embedded = schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    Decl::of_schema(&Value::Object(schema.clone()), root || embedded, "self").ok_or(())
}

/// How many values of its inner schema a value has at most.
fn elements_max(schema: &Object) -> Option<u64> {
    let bound = |word: &str| {
        let bound = schema.get(word).and_then(Value::as_i64)?;
        Some(bound.max(0).unsigned_abs())
    };
    match schema.str("type").unwrap_or_default() {
        "object" if schema.get("additionalProperties").is_some_and(|value| !value.is_null()) => {
            bound("maxProperties")
        }
        "array" => bound("maxItems"),
        _ => Some(1),
    }
}

impl Check<'_> {
    fn node(&mut self, mut place: Place<'_>) {
        place.typed();
        let decl = place.types.as_ref().and_then(|types| types.as_ref().ok()).cloned();
        let schema = place.schema;
        if let Some(Value::Object(values)) = schema.get("additionalProperties") {
            let types = decl.as_ref().and_then(|decl| decl.element().cloned());
            self.node(place.inner(values, place.path.child("additionalProperties"), types));
        }
        for (name, property) in
            schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Object::iter)
        {
            let Some(property) = property.as_object() else { continue };
            let types = decl.as_ref().and_then(|decl| decl.property(name).cloned());
            self.node(place.inner(property, place.path.child("properties").key(name), types));
        }
        if let Some(Value::Object(items)) = schema.get("items") {
            let types = decl.as_ref().and_then(|decl| decl.element().cloned());
            let mut inner = place.inner(items, place.path.child("items"), types);
            // Only of keyed lists it is known which item was which.
            if schema.str("x-kubernetes-list-type") != Some("map") {
                inner.uncorrelatable.get_or_insert_with(|| place.path.clone());
            }
            self.node(inner);
        }
        self.rules(&place);
    }

    fn rules(&mut self, place: &Place<'_>) {
        let path = place.path.child("x-kubernetes-validations");
        let Some(types) = &place.types else { return };
        if rule::of(place.schema).is_empty() || self.is_faulty(&place.path) {
            return;
        }
        let Ok(decl) = types else {
            let words = "internal error: failed to construct type information for x-kubernetes-validations rules: unable \
                         to convert structural schema to CEL declarations";
            self.errors.internal(path, words);
            return;
        };
        for (at, compiled) in compile(place.schema, decl).iter().enumerate() {
            let path = path.index(at);
            let times = place.cardinality.unwrap_or_else(|| decl.cardinality_max());
            if let Some(Ok(program)) = &compiled.program {
                let cost = program.cost_max().saturating_mul(times);
                self.price("estimated rule cost", path.child("rule"), cost);
            }
            if let Some(Err(why)) = &compiled.program {
                self.errors.invalid(path.child("rule"), compiled.rule.shown(), why);
            }
            match &compiled.message {
                Some(Err(why)) => {
                    self.errors.invalid(path.child("messageExpression"), compiled.rule.shown(), why);
                }
                Some(Ok(program)) => {
                    let path = path.child("messageExpression");
                    self.price("estimated messageExpression cost", path, program.cost_max());
                }
                None => {}
            }
            if compiled.uses_old() {
                if let Some(within) = &place.uncorrelatable {
                    let words = format!(
                        "oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
                    );
                    self.errors.invalid(path.child("rule"), quoted(&compiled.rule.text), &words);
                }
            } else if let Some(optional) = compiled.rule.optional_old_self {
                let words = "may not be set if oldSelf is not used in rule";
                self.errors.invalid(path.child("optionalOldSelf"), optional, words);
            }
        }
    }

    /// Whether there is a fault at a place or below.
    fn is_faulty(&self, path: &Path) -> bool {
        self.known.iter().any(|known| {
            known
                .as_str()
                .strip_prefix(path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    fn price(&mut self, what: &str, path: Path, cost: u64) {
        if self.priced && cost > RULE_COST_MAX {
            self.errors.forbidden(path.clone(), &too_expensive(what, cost, RULE_COST_MAX));
        }
        self.total = self.total.saturating_add(cost);
        // What is less than a hundredth of all is never named.
        if cost >= SCHEMA_COST_MAX / 100 {
            self.expensive.push((cost, path));
            self.expensive.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            self.expensive.truncate(NAMED_MAX);
        }
    }

    fn total(&mut self, path: &Path) {
        if self.total <= SCHEMA_COST_MAX {
            return;
        }
        for (_, path) in std::mem::take(&mut self.expensive) {
            let words =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            self.errors.forbidden(path, words);
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        self.errors.forbidden(path.clone(), &too_expensive(what, self.total, SCHEMA_COST_MAX));
    }
}

fn too_expensive(what: &str, cost: u64, limit: u64) -> String {
    let times = cost as f64 / limit as f64;
    let factor = if times > 100.0 {
        "more than 100x".to_owned()
    } else if times < 1.5 {
        // Not rounded to once.
        format!("{times:.6}x")
    } else {
        format!("{times:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}
