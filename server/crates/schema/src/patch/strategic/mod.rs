//! Strategic merge patch: maps merge, lists merge by key where their field says so, directives
//! (`$patch`, `$retainKeys`, `$setElementOrder/…`, `$deleteFromPrimitiveList/…`) do the rest.
//!
//! Position: one of the patches; `lists` has what concerns lists, `place` finds a field's merge
//! strategy.
//! Invariant: order of lists and words of errors are upstream's. Where upstream walks a Go map in
//! random order, this walks in the order of the patch.

mod lists;
mod lost;
mod place;

#[cfg(test)]
mod tests;

use apiwright_json::{Object, Value};

use self::place::Place;
use super::Error;
use crate::Struct;
use crate::go;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

/// Reads a patch.
pub(super) fn read(value: Value) -> Result<Value, Error> {
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(Value::Object(Object::new())),
        other => Err(Error::BadRequest(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            other.go_kind()
        ))),
    }
}

/// The object with the patch applied.
///
/// # Errors
/// When the patch is wrong in itself or does not go with the object.
pub fn apply(ty: &Struct, original: Value, patch: Value) -> Result<Value, Error> {
    match (original, patch) {
        (Value::Object(original), Value::Object(patch)) => {
            merge(original, patch, Place::Struct(ty)).map(Value::Object)
        }
        (original, _) => Ok(original),
    }
}

/// What the patch does to other items than it means, a line each.
pub fn lost(ty: &Struct, original: &Value, patch: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Value::Object(original), Value::Object(patch)) = (original, patch) {
        lost::lost(ty, original, patch, "", &mut lines);
    }
    lines
}

/// Merges two objects at a place.
fn merge(mut original: Object, mut patch: Object, place: Place<'_>) -> Result<Object, Error> {
    if let Some(directive) = patch.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Object::new()),
            _ => {
                patch.insert(DIRECTIVE, directive.clone());
                Err(bad_directive(&directive, &patch))
            }
        };
    }
    retain_keys(&mut original, &mut patch)?;
    lists::set_orders(&mut original, &mut patch, place)?;

    for (name, value) in patch {
        let deletions = name.strip_prefix(DELETE_FROM);
        let name = match deletions {
            None => name.as_str(),
            Some(rest) => rest
                .strip_prefix('/')
                .ok_or_else(|| Error::BadRequest("invalid patch format of primitive list".into()))?,
        };
        if value.is_null() {
            original.remove(name);
            continue;
        }
        let Some(current) = original.get_mut(name) else {
            if deletions.is_none()
                && let Some(value) = without_directives(without_nulls(value))
            {
                original.push(name, value);
            }
            continue;
        };
        match (std::mem::take(current), value) {
            (Value::Object(below), Value::Object(patch)) => {
                let (inner, strategy) = place.below(name)?;
                let replaces = strategy.is_some_and(|patch| !patch.merge && !patch.retain_keys);
                *current = Value::Object(if replaces { patch } else { merge(below, patch, inner)? });
            }
            (Value::Array(items), Value::Array(patch)) => {
                let (inner, strategy) = place.items(name)?;
                *current = Value::Array(match strategy {
                    Some(strategy) if strategy.merge || deletions.is_some() => {
                        lists::merge(items, patch, inner, &strategy.key, deletions.is_some())?
                    }
                    None if deletions.is_some() => lists::merge(items, patch, inner, "", true)?,
                    _ => patch,
                });
            }
            (kept, _) if deletions.is_some() => *current = kept,
            (before, value) => {
                // Values of the same scalar type are taken as they are, others like new ones.
                let value = if same_type(&before, &value) { value } else { without_nulls(value) };
                match without_directives(value) {
                    Some(value) => *current = value,
                    None => {
                        original.remove(name);
                    }
                }
            }
        }
    }
    Ok(original)
}

/// `$retainKeys`: members that it does not name go, and the patch may not name others.
fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), Error> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let wrong = || Error::BadRequest("invalid patch format of retainKeys".into());
    let keys = keys.as_array().ok_or_else(wrong)?;
    let retained = |name: &str| keys.iter().any(|key| key.as_str() == Some(name));
    let excess = patch.iter().any(|(name, value)| {
        let is_directive = name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
        !value.is_null() && !is_directive && !retained(name)
    });
    if excess {
        return Err(wrong());
    }
    original.retain(|name, _| retained(name));
    Ok(())
}

/// What is added has its nulls removed.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(mut object) => {
            object.retain(|_, value| {
                *value = without_nulls(std::mem::take(value));
                !value.is_null()
            });
            Value::Object(object)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        scalar => scalar,
    }
}

/// What is added has objects with directives removed, or is one itself.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(object) if object.contains_key(DIRECTIVE) => None,
        Value::Object(object) => Some(Value::Object(
            object.into_iter().filter_map(|(name, value)| Some((name, without_directives(value)?))).collect(),
        )),
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        scalar => Some(scalar),
    }
}

fn same_type(one: &Value, other: &Value) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

fn bad_directive(directive: &Value, object: &Object) -> Error {
    let shown = match directive {
        Value::String(text) => text.to_string(),
        Value::Null => "%!s(<nil>)".into(),
        Value::Int(number) => format!("%!s(int64={number})"),
        Value::Float(number) => format!("%!s(float64={number})"),
        Value::Bool(truth) => format!("%!s(bool={truth})"),
        other => go::print(other),
    };
    let object = go::print(&Value::Object(object.clone()));
    Error::Unclassified(format!("unknown patch type: {shown} in map: {object}"))
}

/// An item without the key that its list merges by.
fn no_merge_key(object: &Object, key: &str) -> Error {
    let object = go::print(&Value::Object(object.clone()));
    Error::Unclassified(format!("map: {object} does not contain declared merge key: {key}"))
}

/// A value of another type than a directive needs.
fn bad_type(expected: &str, value: &Value) -> Error {
    let found = match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => LIST,
        Value::Object(_) => MAP,
    };
    Error::Unclassified(format!("expected a {expected}, but received a {found}"))
}

const LIST: &str = "[]interface {}";
const MAP: &str = "map[string]interface {}";
