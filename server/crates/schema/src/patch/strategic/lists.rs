//! Lists that merge: by key, or as sets of scalars; and the order that comes out.
//!
//! The order: items that the patch names come in the patch's order (or the one that
//! `$setElementOrder` gives), the others in theirs; each of the others goes before the first
//! named item that followed it.

use apiwright_json::{Object, Value};

use super::place::Place;
use super::{
    DIRECTIVE, Error, LIST, MAP, SET_ORDER, bad_directive, bad_type, no_merge_key, without_directives,
};
use crate::go;

/// Merges the lists that have a `$setElementOrder`, and takes them out of the patch.
pub(super) fn set_orders(original: &mut Object, patch: &mut Object, place: Place<'_>) -> Result<(), Error> {
    let directives: Vec<_> = patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let order = match patch.remove(&directive).unwrap_or_default() {
            Value::Array(order) => order,
            other => return Err(bad_type(LIST, &other)),
        };
        let name = directive[SET_ORDER.len()..].strip_prefix('/').ok_or_else(bad_order)?;
        let current = taken(original.get_mut(name))?;
        let patched = taken(patch.get_mut(name))?;
        let (inner, strategy) = place.items(name)?;
        let key = strategy.map_or("", |strategy| &strategy.key);
        check_order(patched.as_deref().unwrap_or_default(), &order, key)?;

        let merged = match (current.clone(), patched.clone()) {
            (None, None) => continue,
            (Some(current), None) => current,
            (None, Some(patched)) => patched.into_iter().filter_map(without_directives).collect(),
            (Some(current), Some(patched)) => match strategy {
                Some(strategy) if strategy.merge => merge(current, patched, inner, key, false)?,
                _ => patched,
            },
        };
        let (named, others) = partition(merged, &order, key)?;
        let current = current.unwrap_or_default();
        let holds_maps = item_kind(&current, &patched.unwrap_or_default())? == Kind::Map;
        let ordered = interleave(named, others, &order, &current, key, holds_maps)?;
        original.insert(name, ordered);
        patch.remove(name);
    }
    Ok(())
}

/// Merges two lists, or removes what the second has from the first.
pub(super) fn merge(
    original: Vec<Value>,
    patch: Vec<Value>,
    place: Place<'_>,
    key: &str,
    deletes: bool,
) -> Result<Vec<Value>, Error> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    if item_kind(&original, &patch)? == Kind::Scalar {
        if deletes {
            return Ok(original.into_iter().filter(|item| !patch.contains(item)).collect());
        }
        let mut merged = Vec::with_capacity(original.len() + patch.len());
        for item in original.iter().chain(&patch) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        let (named, others) = partition(merged, &patch, key)?;
        return interleave(named, others, &patch, &original, key, false);
    }
    if key.is_empty() {
        let kind = place.kind();
        return Err(Error::Unclassified(format!("cannot merge lists without merge key for {kind}")));
    }
    let (original, patch) = obey_directives(original, patch, key)?;
    let mut merged = original.clone();
    for item in patch.clone() {
        let Value::Object(item) = item else { continue };
        let value = item.get(key).cloned().ok_or_else(|| no_merge_key(&item, key))?;
        match position(&merged, key, &value)? {
            Some(at) => {
                if let Value::Object(current) = std::mem::take(&mut merged[at]) {
                    merged[at] = Value::Object(super::merge(current, item, place)?);
                }
            }
            None => merged.push(Value::Object(item)),
        }
    }
    let (named, others) = partition(merged, &patch, key)?;
    interleave(named, others, &patch, &original, key, true)
}

/// Takes the items with `$patch` out of the patch and does what they say.
fn obey_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Error> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut replaces = false;
    for item in patch {
        let Some(object) = item.as_object() else { continue };
        let Some(directive) = object.get(DIRECTIVE) else {
            plain.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let value = object.get(key).ok_or_else(|| no_merge_key(object, key))?;
                while let Some(at) = position(&original, key, value)? {
                    original.remove(at);
                }
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(Error::Unclassified("merging lists cannot yet be specified in the patch".into()));
            }
            _ => return Err(bad_directive(directive, object)),
        }
    }
    Ok(if replaces { (plain, Vec::new()) } else { (original, plain) })
}

/// Where in a list the item with this key is.
fn position(items: &[Value], key: &str, value: &Value) -> Result<Option<usize>, Error> {
    for (at, item) in items.iter().enumerate() {
        let object = item
            .as_object()
            .ok_or_else(|| Error::Unclassified(format!("value for key {at} is not a map")))?;
        if object.get(key) == Some(value) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether the items of a patch are in the order that it sets, and none is missing there.
fn check_order(patch: &[Value], order: &[Value], key: &str) -> Result<(), Error> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut items = Vec::with_capacity(patch.len());
    for item in patch {
        let deletes = match item {
            _ if key.is_empty() => false,
            Value::Object(object) => object.str(DIRECTIVE) == Some("delete"),
            other => return Err(bad_type(MAP, other)),
        };
        if !deletes {
            items.push(item);
        }
    }
    let (mut next, mut at) = (0, 0);
    while next < items.len() && at < order.len() {
        if items[next].get(DIRECTIVE).is_some() {
            next += 1;
            continue;
        }
        if same_item(items[next], &order[at], key)? {
            next += 1;
        }
        at += 1;
    }
    if next < items.len() && at >= order.len() {
        let (patch, order) = (go::print(&Value::Array(patch.into())), go::print(&Value::Array(order.into())));
        return Err(Error::Unclassified(format!(
            "The order in patch list:\n{patch}\n doesn't match {SET_ORDER} list:\n{order}\n"
        )));
    }
    Ok(())
}

fn same_item(one: &Value, other: &Value, key: &str) -> Result<bool, Error> {
    if key.is_empty() {
        return Ok(one == other);
    }
    Ok(merge_value(one, key)? == merge_value(other, key)?)
}

/// The value that an item merges by.
fn merge_value<'a>(item: &'a Value, key: &str) -> Result<&'a Value, Error> {
    let object = item.as_object().ok_or_else(|| bad_type(MAP, item))?;
    object.get(key).ok_or_else(|| no_merge_key(object, key))
}

/// The items that a list names, and the others.
fn partition(items: Vec<Value>, names: &[Value], key: &str) -> Result<(Vec<Value>, Vec<Value>), Error> {
    let (mut named, mut others) = (Vec::with_capacity(items.len()), Vec::new());
    for item in items {
        let is_named = if key.is_empty() {
            names.contains(&item)
        } else {
            position(names, key, merge_value(&item, key)?)?.is_some()
        };
        if is_named { named.push(item) } else { others.push(item) }
    }
    Ok((named, others))
}

/// Orders the named items and the others, and joins them.
fn interleave(
    named: Vec<Value>,
    others: Vec<Value>,
    names: &[Value],
    original: &[Value],
    key: &str,
    holds_maps: bool,
) -> Result<Vec<Value>, Error> {
    let named = sorted(named, names, key, holds_maps)?;
    let others = sorted(others, original, key, holds_maps)?;
    let place = |item: &Value| rank(original, item, key, holds_maps);
    let mut out = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let from_others = match (others.peek(), named.peek()) {
            (None, None) => return Ok(out),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(other), Some(name)) => {
                matches!((place(other), place(name)), (Some(other), Some(name)) if other < name)
            }
        };
        out.extend(if from_others { others.next() } else { named.next() });
    }
}

fn sorted(items: Vec<Value>, order: &[Value], key: &str, holds_maps: bool) -> Result<Vec<Value>, Error> {
    let (mut deletions, mut kept) = (Vec::new(), items);
    if holds_maps {
        for item in kept.iter().chain(order) {
            merge_value(item, key)?;
        }
        (deletions, kept) =
            kept.into_iter().partition(|item| item.get(DIRECTIVE).and_then(Value::as_str) == Some("delete"));
    }
    kept.sort_by_cached_key(|item| rank(order, item, key, holds_maps));
    kept.append(&mut deletions);
    Ok(kept)
}

/// Where in a list an item is.
fn rank(items: &[Value], item: &Value, key: &str, holds_maps: bool) -> Option<usize> {
    items.iter().position(|other| if holds_maps { other.get(key) == item.get(key) } else { other == item })
}

#[derive(PartialEq, Eq)]
enum Kind {
    Map,
    Scalar,
}

/// The kind of the items of two lists, which all have to be of one type.
fn item_kind(one: &[Value], other: &[Value]) -> Result<Kind, Error> {
    let mut items = one.iter().chain(other);
    let Some(first) = items.next() else {
        return Err(Error::Unclassified("no elements in any of the given slices".into()));
    };
    if matches!(first, Value::Array(_)) {
        return Err(Error::Inapplicable("lists of lists are not supported".into()));
    }
    if items.any(|item| !super::same_type(first, item)) {
        let lists = Value::Array(vec![Value::Array(one.into()), Value::Array(other.into())]);
        return Err(Error::Unclassified(format!(
            "list element types are not identical: {}",
            go::print(&lists)
        )));
    }
    Ok(if matches!(first, Value::Object(_)) { Kind::Map } else { Kind::Scalar })
}

fn taken(list: Option<&mut Value>) -> Result<Option<Vec<Value>>, Error> {
    match list {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(other) => Err(bad_type(LIST, other)),
    }
}

fn bad_order() -> Error {
    Error::BadRequest("invalid patch format of setElementOrder list".into())
}
