//! Fields that are owned by what is in them.

use super::element::Element;
use super::model::{Atom, MapAtom, Type};
use super::set::Set;
use crate::table::Struct;

/// Adds the declared fields on the way to members: who owns `spec.replicas` then owns `spec`, too;
/// entries of maps stay as they are.
pub(crate) fn with_named_fields(ty: &Struct, mut set: Set) -> Set {
    add(Some(Type::Struct(ty)), &mut set);
    set
}

fn add(ty: Option<Type<'_>>, set: &mut Set) {
    for node in &mut set.nodes {
        let atom = ty.map(|ty| ty.atom(None));
        let below = match (atom, &node.element) {
            (Some(Atom::Map(map)), Element::Field(name)) => {
                node.member |= is_named(map, name) && !node.children.is_empty();
                Some(map.member(name))
            }
            (Some(Atom::List(list)), Element::Key(_)) => Some(list.item()),
            _ => None,
        };
        add(below, &mut node.children);
    }
}

fn is_named(map: MapAtom<'_>, name: &str) -> bool {
    map.field(name).is_some()
}
