//! Whether an object has lists whose items do not differ, though they should.

use apiwright_json::Value;
use apiwright_meta::{ErrorList, Path};

use super::duplicates;
use crate::{Node, Shape, Struct};

/// Whether any list of an object, however deep, has duplicates.
pub(super) fn have_duplicates(ty: &Struct, value: &Value) -> bool {
    let Value::Object(object) = value else { return false };
    object.iter().any(|(name, value)| ty.field(name).is_some_and(|field| any(&field.node, value)))
}

fn any(node: &Node, value: &Value) -> bool {
    match (&node.shape, value) {
        (Shape::Struct(ty), value) => have_duplicates(ty, value),
        (Shape::Map(map), Value::Object(object)) => object.values().any(|value| any(&map.value, value)),
        (Shape::List(list), Value::Array(items)) => {
            let mut errors = ErrorList::new();
            duplicates(&list.kind, items, &Path::default(), &mut errors);
            !errors.is_empty() || items.iter().any(|item| any(&list.item, item))
        }
        _ => false,
    }
}
