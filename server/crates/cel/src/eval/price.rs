//! What calls cost once they ran (upstream: `library/cost.go` and cel-go's `runtimecost.go`).

use crate::functions::Price;
use crate::size::{LIST, REGEX, STRUCT, TEXT, scaled};
use crate::value::{List, Val};

/// What matching costs.
pub(super) fn regex(text: u64, pattern: u64) -> u64 {
    // One more, so that an empty text does not make the expression free.
    scaled(text.saturating_add(1), TEXT).saturating_mul(scaled(pattern, REGEX))
}

/// What a call costs.
pub(super) fn of(price: Price, args: &[Val<'_>], result: &Val<'_>) -> u64 {
    let size = |at: usize| args.get(at).map_or(1, Val::size);
    let text = |at: usize| scaled(size(at), TEXT);
    match price {
        Price::One => 1,
        Price::Text => text(0),
        Price::TextTwice => scaled(size(0), 2.0 * TEXT),
        Price::Joined => scaled(result.size(), 2.0 * TEXT),
        Price::Sum if matches!(args, [Val::String(_) | Val::Bytes(_), _]) => {
            scaled(size(0).saturating_add(size(1)), TEXT)
        }
        Price::Sum => 1,
        Price::Smaller => match args {
            // Neither takes longer than a step.
            [Val::Ip(_) | Val::Cidr(..), _] => 1,
            [Val::Int(_) | Val::Bool(_) | Val::Double(_), _] => 1,
            _ => scaled(size(0).min(size(1)), TEXT),
        },
        Price::Product => text(0).saturating_mul(text(1)),
        Price::Regex => regex(size(0), size(1)),
        Price::Items => match args.get(1) {
            Some(Val::List(list)) => list.len() as u64,
            _ => 1,
        },
        Price::Walk => args.first().map_or(1, |value| walk(value, 0)),
        Price::Output => result.size().saturating_add(1 + LIST),
        Price::Flatten => {
            let depth = match args.get(1) {
                Some(Val::Int(depth)) => (*depth).max(0).unsigned_abs(),
                _ => 1,
            };
            size(0).saturating_mul(depth).saturating_add(1 + LIST)
        }
        Price::Square(at) => {
            let length = size(at);
            let factor = match args.get(at) {
                Some(Val::List(list)) if is_text(list) => 2.0 + TEXT,
                _ => 2.0,
            };
            scaled(length.saturating_mul(length), factor).saturating_add(1 + LIST)
        }
        Price::Sets(times) => size(0).saturating_mul(size(1)).saturating_mul(times).saturating_add(1),
        Price::Address => {
            let other = if matches!(args.get(1), Some(Val::String(_))) { text(1) } else { 0 };
            scaled(size(0) * 2, TEXT) + other
        }
        Price::Range => {
            let other = if matches!(args.get(1), Some(Val::String(_))) { text(1) } else { 0 };
            scaled(size(0) * 2, TEXT) + text(0) + 1 + other
        }
        Price::Format => match args.first() {
            Some(Val::Format(format)) => regex(size(1), format.regex_size),
            _ => 1,
        },
        // Two such questions is what one evaluation may ask.
        Price::Check => 350_000,
        Price::Selector => {
            let length = size(1);
            LIST + scaled(length, TEXT) + scaled(scaled(length, 0.5), (LIST + STRUCT) as f64)
        }
    }
}

fn is_text(list: &List<'_>) -> bool {
    matches!(list.get(0), Some(Ok(Val::String(_) | Val::Bytes(_))))
}

/// The cost of a walk through a value.
fn walk(value: &Val<'_>, depth: usize) -> u64 {
    const DEPTH_MAX: usize = 200;
    if depth > DEPTH_MAX {
        return u64::MAX;
    }
    match value {
        Val::String(text) => (text.len() as f64 * TEXT) as u64,
        Val::Bytes(bytes) => (bytes.len() as f64 * TEXT) as u64,
        Val::List(list) => {
            list.iter().flatten().fold(0, |sum: u64, item| sum.saturating_add(walk(&item, depth + 1)))
        }
        Val::Map(map) => map.entries().unwrap_or_default().iter().fold(0, |sum: u64, (key, value)| {
            sum.saturating_add(walk(key, depth + 1)).saturating_add(walk(value, depth + 1))
        }),
        _ => 1,
    }
}
