//! Values that may be absent.

use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::value::Val;

pub(super) const FUNCTIONS: &[Entry] = &[
    Entry {
        name: "optional.of",
        price: Price::One,
        native: of,
        signatures: &["optional_of: (V) -> optional(V)"],
    },
    Entry {
        name: "optional.ofNonZeroValue",
        price: Price::One,
        native: of_non_zero,
        signatures: &["optional_ofNonZeroValue: (V) -> optional(V)"],
    },
    Entry {
        name: "optional.none",
        price: Price::One,
        native: none,
        signatures: &["optional_none: () -> optional(V)"],
    },
    Entry {
        name: "value",
        price: Price::One,
        native: value,
        signatures: &["optional_value: optional(V).() -> V"],
    },
    Entry {
        name: "hasValue",
        price: Price::One,
        native: has_value,
        signatures: &["optional_hasValue: optional(V).() -> bool"],
    },
    // These two evaluate what they are given only where it is needed: the evaluation does it.
    Entry {
        name: "or",
        price: Price::One,
        native: never,
        signatures: &["optional_or_optional: optional(V).(optional(V)) -> optional(V)"],
    },
    Entry {
        name: "orValue",
        price: Price::One,
        native: never,
        signatures: &["optional_orValue_value: optional(V).(V) -> V"],
    },
    Entry {
        name: "first",
        price: Price::One,
        native: first,
        signatures: &["list_first: list(V).() -> optional(V)"],
    },
    Entry {
        name: "last",
        price: Price::One,
        native: last,
        signatures: &["list_last: list(V).() -> optional(V)"],
    },
    Entry {
        name: "optional.unwrap",
        price: Price::One,
        native: unwrap,
        signatures: &["optional_unwrap: (list(optional(V))) -> list(V)"],
    },
    Entry {
        name: "unwrapOpt",
        price: Price::One,
        native: unwrap,
        signatures: &["optional_unwrapOpt: list(optional(V)).() -> list(V)"],
    },
];

fn never<'a>(_: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Err(EvalError::NO_OVERLOAD)
}

fn of<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    args.first().cloned().map(Val::some).ok_or(EvalError::NO_OVERLOAD)
}

fn of_non_zero<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [value] if value.is_zero() => Ok(Val::Optional(None)),
        [value] => Ok(Val::some(value.clone())),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

#[allow(clippy::unnecessary_wraps, reason = "natives may fail")]
fn none<'a>(_: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(Val::Optional(None))
}

fn value<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::Optional(Some(value))] => Ok((**value).clone()),
        [Val::Optional(None)] => Err(EvalError::new("optional.none() dereference")),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn has_value<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::Optional(value)] => Ok(Val::Bool(value.is_some())),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn at<'a>(args: &[Val<'a>], place: fn(usize) -> Option<usize>) -> Result<Val<'a>, EvalError> {
    let [Val::List(list)] = args else { return Err(EvalError::NO_OVERLOAD) };
    match place(list.len()).and_then(|at| list.get(at)) {
        Some(item) => item.map(Val::some),
        None => Ok(Val::Optional(None)),
    }
}

fn first<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    at(args, |_| Some(0))
}

fn last<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    at(args, |length| length.checked_sub(1))
}

fn unwrap<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::List(list)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let mut values = Vec::with_capacity(list.len());
    for item in list.iter() {
        match item? {
            Val::Optional(Some(value)) => values.push((*value).clone()),
            Val::Optional(None) => {}
            other => {
                let why = format!("value {} is not optional", super::formatting::shown(&other));
                return Err(EvalError::new(why));
            }
        }
    }
    Ok(Val::list(values))
}
