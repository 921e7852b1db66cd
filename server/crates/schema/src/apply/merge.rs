//! Two objects in one: where both say something, the second counts; nothing is taken out.

use std::collections::{BTreeMap, BTreeSet};

use apiwright_json::{Object, Value};

use crate::fieldset::{Atom, Element, Faults, ListAtom, MapAtom, Type, items};
use crate::table::Struct;

/// Merges a configuration into an object.
///
/// # Errors
/// When the items of a merged list cannot be told apart.
pub(super) fn merge(ty: &Struct, live: &Value, config: &Value) -> Result<Value, Faults> {
    Ok(walk(Type::Struct(ty), Some(live), Some(config))?.unwrap_or_default())
}

fn walk(ty: Type<'_>, left: Option<&Value>, right: Option<&Value>) -> Result<Option<Value>, Faults> {
    // Where anything goes, what is written last says what it is.
    let of = match (left, right) {
        (_, Some(Value::Null) | None) => left,
        (_, Some(_)) => right,
    };
    match ty.atom(of) {
        Atom::Scalar(_) => Ok(last(left, right)),
        Atom::List(list) => {
            let (l, r) = (array(left), array(right));
            if list.is_atomic() || (l.is_empty() && r.is_empty()) {
                return Ok(last(left, right));
            }
            Ok(Some(merge_items(list, l, r)?.into()))
        }
        Atom::Map(map) => {
            let (l, r) = (object(left), object(right));
            if map.is_atomic() || (l.is_none_or(Object::is_empty) && r.is_none_or(Object::is_empty)) {
                return Ok(last(left, right));
            }
            merge_members(map, l, r).map(Some)
        }
    }
}

fn last(left: Option<&Value>, right: Option<&Value>) -> Option<Value> {
    right.or(left).cloned()
}

fn array(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn object(value: Option<&Value>) -> Option<&Object> {
    value.and_then(Value::as_object)
}

/// Members keep their order; those that only the configuration has come last.
fn merge_members(map: MapAtom<'_>, left: Option<&Object>, right: Option<&Object>) -> Result<Value, Faults> {
    const NONE: &Object = &Object::new();
    let (left, right) = (left.unwrap_or(NONE), right.unwrap_or(NONE));
    let mut out = Object::with_capacity(left.len() + right.len());
    let mut add = |name: &str, left: Option<&Value>, right: Option<&Value>| -> Result<(), Faults> {
        let merged = match (left, right) {
            (Some(left), None) => Some(left.clone()),
            _ => {
                walk(map.member(name), left, right).map_err(|faults| faults.within(&Element::field(name)))?
            }
        };
        if let Some(merged) = merged {
            out.push(name, merged);
        }
        Ok(())
    };
    let mut taken = BTreeSet::new();
    for (name, value) in left.iter() {
        let theirs = right.get(name);
        if theirs.is_some() {
            taken.insert(name.as_str());
        }
        add(name, Some(value), theirs)?;
    }
    for (name, value) in right.iter().filter(|(name, _)| !taken.contains(name.as_str())) {
        add(name, None, Some(value))?;
    }
    Ok(out.into())
}

/// Items keep the live order as long as the configuration does not ask for another; what it adds
/// comes after what stands before it there.
fn merge_items(list: ListAtom<'_>, left: &[Value], right: &[Value]) -> Result<Vec<Value>, Faults> {
    let ours = items(list, left).map_err(Faults::one)?;
    let theirs = items(list, right).map_err(Faults::one)?;
    let mut live: BTreeMap<&Element, &Value> = BTreeMap::new();
    for (element, item) in &ours {
        // Items that cannot be told apart do not merge with anything.
        live.entry(element).and_modify(|item| *item = &Value::Null).or_insert(item);
    }
    let mut config: BTreeMap<&Element, &Value> = BTreeMap::new();
    for (element, item) in &theirs {
        if config.insert(element, item).is_some() {
            return Err(Faults::one(format!("duplicate entries for key {element}")));
        }
    }
    let mut shared = theirs.iter().map(|(element, _)| element).filter(|element| live.contains_key(element));
    let mut next_shared = shared.next();
    let mut merged: BTreeSet<&Element> = BTreeSet::new();
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let mut add = |left: Option<&Value>, right: Option<&Value>| -> Result<(), Faults> {
        out.extend(walk(list.item(), left, right)?);
        Ok(())
    };
    let (mut l, mut r) = (0, 0);
    while l < ours.len() || r < theirs.len() {
        if let (Some((our, _)), Some((their, _))) = (ours.get(l), theirs.get(r)) {
            if our == their {
                merged.insert(our);
                add(live.get(our).copied(), config.get(our).copied())?;
                (l, r) = (l + 1, r + 1);
                next_shared = shared.next();
                continue;
            }
            if config.contains_key(our) && next_shared.is_some_and(|next| next != our) {
                // Shared, but the configuration has another one before it.
                l += 1;
                continue;
            }
        }
        if let Some((our, item)) = ours.get(l) {
            if !config.contains_key(our) {
                add(Some(item), None)?;
                l += 1;
                continue;
            }
            l += usize::from(merged.contains(our));
        }
        if let Some((their, item)) = theirs.get(r) {
            merged.insert(their);
            add(live.get(their).copied(), Some(item))?;
            r += 1;
            if next_shared == Some(their) {
                next_shared = shared.next();
            }
        }
    }
    Ok(out)
}
