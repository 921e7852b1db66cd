//! The total order of JSON values that structured-merge-diff sorts path elements by, and the
//! equality that goes with it.
//!
//! Both differ from those of [`Value`]: integers and floats compare as numbers, and objects in
//! the order of their sorted members.

use std::cmp::Ordering;

use apiwright_json::{Object, Str, Value};

/// The order: numbers, strings, booleans, lists, objects, null.
pub(crate) fn order(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => floats(*a, *b),
        (Value::Int(a), Value::Float(b)) => floats(*a as f64, *b),
        (Value::Float(a), Value::Int(b)) => floats(*a, *b as f64),
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => lists(a, b),
        (Value::Object(a), Value::Object(b)) => objects(a, b),
        _ => rank(one).cmp(&rank(other)),
    }
}

/// Whether two values are the same to apply: `1` equals `1.0`, member order does not count.
pub(crate) fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Int(a), Value::Float(b)) => (*a as f64).total_cmp(b).is_eq(),
        (Value::Float(a), Value::Int(b)) => a.total_cmp(&(*b as f64)).is_eq(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().zip(b.iter()).all(|((key, value), (its_key, its_value))| {
                    let its_value = if key == its_key { Some(its_value) } else { b.get(key) };
                    its_value.is_some_and(|its_value| equal(value, its_value))
                })
        }
        _ => one == other,
    }
}

fn floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn lists(a: &[Value], b: &[Value]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| order(a, b)).find(|order| order.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}

fn objects(a: &Object, b: &Object) -> Ordering {
    let (a, b) = (sorted(a), sorted(b));
    a.iter()
        .zip(&b)
        .map(|(a, b)| a.0.as_bytes().cmp(b.0.as_bytes()).then_with(|| order(a.1, b.1)))
        .find(|order| order.is_ne())
        .unwrap_or(a.len().cmp(&b.len()))
}

fn sorted(object: &Object) -> Vec<(&Str, &Value)> {
    let mut members: Vec<_> = object.iter().collect();
    members.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    members
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Float(_) | Value::Int(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}
