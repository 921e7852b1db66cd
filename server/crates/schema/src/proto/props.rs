//! The unions of apiextensions that JSON tells apart by form and protobuf by field:
//! `JSONSchemaPropsOrBool` and its like. Their schema is that of the message that holds them.

use apiwright_json::{Object, Value};

use super::decode::message_of;
use super::encode::{message, mismatch};
use super::wire::{self, Reader, Wire};
use super::{Depth, Error, decode};
use crate::table::Struct;

/// Which union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Array,
    StringArray,
}

impl Kind {
    /// The union of an OpenAPI definition; `None` for plain JSON.
    pub(super) fn of(definition: &str) -> Option<Self> {
        match definition.rsplit('.').next() {
            Some("JSONSchemaPropsOrBool") => Some(Self::Bool),
            Some("JSONSchemaPropsOrArray") => Some(Self::Array),
            Some("JSONSchemaPropsOrStringArray") => Some(Self::StringArray),
            _ => None,
        }
    }
}

/// Appends the fields of a union.
pub(super) fn put(
    kind: Kind,
    ty: &Struct,
    value: &Value,
    depth: Depth,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let schema_number = match kind {
        Kind::Bool => 2,
        Kind::Array | Kind::StringArray => 1,
    };
    let object = value.as_object();
    if kind == Kind::Bool {
        wire::put_varint(1, u64::from(object.is_some() || value.as_bool() == Some(true)), out);
    }
    if let Some(object) = object {
        return wire::put_message(schema_number, out, |out| message(ty, object, depth, out));
    }
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    match kind {
        Kind::Bool => Ok(()),
        Kind::Array => items.iter().try_for_each(|item| {
            let object = item.as_object().ok_or_else(|| mismatch("an object"))?;
            wire::put_message(2, out, |out| message(ty, object, depth, out))
        }),
        Kind::StringArray => items.iter().try_for_each(|item| {
            let text = item.as_str().ok_or_else(|| mismatch("a string"))?;
            wire::put_bytes(2, text.as_bytes(), out);
            Ok(())
        }),
    }
}

/// The JSON form of a union's message.
pub(super) fn read(kind: Kind, ty: &Struct, bytes: &[u8], depth: Depth) -> Result<Value, Error> {
    let (mut allows, mut schema, mut items) = (false, None::<Object>, Vec::new());
    let mut reader = Reader::new(bytes, "JSONSchemaProps");
    while let Some((number, value)) = reader.next()? {
        match (kind, number, value) {
            (Kind::Bool, 1, Wire::Varint(truth)) => allows = truth != 0,
            (Kind::Bool, 2, Wire::Bytes(bytes))
            | (Kind::Array | Kind::StringArray, 1, Wire::Bytes(bytes)) => {
                schema = Some(message_of(ty, bytes, schema.unwrap_or_default(), depth)?);
            }
            (Kind::Array, 2, Wire::Bytes(bytes)) => {
                items.push(message_of(ty, bytes, Object::new(), depth)?.into());
            }
            (Kind::StringArray, 2, Wire::Bytes(bytes)) => items.push(decode::text(bytes)),
            _ => {}
        }
    }
    Ok(match (schema, kind) {
        (Some(schema), _) => schema.into(),
        (None, Kind::Bool) => allows.into(),
        (None, Kind::Array | Kind::StringArray) if items.is_empty() => Value::Null,
        (None, Kind::Array | Kind::StringArray) => items.into(),
    })
}
