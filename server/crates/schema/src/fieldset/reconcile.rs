//! Sets that were written before a type became atomic.

use super::element::Element;
use super::model::{Atom, ListAtom, MapAtom, Type};
use super::set::Set;
use crate::table::Struct;

/// Makes a set fit a type some of whose values have become one value: who owned parts now owns
/// the whole. What became granular needs nothing: its parts get owners with the next writes.
pub(super) fn reconcile(ty: &Struct, set: &mut Set) {
    fit(Type::Struct(ty), set);
}

fn fit(ty: Type<'_>, set: &mut Set) {
    for node in &mut set.nodes {
        if node.children.is_empty() {
            continue;
        }
        match below(ty, &node.element) {
            Some(ty) if is_one_value(ty) => {
                node.member = true;
                node.children = Set::new();
            }
            Some(ty) => fit(ty, &mut node.children),
            None => {}
        }
    }
}

/// The type behind an element; `None` where nothing is known, so that nothing can have changed.
pub(super) fn below<'a>(ty: Type<'a>, element: &Element) -> Option<Type<'a>> {
    match (ty.atom(None), element) {
        (Atom::List(list), _) => Some(list.item()),
        (Atom::Map(map), Element::Field(name)) if !matches!(map, MapAtom::Deduced) => Some(map.member(name)),
        (Atom::Map(_) | Atom::Scalar(_), _) => None,
    }
}

/// Whether apply treats values of a type as a whole.
pub(super) fn is_one_value(ty: Type<'_>) -> bool {
    match ty.atom(None) {
        Atom::Map(map) => map.is_atomic(),
        Atom::List(ListAtom::Typed(list)) => ListAtom::Typed(list).is_atomic(),
        Atom::List(ListAtom::Untyped) | Atom::Scalar(_) => false,
    }
}
