//! Where a configuration says what can only be said as a whole.

use apiwright_json::Value;

use crate::fieldset::{Atom, Type};
use crate::table::Struct;

/// The places of atomic lists, maps and structs in a configuration.
pub(super) fn find(ty: &Struct, config: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(Type::Struct(ty), config, "", &mut found);
    found
}

fn walk(ty: Type<'_>, value: &Value, path: &str, found: &mut Vec<String>) {
    if ty.is_free() {
        return;
    }
    match (ty.atom(Some(value)), value) {
        (Atom::List(list), Value::Array(items)) => {
            if list.is_atomic() {
                found.push(path.to_owned());
            }
            for (at, item) in items.iter().enumerate() {
                walk(list.item(), item, &format!("{path}[{at}]"), found);
            }
        }
        (Atom::Map(map), Value::Object(members)) => {
            if map.is_atomic() {
                found.push(path.to_owned());
            }
            for (name, member) in members.iter().filter(|(name, _)| map.field(name).is_some()) {
                walk(map.member(name), member, &format!("{path}.{name}"), found);
            }
        }
        _ => {}
    }
}
