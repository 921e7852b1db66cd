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
    /// The names of the fields.
    names: Box<[Name]>,
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
    /// Whether protobuf has messages inside of this one that only protobuf has.
    pub(crate) nested: bool,
    /// Whether it has none, and its order is that of the fields.
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
        let nested = ty.fields.iter().any(|field| field.proto.is_some_and(|proto| !proto.within.is_empty()));
        let straight = !nested && wire.is_sorted();
        Self {
            slots: slots(ty),
            names: ty.fields.iter().map(|field| Name::of(field.name.as_bytes())).collect(),
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
            nested,
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
        let wanted = Name::of(name);
        let mut at = wanted.hash() & mask;
        loop {
            let index = usize::from(self.slots[at]).checked_sub(1)?;
            if self.names[index] == wanted && (name.len() <= 16 || ty.fields[index].name.as_bytes() == name) {
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
        let mut at = Name::of(field.name.as_bytes()).hash() & (size - 1);
        while slots[at] != 0 {
            at = (at + 1) & (size - 1);
        }
        slots[at] = index;
    }
    slots
}

/// The first and last letters of a name: all of it, where it is no longer than sixteen bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name {
    first: u64,
    last: u64,
    length: usize,
}

impl Name {
    fn of(bytes: &[u8]) -> Self {
        let length = bytes.len();
        let (first, last) = match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
            _ => match (bytes.first_chunk(), bytes.last_chunk()) {
                (Some(first), Some(last)) => {
                    (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
                }
                _ => (bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0),
            },
        };
        Self { first, last, length }
    }

    fn hash(self) -> usize {
        let mixed =
            (self.first ^ self.last.rotate_left(29) ^ self.length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize
    }
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
