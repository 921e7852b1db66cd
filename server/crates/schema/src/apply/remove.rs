//! An object without some of its fields.

use apiwright_json::{Object, Value};

use crate::fieldset::{Atom, Element, ListAtom, MapAtom, Set, Type, key_element};
use crate::table::Struct;

/// The object without the fields of a set. What has nothing left is null.
pub(super) fn remove(ty: &Struct, object: &Value, fields: &Set) -> Value {
    if fields.is_empty() {
        return object.clone();
    }
    walk(Type::Struct(ty), object, fields)
}

fn walk(ty: Type<'_>, value: &Value, fields: &Set) -> Value {
    match (ty.atom(Some(value)), value) {
        (Atom::Scalar(_), value) => value.clone(),
        (Atom::List(list), Value::Array(items)) if !list.is_atomic() => of_list(list, items, fields),
        (Atom::Map(map), Value::Object(members)) if !map.is_atomic() => of_map(map, members, fields),
        // Something in a whole is to go: the whole goes.
        (Atom::List(_) | Atom::Map(_), _) => Value::Null,
    }
}

fn of_list(list: ListAtom<'_>, items: &[Value], fields: &Set) -> Value {
    let kept = items.iter().filter_map(|item| match key_element(list, item) {
        Ok(element) if fields.has_member(&element) => None,
        Ok(element) => Some(match fields.below(&element) {
            Some(below) => walk(list.item(), item, below),
            None => item.clone(),
        }),
        Err(_) => Some(item.clone()),
    });
    let kept: Vec<Value> = kept.collect();
    if kept.is_empty() { Value::Null } else { kept.into() }
}

fn of_map(map: MapAtom<'_>, members: &Object, fields: &Set) -> Value {
    let mut kept = Object::with_capacity(members.len());
    for (name, value) in members.iter() {
        let element = Element::Field(name.clone());
        if fields.has_member(&element) {
            continue;
        }
        let value = match fields.below(&element) {
            Some(below) => walk(map.member(name), value, below),
            None => value.clone(),
        };
        kept.push(name.clone(), value);
    }
    if kept.is_empty() { Value::Null } else { kept.into() }
}
