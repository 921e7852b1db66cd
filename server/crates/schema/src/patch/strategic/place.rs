//! Where in the types a merge is, as far as merging needs to know.

use super::Error;
use crate::go;
use crate::table::Patch;
use crate::{Node, Shape, Struct};

/// A type that objects merge at.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// A struct, whose fields are known.
    Struct(&'a Struct),
    /// A struct of Go's whose fields are none of the API's; its name.
    Opaque(&'a str),
    /// Something else, as `reflect.Kind` calls it.
    Other(&'static str),
}

impl<'a> Place<'a> {
    /// What a member holds, and how it merges.
    pub(super) fn below(self, name: &str) -> Result<(Self, Option<&'a Patch>), Error> {
        let (node, patch) = self.field(name)?;
        Ok((Self::of(node), patch))
    }

    /// What the items of a list member are, and how it merges.
    pub(super) fn items(self, name: &str) -> Result<(Self, Option<&'a Patch>), Error> {
        let (node, patch) = self.field(name)?;
        match &node.shape {
            Shape::List(list) if matches!(list.item.shape, Shape::List(_)) => {
                Err(Error::Unclassified("unexpected slice of slice".into()))
            }
            Shape::List(list) => Ok((Self::of(&list.item), patch)),
            _ => Err(Error::Unclassified(format!("expected slice or array type, but got: {}", self.kind()))),
        }
    }

    /// The kind, for errors.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Struct(_) | Self::Opaque(_) => "struct",
            Self::Other(kind) => kind,
        }
    }

    fn field(self, name: &str) -> Result<(&'a Node, Option<&'a Patch>), Error> {
        let owner = match self {
            Self::Struct(ty) => {
                let alike = || ty.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name));
                if let Some(field) = ty.field(name).or_else(alike) {
                    return Ok((&field.node, field.patch.as_ref()));
                }
                go::struct_name(ty)
            }
            Self::Opaque(name) => name,
            Self::Other(kind) => {
                return Err(Error::Unclassified(format!(
                    "merging an object in json but data type is not struct, instead is: {kind}"
                )));
            }
        };
        let name = apiwright_meta::field::quoted(name);
        Err(Error::Unclassified(format!(
            "unable to find api field in struct {owner} for the json field {name}"
        )))
    }

    fn of(node: &'a Node) -> Self {
        match &node.shape {
            Shape::Struct(ty) => Self::Struct(ty),
            Shape::Map(_) => Self::Other("map"),
            Shape::List(_) | Shape::Bytes => Self::Other("slice"),
            Shape::Bool => Self::Other("bool"),
            Shape::Int32 => Self::Other("int32"),
            Shape::Int64 => Self::Other("int64"),
            Shape::Double => Self::Other("float64"),
            Shape::String(_) => Self::Other("string"),
            Shape::Time | Shape::MicroTime => Self::Opaque("Time"),
            Shape::Duration => Self::Opaque("Duration"),
            Shape::Quantity => Self::Opaque("Quantity"),
            Shape::IntOrString => Self::Opaque("IntOrString"),
            Shape::RawObject => Self::Opaque("RawExtension"),
            Shape::FieldsV1 => Self::Opaque("FieldsV1"),
            Shape::Any(name) => Self::Opaque(name.rsplit('.').next().unwrap_or_default()),
        }
    }
}
