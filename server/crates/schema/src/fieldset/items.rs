//! What tells the items of a merged list apart: their keys, or they themselves.

use apiwright_json::{Str, Value};

use super::element::Element;
use super::model::ListAtom;
use crate::table::{Field, List, ListKind, Shape};

/// The items of a list with what tells each apart, in order; the first item that cannot be told
/// apart is an error.
pub(crate) fn items<'v>(list: ListAtom<'_>, items: &'v [Value]) -> Result<Vec<(Element, &'v Value)>, String> {
    items
        .iter()
        .enumerate()
        .map(|(at, item)| match key_element(list, item) {
            Ok(element) => Ok((element, item)),
            Err(why) => Err(format!("element {at}: {why}")),
        })
        .collect()
}

/// What tells one item of a list apart.
pub(crate) fn key_element(list: ListAtom<'_>, item: &Value) -> Result<Element, String> {
    match list {
        ListAtom::Typed(list) => match &list.kind {
            ListKind::Map(keys) => keyed(list, keys, item),
            ListKind::Set => set_item(item),
            ListKind::Atomic => Err("invalid indexing of non-associative list".into()),
        },
        ListAtom::Untyped => Err("invalid indexing of non-associative list".into()),
    }
}

fn keyed(list: &List, keys: &[crate::table::Text], item: &Value) -> Result<Element, String> {
    let Value::Object(members) = item else {
        return Err(match item {
            Value::Null => "associative list with keys may not have a null element".into(),
            _ => "associative list with keys may not have non-map elements".into(),
        });
    };
    let mut fields: Vec<(Str, Value)> = Vec::with_capacity(keys.len());
    for key in keys {
        let value = members.get(key).cloned().or_else(|| absent_key(list, key));
        fields.extend(value.map(|value| (Str::from(&**key), value)));
    }
    if fields.is_empty() && !keys.is_empty() {
        let names: Vec<String> = keys.iter().map(|key| apiwright_meta::field::quoted(key)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            names.join(" ")
        ));
    }
    if fields.len() > 1 {
        fields.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    }
    Ok(Element::Key(fields))
}

/// What a key field counts as where it is absent: its default, or the zero value that OpenAPI
/// gives as the default of fields that are always there.
fn absent_key(list: &List, key: &str) -> Option<Value> {
    let Shape::Struct(ty) = &list.item.shape else { return None };
    let field: &Field = ty.field(key)?;
    if let Some(default) = &field.node.default {
        return apiwright_json::decode(default.as_bytes()).ok().map(|(value, _)| value);
    }
    if field.pointer || !field.keep {
        return None;
    }
    match &field.node.shape {
        Shape::Bool => Some(Value::Bool(false)),
        Shape::Int32 | Shape::Int64 | Shape::Double => Some(Value::Int(0)),
        Shape::String(_) => Some(Value::from("")),
        _ => None,
    }
}

fn set_item(item: &Value) -> Result<Element, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".into()),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_) => {
            Ok(Element::Value(item.clone()))
        }
    }
}
