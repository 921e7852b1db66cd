//! One walk that turns a parsed body into the normal form of its type.
//!
//! Position: between the JSON parser and everything that reads an object.
//! Invariant: what comes out looks as Go's encoder would print the decoded struct. Members are in
//! the order of the type's fields, maps are sorted, unknown members are gone and reported, null is
//! absence, scalars are in their canonical spelling, and struct fields that Go cannot leave out
//! are there. Decoding it again changes nothing.
//! Absence: no defaults and no validation; those are walks of their own.

mod base64;
pub(crate) mod hollow;
pub(crate) mod omission;
pub mod refusal;
mod scalar;
mod spelling;
mod walk;

#[cfg(test)]
mod tests;

use apiwright_json::{Duplicates, Object, Value};

use crate::{Node, Shape, Struct};
pub use hollow::hollow;
use walk::Walk;

/// A decoded body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The object in normal form.
    pub value: Value,
    /// What a strict decoder refuses, in upstream's order: `unknown field "spec.x"`,
    /// `duplicate field "data.a"`.
    pub strict: Vec<String>,
}

/// Why a body does not fit its type: upstream's words, without what the caller puts around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Which of upstream's two decoders the words of errors come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// JSON bytes: request bodies, and what JSON patches and merge patches make.
    Json,
    /// An unstructured object: what strategic merge patches and apply make.
    Unstructured,
}

/// The kind that an object has, whatever its body says.
#[derive(Clone, Copy, Debug)]
pub struct ObjectKind<'a> {
    /// `apps/v1`, or `v1` in the core group.
    pub api_version: &'a str,
    /// For instance `Deployment`.
    pub kind: &'a str,
}

/// Decodes the body of an object that carries its kind.
///
/// # Errors
/// When a member has a value that its field cannot hold. As upstream, the first mismatch of types
/// is told at the end, a text that a scalar cannot parse at once.
pub fn decode(
    ty: &Struct,
    kind: ObjectKind<'_>,
    value: Value,
    duplicates: &Duplicates,
    source: Source,
) -> Result<Decoded, Error> {
    let mut decoded = decode_plain(ty, value, duplicates, source)?;
    if let Value::Object(object) = &mut decoded.value {
        stamp(object, kind);
    }
    Ok(decoded)
}

/// Decodes a value of a type that carries no kind, such as `ObjectMeta`.
///
/// # Errors
/// As [`decode`].
pub fn decode_plain(
    ty: &Struct,
    value: Value,
    duplicates: &Duplicates,
    source: Source,
) -> Result<Decoded, Error> {
    let mut walk = Walk::new(source, &duplicates.0);
    let value = walk.root(ty, value)?;
    let strict = walk.finish()?;
    Ok(Decoded { value, strict })
}

/// Decodes a value that is no object.
///
/// # Errors
/// As [`decode`].
pub fn decode_at(
    node: &Node,
    value: Value,
    duplicates: &Duplicates,
    source: Source,
) -> Result<Decoded, Error> {
    let mut walk = Walk::new(source, &duplicates.0);
    let value = walk.at(node, value)?;
    let strict = walk.finish()?;
    Ok(Decoded { value, strict })
}

/// Brings an object that was made from one in normal form, by a patch for instance, back to it.
///
/// # Errors
/// As [`decode`].
pub fn normalise(ty: &Struct, kind: ObjectKind<'_>, value: Value, source: Source) -> Result<Decoded, Error> {
    decode(ty, kind, value, &Duplicates::default(), source)
}

/// Brings a value that fits its place to normal form; one that does not fit stays as it is.
pub(crate) fn settle(node: &Node, value: Value) -> Value {
    match decode_at(node, value.clone(), &Duplicates::default(), Source::Json) {
        Ok(decoded) => decoded.value,
        Err(_) => value,
    }
}

/// Brings the members of an object in normal form, to which some were added at the end, back into
/// the order of the type's fields. Costs next to nothing where they are in order.
pub fn arrange(ty: &Struct, value: &mut Value) {
    let Value::Object(object) = value else { return };
    let (mut expected, mut last, mut in_order) = (0, None, true);
    for (name, value) in object.iter_mut() {
        let index = match ty.fields.get(expected) {
            Some(field) if *field.name == **name => Some(expected),
            _ => ty.position(name),
        };
        in_order &= last < Some(index.unwrap_or(usize::MAX));
        last = Some(index.unwrap_or(usize::MAX));
        if let Some(index) = index {
            expected = index + 1;
            arrange_node(&ty.fields[index].node, value);
        }
    }
    if !in_order {
        object.sort_by_key(|name| ty.position(name).unwrap_or(usize::MAX));
    }
}

fn arrange_node(node: &Node, value: &mut Value) {
    match (&node.shape, value) {
        (Shape::Struct(ty), value) => arrange(ty, value),
        (Shape::List(list), Value::Array(items)) if is_container(&list.item) => {
            for item in items {
                arrange_node(&list.item, item);
            }
        }
        (Shape::Map(map), Value::Object(object)) => {
            if !object.keys().is_sorted() {
                object.sort();
            }
            if is_container(&map.value) {
                for (_, value) in object.iter_mut() {
                    arrange_node(&map.value, value);
                }
            }
        }
        _ => {}
    }
}

fn is_container(node: &Node) -> bool {
    matches!(node.shape, Shape::Struct(_) | Shape::List(_) | Shape::Map(_))
}

/// Sets kind and apiVersion, in that order, before everything else.
fn stamp(object: &mut Object, kind: ObjectKind<'_>) {
    if object.keys().take(2).eq(["kind", "apiVersion"]) {
        for (name, text) in [("kind", kind.kind), ("apiVersion", kind.api_version)] {
            if object.str(name) != Some(text) {
                object.insert(name, text);
            }
        }
        return;
    }
    let members = std::mem::take(object);
    *object = Object::with_capacity(members.len() + 2);
    object.push("kind", kind.kind);
    object.push("apiVersion", kind.api_version);
    for (name, value) in members {
        if name != "kind" && name != "apiVersion" {
            object.push(name, value);
        }
    }
}
