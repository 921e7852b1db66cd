//! Bounds of numbers. An integer is compared with what is left of a bound as an integer, as Go does.

use std::cmp::Ordering;

use apiwright_json::Value;
use apiwright_meta::field::{Kind, go_float, go_value};

use super::types::{self, Numeric};
use super::{Node, Rule, Trail, Walk, name_of};

/// A bound and the words for it.
struct Bound {
    at: f64,
    name: &'static str,
    words: &'static str,
    /// How a number that breaks it compares with it.
    beyond: Ordering,
    /// Whether its equal breaks it, too.
    exclusive: bool,
}

impl Walk<'_> {
    pub(super) fn number(&mut self, node: &Node, value: &Value, at: &Trail<'_>) {
        let kind = Numeric::of(node);
        if let Some(fault) = kind.fault(value) {
            self.at_large(&format!("Checked value must be of type {fault} in {}", name_of(at)));
        }
        for rule in node.rules.iter() {
            let (name, words, beyond, bound, exclusive) = match rule {
                Rule::MultipleOf(factor) => {
                    self.multiple(value, *factor, &kind, at);
                    continue;
                }
                Rule::Minimum(at) => ("Minimum", "greater than or equal to", Ordering::Less, at, false),
                Rule::ExclusiveMinimum(at) => ("Minimum", "greater than", Ordering::Less, at, true),
                Rule::Maximum(at) => ("Maximum", "less than or equal to", Ordering::Greater, at, false),
                Rule::ExclusiveMaximum(at) => ("Maximum", "less than", Ordering::Greater, at, true),
                _ => continue,
            };
            self.bound(value, &Bound { at: *bound, name, words, beyond, exclusive }, &kind, at);
        }
    }

    fn bound(&mut self, value: &Value, bound: &Bound, kind: &Numeric<'_>, at: &Trail<'_>) {
        let fault = kind.fault(&Value::Float(bound.at));
        if let Some(fault) = &fault {
            let name = bound.name;
            self.at_large(&format!("{name} boundary value must be of type {fault} in {}", name_of(at)));
        }
        let (order, shown) = match value {
            Value::Int(number) if fault.is_none() => {
                let bound = bound.at as i64;
                (number.cmp(&bound), bound.to_string())
            }
            Value::Int(number) => ((*number as f64).total_cmp(&bound.at), go_float(bound.at)),
            Value::Float(number) => {
                (number.partial_cmp(&bound.at).unwrap_or(Ordering::Equal), go_float(bound.at))
            }
            _ => return,
        };
        if order == bound.beyond || (bound.exclusive && order == Ordering::Equal) {
            self.invalid(at, go_value(value), &format!("should be {} {shown}", bound.words));
        }
    }

    fn multiple(&mut self, value: &Value, factor: f64, kind: &Numeric<'_>, at: &Trail<'_>) {
        let fault = kind.fault(&Value::Float(factor));
        if let Some(fault) = &fault {
            self.at_large(&format!("MultipleOf value must be of type {fault} in {}", name_of(at)));
        }
        let (shown, fits) = match value {
            Value::Int(number) if fault.is_none() => {
                let factor = factor as i64;
                (factor.to_string(), (factor > 0).then(|| number % factor == 0))
            }
            Value::Int(number) => (go_float(factor), is_multiple(*number as f64, factor)),
            Value::Float(number) => (go_float(factor), is_multiple(*number, factor)),
            _ => return,
        };
        match fits {
            Some(true) => {}
            Some(false) => {
                self.invalid(at, go_value(value), &format!("should be a multiple of {shown}"));
            }
            None => {
                let name = name_of(at);
                let detail = format!("factor MultipleOf declared for {name} must be positive: {shown}");
                self.tell(self.path(at), Kind::Invalid, &shown, &detail);
            }
        }
    }
}

/// Whether a number is a factor's multiple; `None` where nothing can be.
fn is_multiple(number: f64, factor: f64) -> Option<bool> {
    if factor <= 0.0 {
        return None;
    }
    Some(types::is_integer(if factor < 1.0 { 1.0 / factor * number } else { number / factor }))
}
