//! Lists as sets.

use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::value::{List, Val};

pub(super) const FUNCTIONS: &[Entry] = &[
    Entry {
        name: "sets.contains",
        price: Price::Sets(1),
        native: contains,
        signatures: &["list_sets_contains_list: (list(T), list(T)) -> bool"],
    },
    Entry {
        name: "sets.equivalent",
        price: Price::Sets(2),
        native: equivalent,
        signatures: &["list_sets_equivalent_list: (list(T), list(T)) -> bool"],
    },
    Entry {
        name: "sets.intersects",
        price: Price::Sets(1),
        native: intersects,
        signatures: &["list_sets_intersects_list: (list(T), list(T)) -> bool"],
    },
];

/// How many comparisons a call may make: more cost more than an evaluation may.
const COMPARISONS_MAX: usize = 1_000_000;

fn both<'r, 'a>(args: &'r [Val<'a>]) -> Result<(&'r List<'a>, &'r List<'a>), EvalError> {
    match args {
        [Val::List(a), Val::List(b)] if a.len().saturating_mul(b.len()) > COMPARISONS_MAX => {
            Err(EvalError::CANCELLED)
        }
        [Val::List(a), Val::List(b)] => Ok((a, b)),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn holds<'a>(whole: &List<'a>, part: &List<'a>) -> Result<bool, EvalError> {
    for item in part.iter() {
        if !whole.contains(&item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn contains<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (whole, part) = both(args)?;
    holds(whole, part).map(Val::Bool)
}

fn equivalent<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (a, b) = both(args)?;
    Ok(Val::Bool(holds(a, b)? && holds(b, a)?))
}

fn intersects<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (a, b) = both(args)?;
    for item in b.iter() {
        if a.contains(&item?)? {
            return Ok(Val::Bool(true));
        }
    }
    Ok(Val::Bool(false))
}
