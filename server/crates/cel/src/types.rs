//! The types that the checker reasons with, and how cel-go writes them.

use std::fmt;
use std::sync::Arc;

use crate::decl::Object;

/// A type.
#[derive(Clone, Debug)]
pub enum Type {
    /// What an expression with a fault has: assignable to everything, so that one fault gives one error.
    Error,
    /// Known only when evaluated.
    Dyn,
    /// `null`
    Null,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `uint`
    Uint,
    /// `double`
    Double,
    /// `string`
    String,
    /// `bytes`
    Bytes,
    /// `timestamp`
    Timestamp,
    /// `duration`
    Duration,
    /// A list of one type.
    List(Arc<Type>),
    /// A map from one type to another.
    Map(Arc<(Type, Type)>),
    /// `optional_type(T)`
    Optional(Arc<Type>),
    /// A type that only its own functions know, as `net.IP`: nullable, never selected from.
    Opaque(&'static str),
    /// A type with fields.
    Struct(Arc<Object>),
    /// A type of Kubernetes' libraries, which has no fields.
    Named(&'static str),
    /// The type of a type.
    Type(Option<Arc<Type>>),
    /// A type that a call decides.
    Param(Param),
}

/// A type parameter: of a declaration, or a free variable of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Param {
    /// `A` of a declaration.
    Declared(char),
    /// One that a check made.
    Free(u32),
}

/// Quantities.
pub const QUANTITY: Type = Type::Named("kubernetes.Quantity");
/// URLs.
pub const URL: Type = Type::Named("kubernetes.URL");
/// Semantic versions.
pub const SEMVER: Type = Type::Named("kubernetes.Semver");
/// Named formats.
pub const FORMAT: Type = Type::Named("kubernetes.NamedFormat");
/// IP addresses.
pub const IP: Type = Type::Opaque("net.IP");
/// Ranges of IP addresses.
pub const CIDR: Type = Type::Opaque("net.CIDR");
/// What asks the authorizer.
pub const AUTHORIZER: Type = Type::Named("kubernetes.authorization.Authorizer");
/// A question about a path.
pub const PATH_CHECK: Type = Type::Named("kubernetes.authorization.PathCheck");
/// A question about a group, not yet complete.
pub const GROUP_CHECK: Type = Type::Named("kubernetes.authorization.GroupCheck");
/// A question about a resource.
pub const RESOURCE_CHECK: Type = Type::Named("kubernetes.authorization.ResourceCheck");
/// An answer.
pub const DECISION: Type = Type::Named("kubernetes.authorization.Decision");

impl Type {
    /// A list of this.
    pub fn list(item: Self) -> Self {
        Self::List(Arc::new(item))
    }

    /// A map from strings or whatever to this.
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// This or nothing.
    pub fn optional(inner: Self) -> Self {
        Self::Optional(Arc::new(inner))
    }

    /// The type of this type.
    pub fn of(inner: Self) -> Self {
        Self::Type(Some(Arc::new(inner)))
    }

    /// Its name at run time: what `type(x)` gives and errors quote.
    pub fn name(&self) -> &str {
        match self {
            Self::Error => "error",
            Self::Dyn | Self::Param(_) => "dyn",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Opaque(name) | Self::Named(name) => name,
            Self::Struct(object) => &object.name,
            Self::Type(_) => "type",
        }
    }

    /// Whether values of it always count as one when costs are estimated.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Self::Bool | Self::Double | Self::Duration | Self::Int | Self::Timestamp | Self::Uint => true,
            Self::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }

    /// What it is made of.
    pub(crate) fn parameters(&self) -> Vec<&Self> {
        match self {
            Self::List(item) => vec![item],
            Self::Map(pair) => vec![&pair.0, &pair.1],
            Self::Optional(inner) | Self::Type(Some(inner)) => vec![inner],
            _ => Vec::new(),
        }
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn)
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }
}

/// Equal types are written alike; structs are equal where they are the same declaration.
impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Opaque(a), Self::Opaque(b)) | (Self::Named(a), Self::Named(b)) => a == b,
            (Self::Struct(a), Self::Struct(b)) => Arc::ptr_eq(a, b) || (a.name == b.name && a.open == b.open),
            (Self::Type(a), Self::Type(b)) => a == b,
            (Self::Param(a), Self::Param(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// As cel-go's checker writes it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error => f.write_str("!error!"),
            Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::List(item) => write!(f, "list({item})"),
            Self::Map(pair) => write!(f, "map({}, {})", pair.0, pair.1),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            Self::Type(Some(inner)) => write!(f, "type({inner})"),
            Self::Param(Param::Declared(name)) => write!(f, "{name}"),
            Self::Param(Param::Free(number)) => write!(f, "_var{number}"),
            other => f.write_str(other.name()),
        }
    }
}
