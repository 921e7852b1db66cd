//! What a strategic merge patch loses without a word: items that differ in a key that it does not look at.
//!
//! Position: beside the merge, whose result it does not touch. Upstream merges by one key where objects are told
//! apart by several (a Service's ports by their number, not by number and protocol), so that what is said of one
//! item ends up in another. The result has to be upstream's; whoever asked for it is told.

use apiwright_json::{Object, Value, to_string};

use super::DIRECTIVE;
use crate::table::Patch;
use crate::{List, ListKind, Shape, Struct};

/// Adds a line for each key that several items of a list share, of those that the patch merges.
pub(super) fn lost(ty: &Struct, original: &Object, patch: &Object, path: &str, lines: &mut Vec<String>) {
    for (name, value) in patch.iter() {
        let (Some(field), Some(before)) = (ty.field(name), original.get(name)) else { continue };
        let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        match (&field.node.shape, before, value) {
            (Shape::Struct(ty), Value::Object(before), Value::Object(patch)) => {
                lost(ty, before, patch, &path, lines);
            }
            (Shape::List(list), Value::Array(before), Value::Array(items)) => {
                if let Some(strategy) = field.patch.as_ref().filter(|patch| patch.merge) {
                    lost_items(list, strategy, before, items, &path, lines);
                }
            }
            _ => {}
        }
    }
}

fn lost_items(
    list: &List,
    strategy: &Patch,
    before: &[Value],
    items: &[Value],
    path: &str,
    lines: &mut Vec<String>,
) {
    let key = &*strategy.key;
    let Shape::Struct(ty) = &list.item.shape else { return };
    if items.iter().any(|item| item.text_at(&[DIRECTIVE]) == "replace") {
        return;
    }
    let has_more_keys = matches!(&list.kind, ListKind::Map(keys) if keys.iter().any(|one| **one != *key));
    for (at, item) in items.iter().enumerate() {
        let (Some(object), Some(value)) = (item.as_object(), item.get(key)) else { continue };
        if object.contains_key(DIRECTIVE) {
            continue;
        }
        let is_alike = |other: &&Value| other.get(key) == Some(value) && other.get(DIRECTIVE).is_none();
        let is_first = !items[..at].iter().any(|other| is_alike(&other));
        if has_more_keys && is_first {
            let what = match (items.iter().filter(is_alike).count(), before.iter().filter(is_alike).count()) {
                (2.., 1..) => "what the patch says of all of them went into one",
                (_, 2..) => "only the first was changed",
                _ => "",
            };
            if !what.is_empty() {
                lines.push(format!(
                    "{path}: strategic merge patches tell items apart by {key} alone, and several have {}: {what}",
                    to_string(value)
                ));
            }
        }
        if let Some(Value::Object(before)) = before.iter().find(is_alike) {
            lost(ty, before, object, path, lines);
        }
    }
}
