//! A schema as structured-merge-diff sees it: scalars, lists and maps, each merged in one way.
//!
//! The walks over values ([`super::compare`], merging, pruning, checking) read types only through
//! [`Type::atom`]. Types without a schema are deduced from the value: objects merge member by
//! member, all else is one value.

use apiwright_json::Value;

use crate::table::{Field, List, ListKind, Map, Shape, Struct};

/// A type at some place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Type<'a> {
    /// A named type, or an object of a CRD.
    Struct(&'a Struct),
    /// Any other shape.
    Shape(&'a Shape),
    /// Nothing is known: objects merge, the rest is one value (`__untyped_deduced_`).
    Deduced,
    /// Nothing is known, and it is one value (`__untyped_atomic_`).
    Untyped,
}

/// What merging has to know about a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Atom<'a> {
    Scalar(Scalar),
    List(ListAtom<'a>),
    Map(MapAtom<'a>),
}

/// What a scalar may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Numeric,
    String,
    Boolean,
    Untyped,
}

/// How a list merges.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListAtom<'a> {
    Typed(&'a List),
    /// One value.
    Untyped,
}

/// How an object or map merges.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MapAtom<'a> {
    Struct(&'a Struct),
    Map(&'a Map),
    /// Member by member, each deduced.
    Deduced,
    /// One value.
    Untyped,
}

impl<'a> Type<'a> {
    /// The type of a shape.
    pub(crate) fn of(shape: &'a Shape) -> Self {
        match shape {
            Shape::Struct(ty) => Self::Struct(ty),
            Shape::Any(_) => Self::Deduced,
            Shape::RawObject => Self::Untyped,
            other => Self::Shape(other),
        }
    }

    /// What the type is for this value: where anything goes, the value decides.
    pub(crate) fn atom(self, value: Option<&Value>) -> Atom<'a> {
        match self {
            Self::Struct(ty) => Atom::Map(MapAtom::Struct(ty)),
            Self::Deduced => free(value, MapAtom::Deduced),
            Self::Untyped => free(value, MapAtom::Untyped),
            Self::Shape(shape) => match shape {
                Shape::Bool => Atom::Scalar(Scalar::Boolean),
                Shape::Int32 | Shape::Int64 | Shape::Double => Atom::Scalar(Scalar::Numeric),
                Shape::String(_) | Shape::Bytes | Shape::Duration => Atom::Scalar(Scalar::String),
                Shape::Time | Shape::MicroTime | Shape::Quantity | Shape::IntOrString => {
                    Atom::Scalar(Scalar::Untyped)
                }
                Shape::List(list) => Atom::List(ListAtom::Typed(list)),
                Shape::Map(map) => Atom::Map(MapAtom::Map(map)),
                Shape::Struct(ty) => Atom::Map(MapAtom::Struct(ty)),
                Shape::FieldsV1 => Atom::Map(MapAtom::Deduced),
                Shape::Any(_) => free(value, MapAtom::Deduced),
                Shape::RawObject => free(value, MapAtom::Untyped),
            },
        }
    }

    /// Whether the value decides what it is.
    pub(crate) fn is_free(self) -> bool {
        matches!(self, Self::Deduced | Self::Untyped)
    }
}

fn free<'a>(value: Option<&Value>, map: MapAtom<'a>) -> Atom<'a> {
    match value {
        None | Some(Value::Null | Value::Object(_)) => Atom::Map(map),
        Some(Value::Array(_)) => Atom::List(ListAtom::Untyped),
        Some(Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_)) => {
            Atom::Scalar(Scalar::Untyped)
        }
    }
}

impl<'a> ListAtom<'a> {
    /// Whether it is replaced whole.
    pub(crate) fn is_atomic(self) -> bool {
        match self {
            Self::Typed(list) => matches!(list.kind, ListKind::Atomic),
            Self::Untyped => true,
        }
    }

    /// The type of its items.
    pub(crate) fn item(self) -> Type<'a> {
        match self {
            Self::Typed(list) => Type::of(&list.item.shape),
            Self::Untyped => Type::Untyped,
        }
    }
}

impl<'a> MapAtom<'a> {
    /// Whether it is replaced whole.
    pub(crate) fn is_atomic(self) -> bool {
        match self {
            Self::Struct(ty) => ty.atomic,
            Self::Map(map) => map.atomic,
            Self::Deduced => false,
            Self::Untyped => true,
        }
    }

    /// The declared field of this name.
    pub(crate) fn field(self, name: &str) -> Option<&'a Field> {
        match self {
            Self::Struct(ty) => ty.field(name),
            Self::Map(_) | Self::Deduced | Self::Untyped => None,
        }
    }

    /// The type of the member of this name; where the schema has none, the value decides.
    pub(crate) fn member(self, name: &str) -> Type<'a> {
        match self {
            Self::Struct(ty) => ty.field(name).map_or(Type::Deduced, |field| Type::of(&field.node.shape)),
            Self::Map(map) => Type::of(&map.value.shape),
            Self::Deduced => Type::Deduced,
            Self::Untyped => Type::Untyped,
        }
    }

    /// Whether the schema allows a member of this name.
    pub(crate) fn allows(self, name: &str) -> bool {
        match self {
            Self::Struct(ty) => ty.unknown.stays() || ty.field(name).is_some(),
            Self::Map(_) | Self::Deduced | Self::Untyped => true,
        }
    }
}
