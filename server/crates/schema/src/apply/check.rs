//! Whether a configuration fits the schema. Stricter than decoding: unknown fields and wrong types
//! are faults whatever the request's field validation is.

use std::collections::BTreeSet;

use apiwright_json::Value;

use crate::fieldset::{Atom, Element, Fault, Faults, ListAtom, MapAtom, Scalar, Type, key_element};
use crate::go::{dynamic_type, print, syntax};
use crate::table::Struct;

/// Checks a configuration.
///
/// # Errors
/// All that does not fit.
pub(super) fn check(ty: &Struct, config: &Value) -> Result<(), Faults> {
    let faults = walk(Type::Struct(ty), config, false);
    if faults.0.is_empty() { Ok(()) } else { Err(faults) }
}

/// The faults of a value. `open` holds below a type that keeps unknown fields: there, all are kept.
fn walk(ty: Type<'_>, value: &Value, open: bool) -> Faults {
    if ty.is_free() || value.is_null() {
        return Faults::default();
    }
    match (ty.atom(Some(value)), value) {
        (Atom::Scalar(scalar), value) => scalar_fault(scalar, value).map(Faults::one).unwrap_or_default(),
        (Atom::List(list), Value::Array(items)) => walk_items(list, items, open),
        (Atom::Map(map), Value::Object(members)) => {
            let open = open || matches!(map, MapAtom::Struct(ty) if ty.unknown.stays());
            let mut faults = Faults::default();
            for (name, value) in members.iter() {
                if !open && !map.allows(name) {
                    faults.0.push(at(name, "field not declared in schema"));
                    return faults;
                }
                let below = walk(map.member(name), value, open);
                if !below.0.is_empty() {
                    faults.0.extend(below.within(&Element::field(name)).0);
                }
            }
            faults
        }
        (Atom::List(_), value) => Faults::one(format!("expected list, got &{{{}}}", print(value))),
        (Atom::Map(_), value) => Faults::one(format!("expected map, got &{{{}}}", print(value))),
    }
}

fn walk_items(list: ListAtom<'_>, items: &[Value], open: bool) -> Faults {
    let mut faults = Faults::default();
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let element = if list.is_atomic() {
            Element::Index(index as i64)
        } else {
            match key_element(list, item) {
                Ok(element) => element,
                Err(why) => {
                    let message = format!("element {index}: {why}");
                    faults.0.push(Fault { path: String::new(), message });
                    return faults;
                }
            }
        };
        if !list.is_atomic() && !seen.insert(element.clone()) {
            let message = format!("duplicate entries for key {element}");
            faults.0.push(Fault { path: String::new(), message });
        }
        let below = walk(list.item(), item, open);
        if !below.0.is_empty() {
            faults.0.extend(below.within(&element).0);
        }
    }
    faults
}

fn scalar_fault(scalar: Scalar, value: &Value) -> Option<String> {
    let fits = match scalar {
        Scalar::Numeric => matches!(value, Value::Int(_) | Value::Float(_)),
        Scalar::String => matches!(value, Value::String(_)),
        Scalar::Boolean => matches!(value, Value::Bool(_)),
        Scalar::Untyped => !matches!(value, Value::Array(_) | Value::Object(_)),
    };
    if fits {
        return None;
    }
    Some(match scalar {
        Scalar::Numeric => format!("expected numeric (int or float), got {}", dynamic_type(value)),
        Scalar::String => format!("expected string, got &value.valueUnstructured{{Value:{}}}", syntax(value)),
        Scalar::Boolean => format!("expected boolean, got &{{{}}}", print(value)),
        Scalar::Untyped => format!("expected any scalar, got &{{{}}}", print(value)),
    })
}

fn at(name: &str, message: &str) -> Fault {
    Fault { path: Element::field(name).to_string(), message: message.into() }
}
