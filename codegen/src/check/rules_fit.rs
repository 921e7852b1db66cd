//! What a value must satisfy fits what the value is.

use crate::check::index::{Index, fields};
use crate::diagnostic::{Diagnostics, Place};
use crate::spec::{BuiltIn, Field, Holds, Rule};

/// Reports rules that their field can never break, or that no value can keep.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    for (home, _, field) in fields(index.spec) {
        if let Holds::Named(name) = &field.holds.value
            && index.find(home, name).is_none()
        {
            continue; // another rule's matter
        }
        for rule in &field.rules {
            check_kind(field, rule, &rule.at, problems);
            check_values(rule, &rule.at, problems);
        }
        check_ranges(field, problems);
    }
}

fn check_kind(field: &Field, rule: &Rule, at: &Place, problems: &mut Diagnostics) {
    let (word, needed) = match rule {
        Rule::NonEmpty | Rule::Immutable => return,
        Rule::Enum(_) => ("enum", Needs::Text),
        Rule::Values(_) => ("values", Needs::Text),
        Rule::Minimum(_) => ("minimum", Needs::Number),
        Rule::Maximum(_) => ("maximum", Needs::Number),
        Rule::MinLength(_) => ("minLength", Needs::Text),
        Rule::MaxLength(_) => ("maxLength", Needs::Text),
        Rule::MaxBytes(_) => ("maxBytes", Needs::Text),
        Rule::Pattern(_) => ("pattern", Needs::Text),
        Rule::Format(_) => ("format", Needs::Text),
        Rule::MinItems(_) => ("minItems", Needs::Items),
        Rule::MaxItems(_) => ("maxItems", Needs::Items),
    };
    let holds = &field.holds.value;
    let scalar = if let Holds::List(item) = holds { item } else { holds };
    let (fits, what) = match needed {
        Needs::Text => (matches!(scalar, Holds::BuiltIn(BuiltIn::String | BuiltIn::Bytes)), "a text"),
        Needs::Number => (
            matches!(
                scalar,
                Holds::BuiltIn(BuiltIn::Int32 | BuiltIn::Int64 | BuiltIn::Double | BuiltIn::IntOrString)
            ),
            "a number",
        ),
        Needs::Items => (matches!(holds, Holds::List(_) | Holds::Map(_)), "a list or map"),
    };
    if !fits {
        problems.report(at, format!("`{word}` is about {what}, which `{}` is not", *field.name));
    }
}

enum Needs {
    Text,
    Number,
    Items,
}

fn check_values(rule: &Rule, at: &Place, problems: &mut Diagnostics) {
    if let Rule::Enum(values) | Rule::Values(values) = rule {
        if values.is_empty() {
            problems.report(at, "no value is allowed");
        }
        for (place, value) in values.iter().enumerate() {
            if values[..place].contains(value) {
                problems.report(at, format!("`{value}` is listed twice"));
            }
        }
    }
}

fn check_ranges(field: &Field, problems: &mut Diagnostics) {
    let bound = |wanted: fn(&Rule) -> Option<f64>| field.rules.iter().find_map(|rule| wanted(rule));
    let ranges = [
        (
            bound(|rule| if let Rule::Minimum(n) = rule { Some(*n) } else { None }),
            bound(|rule| if let Rule::Maximum(n) = rule { Some(*n) } else { None }),
        ),
        (
            bound(|rule| if let Rule::MinItems(n) = rule { Some(*n as f64) } else { None }),
            bound(|rule| if let Rule::MaxItems(n) = rule { Some(*n as f64) } else { None }),
        ),
        (
            bound(|rule| if let Rule::MinLength(n) = rule { Some(*n as f64) } else { None }),
            bound(|rule| if let Rule::MaxLength(n) = rule { Some(*n as f64) } else { None }),
        ),
    ];
    for (least, most) in ranges {
        if let (Some(least), Some(most)) = (least, most)
            && least > most
        {
            problems.report(&field.name.at, format!("nothing is both at least {least} and at most {most}"));
        }
    }
}
