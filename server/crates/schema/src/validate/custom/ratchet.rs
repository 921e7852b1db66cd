//! What an update leaves as it was: faults of that are forgiven.
//!
//! Invariant: as upstream correlates. Items of keyed lists are known by their keys, in whatever
//! order they are; other items are not known again. An object with members that its schema does not
//! name is never the same.

use std::collections::HashMap;

use apiwright_json::Value;

use super::{Node, Rule, Shape, Struct};
use crate::ListKind;
use crate::validate::lists::key;

/// Whether a value is what it was.
pub(super) fn is_same(node: &Node, value: &Value, old: &Value) -> bool {
    match (value, old) {
        (Value::Array(items), Value::Array(before)) => match &node.shape {
            Shape::List(list) if matches!(list.kind, ListKind::Map(_)) => {
                let known = Items::of(&list.kind, Some(old));
                let stayed = |item| known.counterpart(item).is_some_and(|old| is_same(&list.item, item, old));
                items.len() == before.len() && items.iter().all(stayed)
            }
            _ => items == before,
        },
        (Value::Object(members), Value::Object(before)) => {
            members.len() == before.len()
                && members.iter().all(|(name, member)| {
                    let known = before.get(name).zip(inner(node, name));
                    known.is_some_and(|(old, inner)| is_same(inner, member, old))
                })
        }
        (value, old) => value == old,
    }
}

/// The schema of a member.
fn inner<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    let of = |ty: &'n Struct| ty.field(name).map(|field| &field.node);
    let told = node.rules.iter().find_map(|rule| match rule {
        Rule::Properties(ty) => of(ty),
        _ => None,
    });
    told.or_else(|| match &node.shape {
        Shape::Struct(ty) if ty.name.is_empty() => of(ty),
        Shape::Map(map) if !map.value.rules.iter().any(|rule| matches!(rule, Rule::Untyped)) => {
            Some(&map.value)
        }
        _ => None,
    })
}

/// The items of an old list by their keys; none where they are not told apart.
pub(super) struct Items<'a> {
    kind: &'a ListKind,
    known: HashMap<String, &'a Value>,
}

impl<'a> Items<'a> {
    pub(super) fn of(kind: &'a ListKind, old: Option<&'a Value>) -> Self {
        let items: &[Value] = match (kind, old) {
            (ListKind::Map(_), Some(Value::Array(items))) => items,
            _ => &[],
        };
        let mut known = HashMap::with_capacity(items.len());
        for item in items {
            known.entry(key(kind, item)).or_insert(item);
        }
        Self { kind, known }
    }

    /// The old item that an item stands for.
    pub(super) fn counterpart(&self, item: &Value) -> Option<&'a Value> {
        if self.known.is_empty() {
            return None;
        }
        self.known.get(&key(self.kind, item)).copied().filter(|old| !old.is_null())
    }
}
