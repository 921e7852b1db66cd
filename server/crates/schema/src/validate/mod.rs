//! Validation: whether an object in normal form satisfies the rules of its schema.
//!
//! Position: after defaults, before a hook's own checks; the registry turns the faults into one
//! Status.
//! Invariant: faults come in the order of the fields and their rules. What an update leaves as it
//! was is not looked at again, so that objects that were valid once can still be changed.
//! Absence: rules across fields, which are a hook's, and the unions, which are only published.

mod custom;
mod format;
mod formats;
mod lists;
mod pattern;
mod rules;

#[cfg(test)]
mod tests;

pub use custom::custom;
pub use lists::repeated;
pub use pattern::pattern_fault;

use apiwright_json::{Object, Value};
use apiwright_meta::{ErrorList, Path};

use crate::decode::omission;
use crate::table::Plan;
use crate::trail::Trail;
use crate::{Field, ListKind, Node, Shape, Struct};

/// Finds the faults of an object of a built-in kind; `old` is what an update replaces.
pub fn validate(ty: &Struct, value: &Value, old: Option<&Value>, root: &Path, errors: &mut ErrorList) {
    if let Value::Object(object) = value {
        let mut walk = Walk { root, updating: old.is_some(), errors };
        walk.members(ty, object, old.and_then(Value::as_object), &Trail::ROOT);
    }
}

pub(super) struct Walk<'a> {
    root: &'a Path,
    updating: bool,
    errors: &'a mut ErrorList,
}

impl Walk<'_> {
    fn members(&mut self, ty: &Struct, object: &Object, old: Option<&Object>, at: &Trail<'_>) {
        let mut present: Vec<(usize, &Value)> = Vec::with_capacity(object.len());
        let mut expected = 0;
        for (name, value) in object.iter() {
            let index = match ty.fields.get(expected) {
                Some(field) if *field.name == **name => Some(expected),
                _ => ty.position(name),
            };
            if let Some(index) = index {
                expected = index + 1;
                present.push((index, value));
            }
        }
        if !present.is_sorted_by_key(|member| member.0) {
            present.sort_by_key(|member| member.0);
        }
        let mut present = present.into_iter().peekable();
        let mut check = |index: usize, walk: &mut Self| {
            while present.next_if(|member| member.0 < index).is_some() {}
            let value = present.next_if(|member| member.0 == index).map(|member| member.1);
            let field = &ty.fields[index];
            if value.is_some() || !field.node.rules.is_empty() {
                let old = old.and_then(|old| old.get(&field.name));
                walk.field(field, value, old, &at.field(ty, &field.name));
            }
        };
        Plan::of(ty).ruled.iter().for_each(|index| check(usize::from(*index), self));
    }

    fn field(&mut self, field: &Field, value: Option<&Value>, old: Option<&Value>, at: &Trail<'_>) {
        let value = value.filter(|value| !is_nothing(field, value));
        let old = old.filter(|old| !is_nothing(field, old));
        if self.updating && value == old {
            return;
        }
        self.node(&field.node, value, old, at);
    }

    /// Checks a value against its rules, and what is in it.
    fn node(&mut self, node: &Node, value: Option<&Value>, old: Option<&Value>, at: &Trail<'_>) {
        for rule in node.rules.iter() {
            if self.rule(rule, node, value, at).is_break() {
                return;
            }
        }
        match (&node.shape, value) {
            (Shape::Struct(ty), Some(Value::Object(object))) => {
                self.members(ty, object, old.and_then(Value::as_object), at);
            }
            (Shape::List(list), Some(Value::Array(items))) => {
                let old = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                for (index, item) in items.iter().enumerate() {
                    let before = counterpart(&list.kind, item, old);
                    if before != Some(item) {
                        self.node(&list.item, Some(item), before, &at.index(index));
                    }
                }
            }
            (Shape::Map(map), Some(Value::Object(object))) => {
                let old = old.and_then(Value::as_object);
                for (key, value) in object.iter() {
                    let before = old.and_then(|old| old.get(key));
                    if before != Some(value) {
                        self.node(&map.value, Some(value), before, &at.key(key));
                    }
                }
            }
            _ => {}
        }
    }

    /// The path of a fault.
    fn path(&self, at: &Trail<'_>) -> Path {
        at.field_path(self.root)
    }
}

/// The item of the old list that an item stands for: the one with its keys, or its equal.
fn counterpart<'a>(kind: &ListKind, item: &Value, old: &'a [Value]) -> Option<&'a Value> {
    match kind {
        ListKind::Map(names) => {
            old.iter().find(|old| names.iter().all(|name| old.get(name) == item.get(name)))
        }
        ListKind::Set | ListKind::Atomic => old.iter().find(|old| *old == item),
    }
}

/// Whether a member that is there holds what Go calls the zero value and cannot tell from none.
fn is_nothing(field: &Field, value: &Value) -> bool {
    match value {
        Value::Null => true,
        _ if field.pointer => false,
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty() && matches!(field.node.shape, Shape::Map(_)),
        scalar => *scalar == omission::zero(&field.node),
    }
}
