//! Short ways through object trees that plugins share.

use std::collections::BTreeMap;

use apiwright_json::{Object, Value};
use apiwright_meta::quantity::Quantity;

/// Amounts by resource name.
pub(crate) type ResourceList = BTreeMap<String, Quantity>;

/// The text of a member; empty where there is none.
pub(crate) fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// The items of an array at the end of a walk.
pub(crate) fn items<'a>(value: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.at(path).and_then(Value::as_array).into_iter().flatten()
}

/// The object at the end of a walk, made where it is missing.
pub(crate) fn object_at<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Object {
    if !matches!(value, Value::Object(_)) {
        *value = Value::Object(Object::new());
    }
    let Value::Object(root) = value else { unreachable!("made an object above") };
    path.iter().fold(root, |object, key| object.object(key))
}

/// The array that is a member of the object at the end of a walk, made where it is missing.
pub(crate) fn array_at<'a>(value: &'a mut Value, path: &[&str], member: &str) -> &'a mut Vec<Value> {
    let slot = object_at(value, path).entry(member, || Value::Array(Vec::new()));
    if !matches!(slot, Value::Array(_)) {
        *slot = Value::Array(Vec::new());
    }
    match slot {
        Value::Array(list) => list,
        _ => unreachable!("made an array above"),
    }
}

/// The amounts of an object at the end of a walk; what cannot be read is left out.
pub(crate) fn resource_list(value: &Value, path: &[&str]) -> ResourceList {
    let object = value.at(path).and_then(Value::as_object);
    let readable = |(name, amount): (&apiwright_json::Str, &Value)| {
        Some((name.to_string(), Quantity::from_value(amount).ok()?))
    };
    object.into_iter().flat_map(Object::iter).filter_map(readable).collect()
}

/// Adds one list's amounts to another's.
pub(crate) fn add(sum: &mut ResourceList, other: &ResourceList) {
    for (name, amount) in other {
        match sum.get_mut(name) {
            Some(total) => total.add(amount),
            None => {
                sum.insert(name.clone(), amount.clone());
            }
        }
    }
}

/// Raises a list's amounts to at least another's.
pub(crate) fn raise(list: &mut ResourceList, other: &ResourceList) {
    for (name, amount) in other {
        match list.get_mut(name) {
            Some(have) if *have >= *amount => {}
            _ => {
                list.insert(name.clone(), amount.clone());
            }
        }
    }
}

/// A list as an object.
pub(crate) fn to_value(list: &ResourceList) -> Value {
    Value::Object(list.iter().map(|(name, amount)| (name.as_str(), amount.to_string())).collect())
}
