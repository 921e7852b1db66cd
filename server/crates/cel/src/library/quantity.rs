//! Quantities.

use std::cmp::Ordering;
use std::sync::Arc;

use apiwright_meta::quantity::{Format, Quantity};

use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::library::semver;
use crate::value::Val;

pub(super) const FUNCTIONS: &[Entry] = &[
    Entry {
        name: "quantity",
        price: Price::Text,
        native: quantity,
        signatures: &["string_to_quantity: (string) -> quantity"],
    },
    Entry {
        name: "isQuantity",
        price: Price::Text,
        native: is_quantity,
        signatures: &["is_quantity_string: (string) -> bool"],
    },
    Entry {
        name: "sign",
        price: Price::One,
        native: sign,
        signatures: &["quantity_sign: (quantity) -> int"],
    },
    Entry {
        name: "isGreaterThan",
        price: Price::One,
        native: is_greater,
        signatures: &[
            "quantity_is_greater_than: quantity.(quantity) -> bool",
            "semver_is_greater_than: semver.(semver) -> bool",
        ],
    },
    Entry {
        name: "isLessThan",
        price: Price::One,
        native: is_less,
        signatures: &[
            "quantity_is_less_than: quantity.(quantity) -> bool",
            "semver_is_less_than: semver.(semver) -> bool",
        ],
    },
    Entry {
        name: "compareTo",
        price: Price::One,
        native: compare_to,
        signatures: &[
            "quantity_compare_to: quantity.(quantity) -> int",
            "semver_compare_to: semver.(semver) -> int",
        ],
    },
    Entry {
        name: "asApproximateFloat",
        price: Price::One,
        native: as_float,
        signatures: &["quantity_get_float: quantity.() -> double"],
    },
    Entry {
        name: "asInteger",
        price: Price::One,
        native: as_integer,
        signatures: &["quantity_get_int: quantity.() -> int"],
    },
    Entry {
        name: "isInteger",
        price: Price::One,
        native: is_integer,
        signatures: &["quantity_is_integer: quantity.() -> bool"],
    },
    Entry {
        name: "add",
        price: Price::One,
        native: add,
        signatures: &[
            "quantity_add: quantity.(quantity) -> quantity",
            "quantity_add_int: quantity.(int) -> quantity",
        ],
    },
    Entry {
        name: "sub",
        price: Price::One,
        native: sub,
        signatures: &[
            "quantity_sub: quantity.(quantity) -> quantity",
            "quantity_sub_int: quantity.(int) -> quantity",
        ],
    },
];

/// The order of two quantities.
pub(crate) fn compare(a: &Quantity, b: &Quantity) -> Ordering {
    let mut difference = a.clone();
    difference.sub(b);
    difference.sign().cmp(&0)
}

fn quantity<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::String(text)] = args else { return Err(EvalError::NO_OVERLOAD) };
    match Quantity::parse(text) {
        Ok(quantity) => Ok(Val::Quantity(Arc::new(quantity))),
        Err(why) => Err(EvalError::new(why.to_string())),
    }
}

fn is_quantity<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::String(text)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(Val::Bool(Quantity::parse(text).is_ok()))
}

fn sign<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Quantity(quantity)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(Val::Int(quantity.sign().into()))
}

/// Quantities and versions have the same names for their order.
fn ordering(args: &[Val<'_>]) -> Result<Ordering, EvalError> {
    match args {
        [Val::Quantity(a), Val::Quantity(b)] => Ok(compare(a, b)),
        [Val::Semver(a), Val::Semver(b)] => Ok(semver::Semver::compare(a, b)),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn is_greater<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    ordering(args).map(|order| Val::Bool(order.is_gt()))
}

fn is_less<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    ordering(args).map(|order| Val::Bool(order.is_lt()))
}

fn compare_to<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    ordering(args).map(|order| Val::Int(order as i64))
}

fn as_float<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Quantity(quantity)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(Val::Double(quantity.as_f64()))
}

fn as_integer<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Quantity(quantity)] = args else { return Err(EvalError::NO_OVERLOAD) };
    quantity.as_i64().map(Val::Int).ok_or_else(|| EvalError::new("cannot convert value to integer"))
}

fn is_integer<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Quantity(quantity)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(Val::Bool(quantity.as_i64().is_some()))
}

/// The second operand: a quantity or a number.
fn operand(value: &Val<'_>) -> Result<Quantity, EvalError> {
    match value {
        Val::Quantity(quantity) => Ok((**quantity).clone()),
        Val::Int(number) => Ok(Quantity::new(*number, Format::DecimalExponent)),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn add<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Quantity(quantity), other] = args else { return Err(EvalError::NO_OVERLOAD) };
    let mut sum = (**quantity).clone();
    sum.add(&operand(other)?);
    Ok(Val::Quantity(Arc::new(sum)))
}

fn sub<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Quantity(quantity), other] = args else { return Err(EvalError::NO_OVERLOAD) };
    let mut difference = (**quantity).clone();
    difference.sub(&operand(other)?);
    Ok(Val::Quantity(Arc::new(difference)))
}
