//! Lists of custom resources whose items have to differ: sets by value, maps by their keys
//! (upstream: `pkg/apiserver/schema/listtype`).

use std::collections::HashMap;

use apiwright_json::{Object, Value, to_string};
use apiwright_meta::field::go_value;
use apiwright_meta::{ErrorList, Path};

use crate::trail::Trail;
use crate::{ListKind, Node, Shape, prune};

/// Finds the items that are there twice, however deep.
pub fn repeated(node: &Node, value: &Value, errors: &mut ErrorList) {
    walk(node, value, &Trail::ROOT, errors);
}

fn walk(node: &Node, value: &Value, at: &Trail<'_>, errors: &mut ErrorList) {
    match (&node.shape, value) {
        (Shape::Struct(ty), Value::Object(object)) => {
            for (name, member) in object.iter() {
                if let Some(field) = ty.field(name) {
                    walk(&field.node, member, &at.field(ty, &field.name), errors);
                }
            }
        }
        (Shape::Map(map), Value::Object(object)) => {
            for (name, member) in object.iter() {
                walk(&map.value, member, &at.key(name), errors);
            }
        }
        (Shape::List(list), Value::Array(items)) => {
            distinct(&list.kind, items, at, errors);
            for (index, item) in items.iter().enumerate() {
                walk(&list.item, item, &at.index(index), errors);
            }
        }
        _ => {}
    }
}

fn distinct(kind: &ListKind, items: &[Value], at: &Trail<'_>, errors: &mut ErrorList) {
    let path = |index: usize| at.index(index).field_path(&Path::default());
    let is_map = match kind {
        ListKind::Atomic => return,
        ListKind::Set => false,
        ListKind::Map(_) => true,
    };
    if is_map
        && let Some((index, item)) =
            items.iter().enumerate().find(|(_, item)| !matches!(item, Value::Object(_) | Value::Null))
    {
        let words = "must be an object for an array of list-type map";
        errors.invalid(path(index), go_value(item), words);
        return;
    }
    if items.len() < 2 {
        return;
    }
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let times = seen.entry(key(kind, item)).or_default();
        *times += 1;
        // What is there a third time is told already.
        if *times == 2 {
            let mut shown = if is_map { Value::Object(keys(kind, item)) } else { item.clone() };
            prune::sort(&mut shown);
            errors.duplicate(path(index), go_value(&shown));
        }
    }
}

/// What tells an item apart, as a text.
pub(super) fn key(kind: &ListKind, item: &Value) -> String {
    let text = |value: &Value| match value {
        Value::Object(_) | Value::Array(_) => {
            let mut value = value.clone();
            prune::sort(&mut value);
            to_string(&value)
        }
        // 1 and 1.0 are not the same.
        Value::Float(number) => format!("f{number}"),
        value => to_string(value),
    };
    match kind {
        ListKind::Map(names) => {
            let mut key = String::new();
            for name in names.iter() {
                if let Some(value) = item.get(name) {
                    key.push_str(&text(value));
                }
                key.push('\n');
            }
            key
        }
        ListKind::Set | ListKind::Atomic => text(item),
    }
}

/// The members that tell an item apart.
fn keys(kind: &ListKind, item: &Value) -> Object {
    let ListKind::Map(names) = kind else { return Object::new() };
    names.iter().filter_map(|name| Some((&**name, item.get(name)?.clone()))).collect()
}
