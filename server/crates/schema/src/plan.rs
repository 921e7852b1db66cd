//! What the walks work out about a type once, when one first comes by, and keep with it.
//!
//! Position: part of [`crate::Struct`], and the only part that changes after it was made.
//! Invariant: follows from the rest of the type alone.

use std::collections::HashSet;
use std::sync::OnceLock;

use crate::decode::{hollow, omission};
use crate::proto;
use crate::{Node, Shape, Struct};

/// A type's plan, empty until it is used.
#[derive(Debug, Default)]
pub struct Plan(OnceLock<Box<Facts>>);

/// What is in a plan. Lists are of indexes into the type's fields, in order.
#[derive(Debug)]
pub(crate) struct Facts {
    /// A hash table of the fields by name: one more than an index, or zero.
    slots: Box<[u16]>,
    /// Fields that are printed when they are absent.
    pub(crate) always: Box<[u16]>,
    /// Fields with a default of their own.
    pub(crate) defaults: Box<[u16]>,
    /// Fields with defaults somewhere below.
    pub(crate) deep_defaults: Box<[u16]>,
    /// Fields with rules, of their own or below.
    pub(crate) ruled: Box<[u16]>,
    /// Fields with lists or maps that are printed when they are empty, their own or below.
    pub(crate) hollows: Box<[u16]>,
    /// Fields that protobuf carries, in its order.
    pub(crate) wire: Box<[u16]>,
    /// Whether protobuf's order is that of the fields, without messages that only protobuf has.
    pub(crate) straight: bool,
}

impl Plan {
    /// An empty one.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    pub(crate) fn of(ty: &Struct) -> &Facts {
        ty.plan.0.get_or_init(|| Box::new(Facts::new(ty)))
    }
}

impl Facts {
    fn new(ty: &Struct) -> Self {
        let indexes = |wanted: &dyn Fn(&crate::Field) -> bool| -> Box<[u16]> {
            (0..).zip(ty.fields.iter()).filter(|(_, field)| wanted(field)).map(|(index, _)| index).collect()
        };
        let wire = proto::fields_in_order(ty);
        let straight = wire.is_sorted()
            && ty.fields.iter().all(|field| field.proto.is_none_or(|proto| proto.within.is_empty()));
        Self {
            slots: slots(ty),
            always: indexes(&|field| omission::absent(field).is_some()),
            defaults: indexes(&|field| has_default(&field.node)),
            deep_defaults: indexes(&|field| below(&field.node, &has_default, &mut HashSet::new())),
            ruled: indexes(&|field| {
                has_rules(&field.node) || below(&field.node, &has_rules, &mut HashSet::new())
            }),
            hollows: indexes(&|field| {
                hollow::can_be_hollow(field)
                    || has_hollows(&field.node)
                    || below(&field.node, &has_hollows, &mut HashSet::new())
            }),
            wire,
            straight,
        }
    }

    /// Where the field of this name is.
    pub(crate) fn position(&self, ty: &Struct, name: &str) -> Option<usize> {
        self.position_of(ty, name.as_bytes())
    }

    /// Where the field of this name is, which may be no text.
    pub(crate) fn position_of(&self, ty: &Struct, name: &[u8]) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash(name) & mask;
        loop {
            let index = usize::from(self.slots[at]).checked_sub(1)?;
            if ty.fields[index].name.as_bytes() == name {
                return Some(index);
            }
            at = (at + 1) & mask;
        }
    }
}

/// At most half full, so that there is always an end to a search.
fn slots(ty: &Struct) -> Box<[u16]> {
    let size = (2 * ty.fields.len()).next_power_of_two().max(2);
    let mut slots = vec![0; size].into_boxed_slice();
    for (index, field) in (1..).zip(ty.fields.iter()) {
        let mut at = hash(field.name.as_bytes()) & (size - 1);
        while slots[at] != 0 {
            at = (at + 1) & (size - 1);
        }
        slots[at] = index;
    }
    slots
}

/// Tells the names of fields apart by their length, first and last letters.
fn hash(bytes: &[u8]) -> usize {
    let word = |from: usize| {
        let mut word = [0; 8];
        let part = &bytes[from..bytes.len().min(from + 8)];
        word[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(word)
    };
    let mixed = (word(0) ^ word(bytes.len().saturating_sub(8)).rotate_left(29) ^ bytes.len() as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize
}

fn has_default(node: &Node) -> bool {
    node.default.is_some() || node.fill.is_some()
}

fn has_rules(node: &Node) -> bool {
    !node.rules.is_empty()
}

fn has_hollows(node: &Node) -> bool {
    matches!(&node.shape, Shape::Struct(ty) if ty.fields.iter().any(hollow::can_be_hollow))
}

/// Whether something holds anywhere inside of a node; types may contain themselves.
fn below(node: &Node, test: &dyn Fn(&Node) -> bool, seen: &mut HashSet<*const Struct>) -> bool {
    match &node.shape {
        Shape::List(list) => test(&list.item) || below(&list.item, test, seen),
        Shape::Map(map) => test(&map.value) || below(&map.value, test, seen),
        Shape::Struct(ty) => {
            seen.insert(std::ptr::from_ref(&**ty))
                && ty.fields.iter().any(|field| test(&field.node) || below(&field.node, test, seen))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;
    use crate::testing::{deployment, secret};
    use crate::{Shape, Struct};

    #[test]
    fn fields_are_found_by_name_and_nothing_else_is() {
        fn check(ty: &Struct) {
            for (index, field) in ty.fields.iter().enumerate() {
                assert_eq!(ty.position(&field.name), Some(index), "{}", &*field.name);
                assert_eq!(ty.position(&format!("{}x", &*field.name)), None);
                if let Shape::Struct(below) = &field.node.shape {
                    check(below);
                }
            }
            for name in ["", "x", "Kind", "metadat", "a name that is longer than sixteen bytes"] {
                assert_eq!(ty.position(name), None, "{name}");
            }
        }
        check(&secret());
        check(&deployment());
    }

    #[test]
    fn plans_know_where_there_is_something_to_do() {
        let ty = deployment();
        let names = |indexes: &[u16]| -> Vec<String> {
            indexes.iter().map(|at| ty.fields[usize::from(*at)].name.to_string()).collect()
        };
        let facts = Plan::of(&ty);
        assert_eq!(names(&facts.always), ["metadata", "spec", "status"]);
        assert_eq!(names(&facts.defaults), Vec::<String>::new());
        assert_eq!(names(&facts.deep_defaults), ["spec"]);
        assert_eq!(names(&facts.ruled), ["spec"]);
    }
}
