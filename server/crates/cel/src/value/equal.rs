//! When values are equal.

use std::collections::{HashMap, HashSet};

use super::{List, Map, Val, order};
use crate::decl::{Decl, ListKind, Shape};
use crate::error::EvalError;

/// Whether two values are equal; values of different types are not, but numbers are compared as numbers.
pub(crate) fn equal<'a>(a: &Val<'a>, b: &Val<'a>) -> Result<bool, EvalError> {
    Ok(match (a, b) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::String(a), Val::String(b)) => **a == **b,
        (Val::Bytes(a), Val::Bytes(b)) => a == b,
        (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Int(a), Val::Int(b)) => a == b,
        (Val::Uint(a), Val::Uint(b)) => a == b,
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b).is_some_and(std::cmp::Ordering::is_eq),
        (Val::Int(a), Val::Uint(b)) | (Val::Uint(b), Val::Int(a)) => i128::from(*a) == i128::from(*b),
        (Val::Double(a), Val::Int(b)) | (Val::Int(b), Val::Double(a)) => {
            order(*a, i128::from(*b)).is_some_and(std::cmp::Ordering::is_eq)
        }
        (Val::Double(a), Val::Uint(b)) | (Val::Uint(b), Val::Double(a)) => {
            order(*a, i128::from(*b)).is_some_and(std::cmp::Ordering::is_eq)
        }
        (Val::List(a), Val::List(b)) => lists(a, b)?,
        (Val::Map(a), Val::Map(b)) => maps(a, b)?,
        (Val::Type(a), Val::Type(b)) => a.name() == b.name(),
        (Val::Optional(None), Val::Optional(None)) => true,
        (Val::Optional(Some(a)), Val::Optional(Some(b))) => equal(a, b)?,
        (Val::Made(a), Val::Made(b)) => {
            let mut same = a.name == b.name && a.fields.len() == b.fields.len();
            for (name, value) in &a.fields {
                let other = b.fields.iter().find(|(known, _)| known == name);
                same = same && other.is_some_and(|(_, other)| equal(value, other).unwrap_or(false));
            }
            same
        }
        (Val::Quantity(a), Val::Quantity(b)) => crate::library::quantity::compare(a, b).is_eq(),
        (Val::Url(a), Val::Url(b)) => a.text() == b.text(),
        (Val::Ip(a), Val::Ip(b)) => a == b,
        (Val::Cidr(a, m), Val::Cidr(b, n)) => a == b && m == n,
        (Val::Semver(a), Val::Semver(b)) => a.compare(b).is_eq(),
        (Val::Format(a), Val::Format(b)) => a.name == b.name,
        (Val::Access(a), Val::Access(b)) => a == b,
        _ => false,
    })
}

/// Lists are equal item by item, unless the left one is declared a set or keyed.
fn lists<'a>(a: &List<'a>, b: &List<'a>) -> Result<bool, EvalError> {
    if a.len() != b.len() {
        return Ok(false);
    }
    match a {
        List::Json(_, Decl { shape: Shape::List(_, ListKind::Set), .. }) => {
            let ours: HashSet<String> =
                a.iter().map(|item| item.and_then(|item| text(&item))).collect::<Result<_, _>>()?;
            for item in b.iter() {
                if !ours.contains(&text(&item?)?) {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        List::Json(_, Decl { shape: Shape::List(_, ListKind::Map(keys)), .. }) => keyed(a, b, keys),
        _ => {
            for (ours, theirs) in a.iter().zip(b.iter()) {
                if !equal(&ours?, &theirs?)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

fn keyed<'a>(a: &List<'a>, b: &List<'a>, keys: &[String]) -> Result<bool, EvalError> {
    let key_of = |item: &Val<'a>| -> Result<String, EvalError> {
        let Val::Map(item) = item else { return Ok(String::new()) };
        let mut whole = String::new();
        for key in keys {
            let key = crate::escape(key).unwrap_or_else(|| key.clone());
            whole.push_str(&item.field(&key)?.map_or_else(|| Ok(String::new()), |value| text(&value))?);
            whole.push(',');
        }
        Ok(whole)
    };
    let mut ours = HashMap::with_capacity(a.len());
    for item in a.iter() {
        let item = item?;
        ours.insert(key_of(&item)?, item);
    }
    for theirs in b.iter() {
        let theirs = theirs?;
        match ours.get(&key_of(&theirs)?) {
            Some(item) if equal(item, &theirs)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// A text that equal values share, to find one among many.
fn text(value: &Val<'_>) -> Result<String, EvalError> {
    Ok(apiwright_json::to_string(&value.to_json()?))
}

fn maps<'a>(a: &Map<'a>, b: &Map<'a>) -> Result<bool, EvalError> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (key, value) in a.entries()? {
        match b.find(&key)? {
            Some(other) if equal(&value, &other)? => {}
            _ => return Ok(false),
        }
    }
    // What is not declared is compared as it is.
    if let (Map::Object(a, declared), Map::Object(b, _)) = (a, b) {
        for (name, value) in a.iter() {
            let known = crate::escape(name)
                .is_some_and(|identifier| declared.fields.contains_key(identifier.as_str()));
            if !known && b.get(name).is_some_and(|other| other != value) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
