//! Objects to protobuf messages.

use apiwright_json::{Object, Value};
use apiwright_meta::time::Duration;
use base64::Engine as _;

use super::{Depth, Error, convert, props, wire};
use crate::plan::Plan;
use crate::table::{Field, Map, Shape, Struct};

/// Appends the message of an object in normal form.
///
/// # Errors
/// When a value is not one that the type has, for instance a time that cannot be read.
pub fn encode_message(ty: &Struct, object: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    const NONE: &Object = &Object::new();
    message(ty, object.as_object().unwrap_or(NONE), Depth::default(), out)
}

/// Appends the fields of a message.
pub(super) fn message(ty: &Struct, object: &Object, depth: Depth, out: &mut Vec<u8>) -> Result<(), Error> {
    let depth = depth.below()?;
    let plan = Plan::of(ty);
    let mut values: Vec<Option<&Value>> = vec![None; ty.fields.len()];
    for (name, value) in object.iter().filter(|member| !member.1.is_null()) {
        if let Some(at) = plan.position(ty, name) {
            values[at] = Some(value);
        }
    }
    let writer = Writer { ty, depth };
    grouped(ty, &plan.wire, 0, out, &mut |at, out| {
        let (field, value) = (&ty.fields[usize::from(at)], values[usize::from(at)]);
        let number = field.proto.map_or(0, |proto| proto.tag);
        writer.field(field, number, value, out).map_err(|error| Error(format!("{}: {error}", &*field.name)))
    })
}

/// Writes the field at an index.
type WriteField<'a> = dyn FnMut(u16, &mut Vec<u8>) -> Result<(), Error> + 'a;

/// Calls `write` for each of these fields, all of which are nested the same way down to `nesting`; appends
/// what protobuf nests them in, which is always there.
pub(super) fn grouped(
    ty: &Struct,
    mut fields: &[u16],
    nesting: usize,
    out: &mut Vec<u8>,
    write: &mut WriteField<'_>,
) -> Result<(), Error> {
    let around =
        |at: u16| ty.fields[usize::from(at)].proto.and_then(|proto| proto.within.get(nesting).copied());
    while let [at, rest @ ..] = fields {
        fields = match around(*at) {
            None => {
                write(*at, out)?;
                rest
            }
            Some(number) => {
                let count = fields.iter().take_while(|at| around(**at) == Some(number)).count();
                let (nested, rest) = fields.split_at(count);
                wire::put_message(number, out, |out| grouped(ty, nested, nesting + 1, out, write))?;
                rest
            }
        };
    }
    Ok(())
}

/// Writes the fields of one message.
pub(super) struct Writer<'a> {
    /// The message's type.
    pub(super) ty: &'a Struct,
    /// How deep it is nested.
    pub(super) depth: Depth,
}

impl Writer<'_> {
    /// Writes a field, which may be absent.
    pub(super) fn field(
        &self,
        field: &Field,
        number: u32,
        value: Option<&Value>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let shape = &field.node.shape;
        match (shape, value) {
            (Shape::List(list), Some(Value::Array(items))) => {
                items.iter().try_for_each(|item| self.single(&list.item.shape, number, item, out))
            }
            (Shape::Map(map), Some(Value::Object(entries))) => self.map_entries(map, number, entries, out),
            (Shape::List(_) | Shape::Map(_), Some(_)) => Err(mismatch("a list or map")),
            (_, Some(value)) => self.single(shape, number, value, out),
            (_, None) if field.pointer => Ok(()),
            (_, None) => zero(shape, number, self.depth, out),
        }
    }

    fn map_entries(&self, map: &Map, number: u32, entries: &Object, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut sorted: Vec<_> = entries.iter().collect();
        sorted.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        for (key, value) in sorted {
            wire::put_message(number, out, |out| {
                wire::put_bytes(1, key.as_bytes(), out);
                match (&map.value.shape, value) {
                    // A list cannot be a map's value: it is the items of a message.
                    (Shape::List(list), value) => wire::put_message(2, out, |out| {
                        let items = value.as_array().map_or(&[][..], Vec::as_slice);
                        items.iter().try_for_each(|item| self.single(&list.item.shape, 1, item, out))
                    }),
                    (shape, Value::Null) => zero(shape, 2, self.depth, out),
                    (shape, value) => self.single(shape, 2, value, out),
                }
            })?;
        }
        Ok(())
    }

    /// A value that is there.
    fn single(&self, shape: &Shape, number: u32, value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
        match shape {
            Shape::Bool => wire::put_varint(number, u64::from(value.as_bool() == Some(true)), out),
            Shape::Int32 | Shape::Int64 => wire::put_varint(number, integer(value)? as u64, out),
            Shape::Double => wire::put_fixed64(number, double(value)?.to_bits(), out),
            Shape::String(_) => wire::put_bytes(number, text(value)?.as_bytes(), out),
            Shape::Bytes => {
                let bytes = base64::engine::general_purpose::STANDARD
                    .decode(text(value)?)
                    .map_err(|_| mismatch("base64"))?;
                wire::put_bytes(number, &bytes, out);
            }
            Shape::Time => return wire::put_message(number, out, |out| convert::put_time(value, false, out)),
            Shape::MicroTime => {
                return wire::put_message(number, out, |out| convert::put_time(value, true, out));
            }
            Shape::Duration => {
                let duration = Duration::parse(text(value)?).map_err(Error)?;
                return wire::put_message(number, out, |out| {
                    wire::put_varint(1, duration.nanos() as u64, out);
                    Ok(())
                });
            }
            Shape::Quantity => {
                return wire::put_message(number, out, |out| {
                    match value {
                        Value::Int(number) => wire::put_bytes(1, number.to_string().as_bytes(), out),
                        value => wire::put_bytes(1, text(value)?.as_bytes(), out),
                    }
                    Ok(())
                });
            }
            Shape::IntOrString => return wire::put_message(number, out, |out| int_or_string(value, out)),
            Shape::RawObject | Shape::FieldsV1 => return raw(number, value, out),
            Shape::Any(name) => match props::Kind::of(name) {
                Some(kind) => {
                    return wire::put_message(number, out, |out| {
                        props::put(kind, self.ty, value, self.depth, out)
                    });
                }
                None => return raw(number, value, out),
            },
            Shape::Struct(ty) => {
                let object = value.as_object().ok_or_else(|| mismatch("an object"))?;
                return wire::put_message(number, out, |out| message(ty, object, self.depth, out));
            }
            Shape::List(_) | Shape::Map(_) => return Err(mismatch("a scalar or message")),
        }
        Ok(())
    }
}

/// A value that is no pointer and not there: it is written all the same, but for lists, maps and bytes.
pub(super) fn zero(shape: &Shape, number: u32, depth: Depth, out: &mut Vec<u8>) -> Result<(), Error> {
    match shape {
        Shape::Bool | Shape::Int32 | Shape::Int64 => wire::put_varint(number, 0, out),
        Shape::Double => wire::put_fixed64(number, 0, out),
        Shape::String(_) | Shape::Time | Shape::MicroTime | Shape::RawObject | Shape::FieldsV1 => {
            wire::put_bytes(number, &[], out);
        }
        Shape::Duration => {
            return wire::put_message(number, out, |out| {
                wire::put_varint(1, 0, out);
                Ok(())
            });
        }
        Shape::Quantity => {
            return wire::put_message(number, out, |out| {
                wire::put_bytes(1, b"0", out);
                Ok(())
            });
        }
        Shape::IntOrString => {
            return wire::put_message(number, out, |out| int_or_string(&Value::Int(0), out));
        }
        Shape::Struct(ty) => {
            return wire::put_message(number, out, |out| message(ty, &Object::new(), depth, out));
        }
        Shape::Any(_) => wire::put_bytes(number, &[], out),
        Shape::Bytes | Shape::List(_) | Shape::Map(_) => {}
    }
    Ok(())
}

/// A message that holds JSON as bytes.
fn raw(number: u32, value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    wire::put_message(number, out, |out| {
        let mut json = Vec::new();
        apiwright_json::to_bytes(value, &mut json);
        wire::put_bytes(1, &json, out);
        Ok(())
    })
}

fn int_or_string(value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    let (kind, number, text) = match value {
        Value::String(text) => (1, 0, text.as_str()),
        value => (0, integer(value)?, ""),
    };
    wire::put_varint(1, kind, out);
    wire::put_varint(2, number as u64, out);
    wire::put_bytes(3, text.as_bytes(), out);
    Ok(())
}

fn integer(value: &Value) -> Result<i64, Error> {
    match value {
        Value::Int(number) => Ok(*number),
        Value::Float(number) if number.fract() == 0.0 => Ok(*number as i64),
        _ => Err(mismatch("an integer")),
    }
}

fn double(value: &Value) -> Result<f64, Error> {
    match value {
        Value::Int(number) => Ok(*number as f64),
        Value::Float(number) => Ok(*number),
        _ => Err(mismatch("a number")),
    }
}

fn text(value: &Value) -> Result<&str, Error> {
    value.as_str().ok_or_else(|| mismatch("a string"))
}

pub(super) fn mismatch(expected: &str) -> Error {
    Error(format!("expected {expected}"))
}
