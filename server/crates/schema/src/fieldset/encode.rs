//! The `FieldsV1` form of a set: nested objects whose members are path elements.
//!
//! A member that is in the set and has others below it holds `.`; unknown kinds of elements are
//! ignored when read, since a future version may know them.

use std::fmt;

use apiwright_json::{Object, Str, Value};

use super::element::Element;
use super::set::Set;

/// A value that is not the `FieldsV1` form of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

impl Set {
    /// The `FieldsV1` form.
    pub fn to_fields(&self) -> Value {
        self.encode(false).into()
    }

    /// The set of a `FieldsV1` value.
    ///
    /// # Errors
    /// When it does not consist of objects, or a member is no path element.
    pub fn from_fields(fields: &Value) -> Result<Self, Malformed> {
        Ok(decode(fields)?.0)
    }

    fn encode(&self, with_self: bool) -> Object {
        let mut out = Object::with_capacity(self.nodes.len() + usize::from(with_self));
        if with_self {
            out.push(".", Object::new());
        }
        for node in &self.nodes {
            let below =
                if node.children.is_empty() { Object::new() } else { node.children.encode(node.member) };
            out.push(text(&node.element), below);
        }
        out
    }
}

/// The set below a member, and whether the member itself is in it.
fn decode(fields: &Value) -> Result<(Set, bool), Malformed> {
    let members = match fields {
        Value::Object(members) => members,
        Value::Null => return Ok((Set::new(), true)),
        other => {
            return Err(Malformed(format!("ReadMapCB: expect {{ or n, but found {}", first_char(other))));
        }
    };
    let mut set = Set { nodes: Vec::with_capacity(members.len()) };
    let mut member = false;
    for (name, below) in members.iter() {
        if name == "." {
            member = true;
            continue;
        }
        if let Some(element) = element(name)? {
            let (below, is_member) = decode(below)?;
            set.push(element, is_member, below);
        }
    }
    set.settle();
    member |= set.is_empty();
    Ok((set, member))
}

fn first_char(value: &Value) -> String {
    apiwright_json::to_string(value).chars().take(1).collect()
}

/// Whether this is the name of an element.
pub(super) fn names(name: &str, element: &Element) -> bool {
    match element {
        Element::Field(field) => name.strip_prefix("f:").is_some_and(|name| name == field),
        Element::Key(_) | Element::Value(_) | Element::Index(_) => name == text(element),
    }
}

fn text(element: &Element) -> Str {
    match element {
        Element::Field(name) => join("f:", name),
        Element::Key(fields) => {
            let mut out = Vec::with_capacity(32);
            out.extend_from_slice(b"k:{");
            for (at, (name, value)) in fields.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                apiwright_json::encode::string_to_bytes(name, &mut out);
                out.push(b':');
                apiwright_json::to_bytes(value, &mut out);
            }
            out.push(b'}');
            from_utf8(&out)
        }
        Element::Value(value) => {
            let mut out = b"v:".to_vec();
            apiwright_json::to_bytes(value, &mut out);
            from_utf8(&out)
        }
        Element::Index(at) => Str::from(format!("i:{at}")),
    }
}

fn join(prefix: &str, name: &str) -> Str {
    let mut out = Str::with_capacity(prefix.len() + name.len());
    out.push_str(prefix);
    out.push_str(name);
    out
}

fn from_utf8(bytes: &[u8]) -> Str {
    Str::from_utf8_lossy(bytes)
}

/// The element that a member's name stands for; `None` for kinds that are not known here.
fn element(name: &str) -> Result<Option<Element>, Malformed> {
    if name.len() < 2 {
        return Err(Malformed(format!(
            "parsing key as path element: key must be 2 characters long:, {name}"
        )));
    }
    if name.as_bytes()[1] != b':' {
        return Err(Malformed(format!("parsing key as path element: missing colon: {name}")));
    }
    let json = |text: &str| match apiwright_json::decode(text.as_bytes()) {
        Ok((value, _)) => Ok(value),
        Err(error) => Err(Malformed(format!("parsing key as path element: {}", error.message))),
    };
    let rest = &name[2..];
    Ok(Some(match name.as_bytes()[0] {
        b'f' => Element::field(rest),
        b'v' => Element::Value(json(rest)?),
        b'k' => match json(rest)? {
            Value::Object(fields) => Element::key(fields),
            Value::Null => Element::Key(Vec::new()),
            _ => {
                return Err(Malformed(format!(
                    "parsing key as path element: expect {{ or n, but found {rest}"
                )));
            }
        },
        b'i' => match rest.parse() {
            Ok(at) => Element::Index(at),
            Err(_) => {
                return Err(Malformed(format!(
                    "parsing key as path element: strconv.Atoi: parsing {}: invalid syntax",
                    apiwright_meta::field::quoted(rest)
                )));
            }
        },
        _ => return Ok(None),
    }))
}
