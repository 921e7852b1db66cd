//! Which fields an object sets.

use apiwright_json::{Object, Value};

use super::element::Element;
use super::items::items;
use super::model::{Atom, ListAtom, MapAtom, Type};
use super::set::Set;
use super::{Fault, Faults};
use crate::table::Struct;

/// The fields that an object sets: scalars, atomic values, entries of maps and items of merged
/// lists, nulls and empty objects.
///
/// # Errors
/// When the items of a merged list cannot be told apart.
pub fn from_value(ty: &Struct, object: &Value) -> Result<Set, Faults> {
    let mut faults = Faults::default();
    let (_, set) = fields(Type::Struct(ty), object, &mut faults);
    if faults.0.is_empty() { Ok(set) } else { Err(faults) }
}

/// Whether the value itself is one of the fields, and those below it.
fn fields(ty: Type<'_>, value: &Value, faults: &mut Faults) -> (bool, Set) {
    match (ty.atom(Some(value)), value) {
        (Atom::Scalar(_), _) => (true, Set::new()),
        (Atom::Map(map), _) if map.is_atomic() => (true, Set::new()),
        (Atom::List(list), _) if list.is_atomic() => (true, Set::new()),
        (Atom::Map(map), Value::Object(members)) => (false, of_members(map, members, faults)),
        (Atom::List(list), Value::Array(values)) => (false, of_items(list, values, faults)),
        (Atom::Map(_) | Atom::List(_), _) => (false, Set::new()),
    }
}

fn of_members(map: MapAtom<'_>, members: &Object, faults: &mut Faults) -> Set {
    let mut set = Set::new();
    for (name, value) in members.iter() {
        let (member, below) = fields(map.member(name), value, faults);
        let empty = match value {
            Value::Null => true,
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        set.push(Element::Field(name.clone()), member || empty || map.field(name).is_none(), below);
    }
    set.settle();
    set
}

fn of_items(list: ListAtom<'_>, values: &[Value], faults: &mut Faults) -> Set {
    let mut set = Set::new();
    let mut found = match items(list, values) {
        Ok(found) => found,
        Err(why) => {
            faults.0.push(Fault { path: String::new(), message: why });
            return set;
        }
    };
    found.sort_by(|a, b| a.0.cmp(&b.0));
    for group in found.chunk_by(|a, b| a.0 == b.0) {
        // Items that cannot be told apart are owned as one; what they hold is nobody's.
        let below = match group {
            [(_, item)] => fields(list.item(), item, faults).1,
            _ => Set::new(),
        };
        set.push(group[0].0.clone(), true, below);
    }
    set
}
