//! Numbers that may be percentages.

use apiwright_json::Value;
use apiwright_meta::field::go_value;
use apiwright_meta::{ErrorList, Path, names};

/// The faults of a number or a percentage.
pub fn int_or_percent(value: Option<&Value>, path: &Path, errors: &mut ErrorList) {
    match value {
        Some(Value::String(text)) => errors.invalid_each(path, text, names::percent(text)),
        Some(Value::Int(number)) if *number < 0 => {
            errors.invalid(path.clone(), number, "must be greater than or equal to 0");
        }
        _ => {}
    }
}

/// A percentage of more than all.
pub fn at_most_all(value: Option<&Value>, path: &Path, errors: &mut ErrorList) {
    let percent = value.and_then(Value::as_str).and_then(|text| text.strip_suffix('%'));
    let is_more = |percent: &str| percent.parse::<i64>().is_ok_and(|percent| percent > 100);
    if let Some(value) = value.filter(|_| percent.is_some_and(is_more)) {
        errors.invalid(path.clone(), go_value(value), "must not be greater than 100%");
    }
}

/// Whether a number or a percentage is none.
pub fn is_zero(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => {
            text.strip_suffix('%').and_then(|percent| percent.parse::<i64>().ok()).unwrap_or_default() == 0
        }
        Some(value) => value.as_i64().unwrap_or_default() == 0,
        None => true,
    }
}
