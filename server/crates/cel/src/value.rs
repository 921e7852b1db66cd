//! Values, as an evaluation has them.
//!
//! Invariant: what came in as JSON stays where it is and is read, level by level, when somebody looks.

use std::cmp::Ordering;
use std::net::IpAddr;
use std::sync::Arc;

use apiwright_json::{Object as JsonObject, Value};
use apiwright_meta::quantity::Quantity;
use apiwright_meta::time::Time;

use crate::access::Access;
use crate::decl::Decl;
use crate::error::EvalError;
use crate::library::semver::Semver;
use crate::library::url::Url;
use crate::types::{self, Type};

mod collections;
mod equal;
mod read;
mod tojson;

pub(crate) use collections::Members;
pub use collections::{List, Map};
pub(crate) use equal::equal;
pub use read::read;

/// A value.
#[derive(Clone, Debug)]
pub enum Val<'a> {
    /// `null`
    Null,
    /// `true`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1u`
    Uint(u64),
    /// `1.0`
    Double(f64),
    /// `'a'`
    String(Text<'a>),
    /// `b'a'`
    Bytes(Arc<[u8]>),
    /// `[a]`
    List(List<'a>),
    /// `{a: b}`
    Map(Map<'a>),
    /// A moment.
    Timestamp(Time),
    /// Nanoseconds.
    Duration(i64),
    /// A type.
    Type(Type),
    /// Something or nothing.
    Optional(Option<Arc<Val<'a>>>),
    /// An object that an expression made.
    Made(Arc<Made<'a>>),
    /// An object whose fields may be faults: the variables of policies.
    Fields(Fields<'a>),
    /// A quantity.
    Quantity(Arc<Quantity>),
    /// A URL.
    Url(Arc<Url>),
    /// An IP address.
    Ip(IpAddr),
    /// A range of IP addresses.
    Cidr(IpAddr, u8),
    /// A version.
    Semver(Arc<Semver>),
    /// A named format.
    Format(&'static crate::library::format::Format),
    /// A question to the authorizer, or its answer.
    Access(Arc<Access<'a>>),
}

/// Named values, or why there are none.
pub type Fields<'a> = Arc<[(Arc<str>, Result<Val<'a>, EvalError>)]>;

/// Text: of the values, or made.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// Of somebody else.
    Borrowed(&'a str),
    /// Made here.
    Owned(Arc<str>),
}

/// An object of a type that mutations make.
#[derive(Debug)]
pub struct Made<'a> {
    /// Its type.
    pub name: Arc<str>,
    /// Its fields.
    pub fields: Vec<(Arc<str>, Val<'a>)>,
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Owned(text) => text,
        }
    }
}

impl<'a> Val<'a> {
    /// A text made here.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Owned(text.into()))
    }

    /// A text of somebody else.
    pub fn str(text: &'a str) -> Self {
        Self::String(Text::Borrowed(text))
    }

    /// A list made here.
    pub fn list(items: Vec<Val<'a>>) -> Self {
        Self::List(List::Made(Arc::new(items)))
    }

    /// Something.
    pub fn some(value: Val<'a>) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// A JSON value of which nothing is declared.
    pub fn json(value: &'a Value) -> Self {
        read::read_dynamic(value)
    }

    /// A JSON object of which nothing is declared.
    pub fn object(object: &'a JsonObject) -> Self {
        Self::Map(Map::Dynamic(object))
    }

    /// A JSON value as declared.
    ///
    /// # Errors
    /// Where it is not what is declared.
    pub fn declared(value: &'a Value, decl: &'a Decl) -> Result<Self, EvalError> {
        read(value, decl)
    }

    /// Whether it is `true`.
    pub fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    /// Its text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Its type.
    pub fn ty(&self) -> Type {
        match self {
            Self::Null => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Uint(_) => Type::Uint,
            Self::Double(_) => Type::Double,
            Self::String(_) => Type::String,
            Self::Bytes(_) => Type::Bytes,
            Self::List(_) => Type::list(Type::Dyn),
            Self::Map(_) | Self::Fields(_) => Type::map(Type::Dyn, Type::Dyn),
            Self::Timestamp(_) => Type::Timestamp,
            Self::Duration(_) => Type::Duration,
            Self::Type(_) => Type::Type(None),
            Self::Optional(_) => Type::optional(Type::Dyn),
            Self::Made(made) => made.ty(),
            Self::Quantity(_) => types::QUANTITY,
            Self::Url(_) => types::URL,
            Self::Ip(_) => types::IP,
            Self::Cidr(..) => types::CIDR,
            Self::Semver(_) => types::SEMVER,
            Self::Format(_) => types::FORMAT,
            Self::Access(access) => access.ty(),
        }
    }

    /// How large it is, where costs depend on it.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::String(text) => characters(text),
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(list) => list.len() as u64,
            Self::Map(map) => map.len() as u64,
            Self::Optional(Some(inner)) => inner.size(),
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr(_, bits) => u64::from(bits.div_ceil(8)),
            _ => 1,
        }
    }

    /// Whether it is the zero of its type.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null | Self::Optional(None) => true,
            Self::Bool(value) => !value,
            Self::Int(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(list) => list.is_empty(),
            Self::Map(map) => map.is_empty(),
            Self::Timestamp(time) => time.is_zero(),
            Self::Duration(nanos) => *nanos == 0,
            Self::Optional(Some(inner)) => inner.is_zero(),
            Self::Made(made) => made.fields.is_empty(),
            _ => false,
        }
    }

    /// The order of two values of types that have one.
    pub(crate) fn compare(&self, other: &Self) -> Result<Ordering, EvalError> {
        let nan = || EvalError::new("NaN values cannot be ordered");
        Ok(match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Uint(a), Self::Uint(b)) => a.cmp(b),
            (Self::Int(a), Self::Uint(b)) => i128::from(*a).cmp(&i128::from(*b)),
            (Self::Uint(a), Self::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(b).ok_or_else(nan)?,
            (Self::Double(a), Self::Int(b)) => order(*a, i128::from(*b)).ok_or_else(nan)?,
            (Self::Double(a), Self::Uint(b)) => order(*a, i128::from(*b)).ok_or_else(nan)?,
            (Self::Int(a), Self::Double(b)) => order(*b, i128::from(*a)).ok_or_else(nan)?.reverse(),
            (Self::Uint(a), Self::Double(b)) => order(*b, i128::from(*a)).ok_or_else(nan)?.reverse(),
            (Self::String(a), Self::String(b)) => (**a).cmp(&**b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (Self::Timestamp(a), Self::Timestamp(b)) => a.cmp(b),
            (Self::Duration(a), Self::Duration(b)) => a.cmp(b),
            _ => return Err(EvalError::NO_OVERLOAD),
        })
    }

    /// As JSON, for what goes back into objects.
    ///
    /// # Errors
    /// Where it has no JSON.
    pub fn to_json(&self) -> Result<Value, EvalError> {
        tojson::to_json(self, 0)
    }
}

impl<'a> Made<'a> {
    /// Its type.
    pub fn ty(&self) -> Type {
        Type::Struct(Arc::new(crate::decl::Object {
            name: self.name.to_string(),
            open: true,
            fields: std::collections::HashMap::new(),
        }))
    }

    /// A field that was set.
    pub fn get(&self, name: &str) -> Option<&Val<'a>> {
        self.fields.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }
}

/// How many characters a text has.
pub(crate) fn characters(text: &str) -> u64 {
    if text.is_ascii() { text.len() as u64 } else { text.chars().count() as u64 }
}

/// The order of a floating-point number and a whole one, exactly.
pub(crate) fn order(a: f64, b: i128) -> Option<Ordering> {
    // 2^65: every whole number of ours is smaller.
    const BOUND: f64 = 36_893_488_147_419_103_232.0;
    if a.is_nan() {
        return None;
    }
    if a.abs() >= BOUND {
        return Some(if a > 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    let whole = a.trunc();
    Some((whole as i128).cmp(&b).then_with(|| a.partial_cmp(&whole).unwrap_or(Ordering::Equal)))
}
