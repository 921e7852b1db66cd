//! What differs between two objects.
//!
//! The hot walk of every write: equal parts cost a comparison and build nothing; a path element is
//! made only for what differs.

use std::collections::BTreeMap;

use apiwright_json::{Object, Value};

use super::Faults;
use super::element::Element;
use super::items::items;
use super::model::{Atom, ListAtom, MapAtom, Type};
use super::order::equal;
use super::set::Set;
use crate::table::Struct;

/// The fields that differ; none is in two of the sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// In the old object only.
    pub removed: Set,
    /// In both, with different values.
    pub modified: Set,
    /// In the new object only.
    pub added: Set,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }
}

/// Compares two objects of a type.
///
/// # Errors
/// When the items of a merged list cannot be told apart.
pub fn compare(ty: &Struct, old: &Value, new: &Value) -> Result<Comparison, Faults> {
    let mut marks = Marks::default();
    walk(Type::Struct(ty), Some(old), Some(new), &mut marks)?;
    Ok(Comparison { removed: marks.removed.below, modified: marks.modified.below, added: marks.added.below })
}

/// What is known of one value: whether it is in a set itself, and what is below it.
#[derive(Default)]
struct Mark {
    member: bool,
    below: Set,
}

#[derive(Default)]
struct Marks {
    removed: Mark,
    modified: Mark,
    added: Mark,
}

impl Marks {
    /// Takes over what was found below an element.
    fn take(&mut self, child: Self, element: impl FnOnce() -> Element) {
        let found = |mark: &Mark| mark.member || !mark.below.is_empty();
        let (removed, modified, added) = (found(&child.removed), found(&child.modified), found(&child.added));
        if !(removed || modified || added) {
            return;
        }
        let element = element();
        for (mark, from) in [(&mut self.removed, child.removed), (&mut self.modified, child.modified)] {
            if from.member || !from.below.is_empty() {
                mark.below.push(element.clone(), from.member, from.below);
            }
        }
        if added {
            self.added.below.push(element, child.added.member, child.added.below);
        }
    }

    fn settle(&mut self) {
        self.removed.below.settle();
        self.modified.below.settle();
        self.added.below.settle();
    }
}

fn walk(ty: Type<'_>, old: Option<&Value>, new: Option<&Value>, marks: &mut Marks) -> Result<(), Faults> {
    let whole = match (old, new) {
        // Without a schema the two sides may be of different kinds: each then counts by itself.
        (Some(a), Some(b)) if ty.is_free() && a.go_kind() != b.go_kind() && !a.is_null() && !b.is_null() => {
            let _ = handle(ty.atom(old), old, new, marks)?;
            handle(ty.atom(new), old, new, marks)?
        }
        (Some(Value::Null) | None, _) => handle(ty.atom(new), old, new, marks)?,
        (Some(_), _) => handle(ty.atom(old), old, new, marks)?,
    };
    if !whole {
        marks.added.member |= old.is_none();
        marks.removed.member |= new.is_none();
    }
    Ok(())
}

const NO_MEMBERS: &Object = &Object::new();

/// Compares by one kind; whether the value counted as a whole.
fn handle(
    atom: Atom<'_>,
    old: Option<&Value>,
    new: Option<&Value>,
    marks: &mut Marks,
) -> Result<bool, Faults> {
    match atom {
        Atom::Scalar(_) => return Ok(whole(old, new, marks)),
        Atom::List(list) => {
            let (left, right) = (list_of(old), list_of(new));
            if list.is_atomic() || (left.is_empty() && right.is_empty()) {
                return Ok(whole(old, new, marks));
            }
            walk_items(list, left, right, marks)?;
        }
        Atom::Map(map) => {
            let (left, right) = (members_of(old), members_of(new));
            if map.is_atomic() || (left.is_none_or(Object::is_empty) && right.is_none_or(Object::is_empty)) {
                return Ok(whole(old, new, marks));
            }
            walk_members(map, left.unwrap_or(NO_MEMBERS), right.unwrap_or(NO_MEMBERS), marks)?;
        }
    }
    Ok(false)
}

fn list_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn members_of(value: Option<&Value>) -> Option<&Object> {
    value.and_then(Value::as_object)
}

/// Compares as one value.
fn whole(old: Option<&Value>, new: Option<&Value>, marks: &mut Marks) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => marks.modified.member |= !equal(old, new),
        (None, _) => marks.added.member = true,
        (_, None) => marks.removed.member = true,
    }
    true
}

fn walk_members(map: MapAtom<'_>, old: &Object, new: &Object, marks: &mut Marks) -> Result<(), Faults> {
    let (left, right) = (old.members(), new.members());
    // Objects in normal form mostly have the same members in the same order.
    let shared = left.iter().zip(right).take_while(|(a, b)| a.0 == b.0).count();
    for (a, b) in left.iter().zip(right).take(shared) {
        member(map, &a.0, Some(&a.1), Some(&b.1), marks)?;
    }
    let (left, right) = (&left[shared..], &right[shared..]);
    if !left.is_empty() || !right.is_empty() {
        join(left, right, |name, a, b| member(map, name, a, b, marks))?;
    }
    marks.settle();
    Ok(())
}

fn member(
    map: MapAtom<'_>,
    name: &str,
    old: Option<&Value>,
    new: Option<&Value>,
    marks: &mut Marks,
) -> Result<(), Faults> {
    // Most parts are equal, and equality needs no types.
    if old == new {
        return Ok(());
    }
    let mut child = Marks::default();
    walk(map.member(name), old, new, &mut child).map_err(|faults| faults.within(&Element::field(name)))?;
    marks.take(child, || Element::field(name));
    Ok(())
}

/// Pairs members by name: by merging where both sides are sorted, as maps are, else by looking up.
fn join<'v>(
    left: &'v [(apiwright_json::Str, Value)],
    right: &'v [(apiwright_json::Str, Value)],
    mut visit: impl FnMut(&'v str, Option<&'v Value>, Option<&'v Value>) -> Result<(), Faults>,
) -> Result<(), Faults> {
    let sort = |members: &'v [(apiwright_json::Str, Value)]| {
        let mut members: Vec<&(apiwright_json::Str, Value)> = members.iter().collect();
        if !members.is_sorted_by(|a, b| a.0 < b.0) {
            members.sort_by(|a, b| a.0.cmp(&b.0));
        }
        members
    };
    let (left, right) = (sort(left), sort(right));
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        let order = match (left.get(l), right.get(r)) {
            (Some(a), Some(b)) => a.0.cmp(&b.0),
            (Some(_), None) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        let a = order.is_le().then(|| left[l]);
        let b = order.is_ge().then(|| right[r]);
        l += usize::from(a.is_some());
        r += usize::from(b.is_some());
        let name = a.or(b).map_or("", |member| &member.0);
        visit(name, a.map(|member| &member.1), b.map(|member| &member.1))?;
    }
    Ok(())
}

fn walk_items(list: ListAtom<'_>, old: &[Value], new: &[Value], marks: &mut Marks) -> Result<(), Faults> {
    if old == new {
        return Ok(());
    }
    let mut pairs: BTreeMap<Element, [Vec<&Value>; 2]> = BTreeMap::new();
    for (side, values) in [old, new].into_iter().enumerate() {
        for (element, item) in items(list, values).map_err(Faults::one)? {
            pairs.entry(element).or_default()[side].push(item);
        }
    }
    for (element, [old, new]) in pairs {
        let mut child = Marks::default();
        match (old.as_slice(), new.as_slice()) {
            ([] | [_], [] | [_]) => {
                walk(list.item(), old.first().copied(), new.first().copied(), &mut child)
                    .map_err(|faults| faults.within(&element))?;
            }
            // Items that cannot be told apart compare as one.
            ([_, _, ..], [_, _, ..]) => {
                let same = old.len() == new.len() && old.iter().zip(&new).all(|(a, b)| equal(a, b));
                child.modified.member = !same;
            }
            ([_, _, ..], few) => {
                if let Some(item) = few.first() {
                    walk(list.item(), None, Some(item), &mut child)
                        .map_err(|faults| faults.within(&element))?;
                }
                child.removed.member = true;
            }
            (few, [_, _, ..]) => {
                if let Some(item) = few.first() {
                    walk(list.item(), Some(item), None, &mut child)
                        .map_err(|faults| faults.within(&element))?;
                }
                child.added.member = true;
            }
        }
        marks.take(child, || element);
    }
    Ok(())
}
