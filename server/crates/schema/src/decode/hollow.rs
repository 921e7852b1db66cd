//! Empty lists and maps that are printed nevertheless: given in a request they are a value, and
//! whoever gave it owns it; in storage they cannot be told from none.

use apiwright_json::Value;

use crate::plan::Plan;
use crate::{Field, Node, Shape, Struct};

/// Makes null of the empty lists and maps of an object in normal form that is about to be stored.
pub fn hollow(ty: &Struct, value: &mut Value) {
    let Value::Object(object) = value else { return };
    for index in &Plan::of(ty).hollows {
        let field = &ty.fields[usize::from(*index)];
        let Some(value) = object.get_mut(&field.name) else { continue };
        if can_be_hollow(field) && is_empty(value) {
            *value = Value::Null;
        } else {
            hollow_node(&field.node, value);
        }
    }
}

/// Whether a field is printed when it is empty, and absence is not a value of its own.
pub(crate) fn can_be_hollow(field: &Field) -> bool {
    field.keep && !field.pointer && matches!(field.node.shape, Shape::List(_) | Shape::Map(_))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn hollow_node(node: &Node, value: &mut Value) {
    match (&node.shape, value) {
        (Shape::Struct(ty), value) => hollow(ty, value),
        (Shape::List(list), Value::Array(items)) => {
            for item in items {
                hollow_node(&list.item, item);
            }
        }
        (Shape::Map(map), Value::Object(members)) => {
            for (_, member) in members.iter_mut() {
                hollow_node(&map.value, member);
            }
        }
        _ => {}
    }
}
