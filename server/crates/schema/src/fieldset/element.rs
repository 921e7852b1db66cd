//! One step of a field path.

use std::cmp::Ordering;
use std::fmt;

use apiwright_json::{Str, Value};

use super::order::order;

/// How to get from a value to one that it holds.
#[derive(Clone, Debug)]
pub enum Element {
    /// A field of an object or an entry of a map: `f:name`.
    Field(Str),
    /// The list item with these key fields, sorted by name: `k:{"name":"c"}`.
    Key(Vec<(Str, Value)>),
    /// The set item with this value: `v:"a"`.
    Value(Value),
    /// The list item at this place: `i:3`. Old clients may have written it; nothing here does.
    Index(i64),
}

/// Steps from an object to a field.
pub type Path = Vec<Element>;

impl Element {
    /// A field of an object or an entry of a map.
    pub fn field(name: &str) -> Self {
        Self::Field(Str::from(name))
    }

    /// The list item with these key fields, in any order.
    pub fn key<N: Into<Str>, V: Into<Value>>(fields: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut fields: Vec<(Str, Value)> =
            fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        fields.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        Self::Key(fields)
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for Element {
    /// Fields, keys, values, indexes; each among themselves by bytes, or as numbers.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Key(a), Self::Key(b)) => a
                .iter()
                .zip(b)
                .map(|(a, b)| a.0.as_bytes().cmp(b.0.as_bytes()).then_with(|| order(&a.1, &b.1)))
                .find(|order| order.is_ne())
                .unwrap_or(a.len().cmp(&b.len())),
            (Self::Value(a), Self::Value(b)) => order(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Element {}

impl fmt::Display for Element {
    /// `.name`, `[name="c"]`, `[="a"]`, `[3]`: what conflicts and schema errors show.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                for (at, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if at == 0 { "[" } else { "," })?;
                    write!(f, "{name}={}", Shown(value))?;
                }
                f.write_str(if fields.is_empty() { "[]" } else { "]" })
            }
            Self::Value(value) => write!(f, "[={}]", Shown(value)),
            Self::Index(at) => write!(f, "[{at}]"),
        }
    }
}

/// A value as paths show it.
struct Shown<'a>(&'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("null"),
            Value::Bool(truth) => truth.fmt(f),
            Value::Int(number) => number.fmt(f),
            Value::Float(number) => f.write_str(&apiwright_meta::field::go_float(*number)),
            Value::String(text) => f.write_str(&apiwright_meta::field::quoted(text)),
            Value::Array(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{}", if at == 0 { "" } else { "," }, Shown(item))?;
                }
                f.write_str("]")
            }
            Value::Object(members) => {
                members.iter().try_for_each(|(name, value)| write!(f, "{name}={}", Shown(value)))
            }
        }
    }
}
