//! One rule at one value, and the words for what is wrong with it.

use std::ops::ControlFlow;

use apiwright_json::{Str, Value};
use apiwright_meta::field::go_float;

use super::{Walk, format, pattern};
use crate::trail::Trail;
use crate::{Node, Rule, Text, go};

/// Whether to look at what follows: the other rules and what is inside.
type Flow = ControlFlow<()>;

const ON: Flow = ControlFlow::Continue(());
const DONE: Flow = ControlFlow::Break(());

impl Walk<'_> {
    pub(super) fn rule(&mut self, rule: &Rule, node: &Node, value: Option<&Value>, at: &Trail<'_>) -> Flow {
        let Some(value) = value else { return self.rule_without_value(rule, node, at) };
        match rule {
            Rule::Published(_) | Rule::Required => ON,
            Rule::Enum(values) => {
                match value {
                    Value::Array(items) if !values.iter().any(|text| text.starts_with('[')) => {
                        for (index, item) in items.iter().enumerate() {
                            self.member_of(values, item, &at.index(index));
                        }
                    }
                    value => self.member_of(values, value, at),
                }
                ON
            }
            Rule::Minimum(minimum) => {
                if number(value).is_some_and(|number| number < *minimum) {
                    self.bound(value, at, "greater than or equal to", *minimum);
                }
                ON
            }
            Rule::Maximum(maximum) => {
                if number(value).is_some_and(|number| number > *maximum) {
                    self.bound(value, at, "less than or equal to", *maximum);
                }
                ON
            }
            Rule::ExclusiveMinimum(minimum) => {
                if number(value).is_some_and(|number| number <= *minimum) {
                    self.bound(value, at, "greater than", *minimum);
                }
                ON
            }
            Rule::ExclusiveMaximum(maximum) => {
                if number(value).is_some_and(|number| number >= *maximum) {
                    self.bound(value, at, "less than", *maximum);
                }
                ON
            }
            Rule::MultipleOf(factor) => {
                if number(value).is_some_and(|number| (number / factor).fract() != 0.0) {
                    self.in_body(value, at, &format!("should be a multiple of {}", go_float(*factor)));
                }
                ON
            }
            Rule::MinLength(least) => {
                if value.as_str().is_some_and(|text| (text.chars().count() as u64) < *least) {
                    self.errors.too_short(self.path(at), *least as usize);
                }
                ON
            }
            Rule::MaxLength(most) => {
                if value.as_str().is_some_and(|text| text.chars().count() as u64 > *most) {
                    self.errors.too_long_characters(self.path(at), *most as usize);
                }
                ON
            }
            Rule::MaxBytes(most) => {
                if value.as_str().is_some_and(|text| text.len() as u64 > *most) {
                    self.errors.too_long(self.path(at), *most as usize);
                }
                ON
            }
            Rule::Pattern(expression) => {
                if value.as_str().is_some_and(|text| !pattern::matches(expression, text)) {
                    let expectation = format!("should match '{}'", &**expression);
                    self.in_body(value, at, &expectation);
                }
                ON
            }
            Rule::Format(name) => {
                if let Value::String(text) = value {
                    format::check(name, text, &self.path(at), self.errors);
                }
                ON
            }
            Rule::MinItems(least) => match count(value).filter(|count| (*count as u64) < *least) {
                None => ON,
                Some(count) => {
                    self.errors.too_few(self.path(at), count, *least as usize);
                    ON
                }
            },
            Rule::MaxItems(most) => match count(value).filter(|count| *count as u64 > *most) {
                None => ON,
                Some(count) => {
                    self.errors.too_many(self.path(at), count, *most as usize);
                    DONE
                }
            },
            Rule::MinProperties(least) => {
                if let Value::Object(object) = value
                    && (object.len() as u64) < *least
                {
                    let expectation = format!("should have at least {least} properties");
                    self.in_body(&Value::Int(object.len() as i64), at, &expectation);
                }
                ON
            }
            Rule::MaxProperties(most) => match value {
                Value::Object(object) if object.len() as u64 > *most => {
                    self.errors.too_many(self.path(at), object.len(), *most as usize);
                    DONE
                }
                _ => ON,
            },
            // Only custom resources have these.
            Rule::Members(_)
            | Rule::Junctor(..)
            | Rule::Properties(_)
            | Rule::Items(_)
            | Rule::Closed(_)
            | Rule::Untyped => ON,
            Rule::Immutable => {
                if !self.updating {
                    return ON;
                }
                let shown = go::internal(node, value);
                self.errors.invalid(self.path(at), shown, "field is immutable");
                DONE
            }
        }
    }

    fn rule_without_value(&mut self, rule: &Rule, node: &Node, at: &Trail<'_>) -> Flow {
        match rule {
            Rule::Required => {
                self.errors.required(self.path(at), "");
                DONE
            }
            Rule::Immutable if self.updating => {
                let shown = go::internal(node, &crate::decode::omission::zero(node));
                self.errors.invalid(self.path(at), shown, "field is immutable");
                DONE
            }
            _ => ON,
        }
    }

    fn member_of(&mut self, values: &[Text], value: &Value, at: &Trail<'_>) {
        if values.iter().any(|text| is(value, text)) {
            return;
        }
        let supported: Vec<Str> = values.iter().map(|text| plain(text)).collect();
        let shown = apiwright_meta::field::go_value(value);
        self.errors.not_supported(self.path(at), shown, &supported);
    }

    fn bound(&mut self, value: &Value, at: &Trail<'_>, relation: &str, bound: f64) {
        let bound = if bound.fract() == 0.0 && bound.abs() < 1e18 {
            (bound as i64).to_string()
        } else {
            go_float(bound)
        };
        let shown = apiwright_meta::field::go_value(value);
        self.errors.invalid(self.path(at), shown, &format!("must be {relation} {bound}"));
    }

    /// The words of the validator of JSON schemas.
    fn in_body(&mut self, value: &Value, at: &Trail<'_>, expectation: &str) {
        let path = self.path(at);
        let detail = format!("{} in body {expectation}", path.as_str());
        self.errors.invalid(path, apiwright_meta::field::go_value(value), &detail);
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

fn count(value: &Value) -> Option<usize> {
    match value {
        Value::Array(items) => Some(items.len()),
        Value::Object(object) => Some(object.len()),
        _ => None,
    }
}

/// Whether a value is the one that a JSON text spells. Strings may go without their quotes.
fn is(value: &Value, text: &str) -> bool {
    match value {
        Value::String(value) => *plain(text) == **value,
        value => apiwright_json::decode(text.as_bytes()).is_ok_and(|(wanted, _)| wanted == *value),
    }
}

/// The text of a JSON string; other values as they are spelt.
fn plain(text: &str) -> Str {
    match text.starts_with('"').then(|| apiwright_json::decode(text.as_bytes())) {
        Some(Ok((Value::String(text), _))) => text,
        _ => Str::from(text),
    }
}
