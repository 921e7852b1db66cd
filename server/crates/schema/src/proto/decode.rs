//! Protobuf messages to objects.

use apiwright_json::{Object, Str, Value};
use apiwright_meta::time::Duration;
use base64::Engine as _;

use super::convert::{read_time, wrong_wire};
use super::wire::{Reader, Wire};
use super::{Depth, Error, props};
use crate::plan::Plan;
use crate::table::{Field, Map, Shape, Struct};

/// The object of a message, not yet in normal form: fields that are there have their members,
/// zero or not, in the order of the table.
///
/// # Errors
/// When the bytes are no such message.
pub fn decode_message(ty: &Struct, bytes: &[u8]) -> Result<Value, Error> {
    message_of(ty, bytes, Object::new(), Depth::default()).map(Value::from)
}

/// Reads a message on top of what came of it before: what it repeats is added, what it sets again
/// replaced.
pub(super) fn message_of(ty: &Struct, bytes: &[u8], before: Object, depth: Depth) -> Result<Object, Error> {
    let mut slots: Slots = Vec::new();
    slots.resize_with(ty.fields.len(), || None);
    for (name, value) in before {
        if let Some(at) = ty.position(&name) {
            slots[at] = Some(value);
        }
    }
    fields(ty, &mut Vec::new(), bytes, &mut slots, depth.below()?)?;
    let found = slots.iter().filter(|slot| slot.is_some()).count();
    let mut object = Object::with_capacity(found);
    for (field, slot) in ty.fields.iter().zip(slots) {
        if let Some(value) = slot {
            object.push(&*field.name, value);
        }
    }
    Ok(object)
}

/// What was read of each field of a type.
type Slots = Vec<Option<Value>>;

/// Reads the fields of a message, or of one that JSON leaves out, at `path` within it.
fn fields(
    ty: &Struct,
    path: &mut Vec<u32>,
    bytes: &[u8],
    slots: &mut Slots,
    depth: Depth,
) -> Result<(), Error> {
    let name = ty.name.rsplit('.').next().unwrap_or_default();
    let wire = &Plan::of(ty).wire;
    let mut reader = Reader::new(bytes, name);
    let mut last = 0;
    while let Some((number, value)) = reader.next()? {
        if let Some(at) = find(ty, wire, path, number, last) {
            last = at;
            let at = usize::from(wire[at]);
            read_field(ty, &ty.fields[at], value, &mut slots[at], depth)?;
        } else if nests(ty, path, number)
            && let Wire::Bytes(bytes) = value
        {
            path.push(number);
            fields(ty, path, bytes, slots, depth.below()?)?;
            path.pop();
        }
    }
    Ok(())
}

/// Where in the type's fields by number that of a number is; they mostly come in this order.
fn find(ty: &Struct, fields: &[u16], path: &[u32], number: u32, last: usize) -> Option<usize> {
    // The numbers first: comparing paths is a call.
    let is_it = |at: &u16| match ty.fields[usize::from(*at)].proto {
        Some(proto) if proto.tag != number || proto.within.len() != path.len() => false,
        Some(proto) => path.is_empty() || proto.within == path,
        None => false,
    };
    let after = fields[last..].iter().position(is_it).map(|at| at + last);
    after.or_else(|| fields[..last].iter().position(is_it))
}

/// Whether fields are nested in the message of a number.
fn nests(ty: &Struct, path: &[u32], number: u32) -> bool {
    ty.fields.iter().filter_map(|field| field.proto).any(|proto| {
        proto.within.len() > path.len()
            && proto.within.starts_with(path)
            && proto.within[path.len()] == number
    })
}

fn read_field(
    ty: &Struct,
    field: &Field,
    value: Wire<'_>,
    slot: &mut Option<Value>,
    depth: Depth,
) -> Result<(), Error> {
    match &field.node.shape {
        Shape::List(list) => {
            let Value::Array(items) = slot.get_or_insert_with(|| Value::Array(Vec::new())) else {
                return Ok(());
            };
            match (&list.item.shape, value) {
                // Packed or not, numbers are numbers.
                (Shape::Int32 | Shape::Int64 | Shape::Bool, Wire::Bytes(packed)) => {
                    unpack(&list.item.shape, packed, items)?;
                }
                (shape, value) => items.push(single(ty, field, shape, value, None, depth)?),
            }
        }
        Shape::Map(map) => {
            let Wire::Bytes(entry) = value else { return Err(wrong_wire(value, &go_name(field))) };
            let (key, value) = map_entry(ty, field, map, entry, depth)?;
            if let Value::Object(entries) = slot.get_or_insert_with(|| Value::Object(Object::new())) {
                insert(entries, key, value);
            }
        }
        shape => *slot = Some(single(ty, field, shape, value, slot.take(), depth)?),
    }
    Ok(())
}

/// Adds a map entry: they mostly come sorted, so that looking at the last is enough.
fn insert(entries: &mut Object, key: Str, value: Value) {
    if entries.members().last().is_none_or(|(last, _)| *last < key) {
        entries.push(key, value);
    } else {
        entries.insert(key, value);
    }
}

fn unpack(shape: &Shape, packed: &[u8], items: &mut Vec<Value>) -> Result<(), Error> {
    let mut at = 0;
    while at < packed.len() {
        let end = packed[at..].iter().position(|byte| *byte < 0x80).map(|end| at + end + 1);
        let Some(end) = end else { return Err(Error::new("unexpected EOF")) };
        if end - at > 10 {
            return Err(Error::new("proto: integer overflow"));
        }
        let number =
            packed[at..end].iter().rev().fold(0u64, |number, byte| number << 7 | u64::from(byte & 0x7f));
        items.push(scalar(shape, number));
        at = end;
    }
    Ok(())
}

fn scalar(shape: &Shape, number: u64) -> Value {
    match shape {
        Shape::Bool => Value::Bool(number != 0),
        Shape::Int32 => Value::Int(i64::from(number as i32)),
        _ => Value::Int(number as i64),
    }
}

fn map_entry(
    ty: &Struct,
    field: &Field,
    map: &Map,
    entry: &[u8],
    depth: Depth,
) -> Result<(Str, Value), Error> {
    let depth = depth.below()?;
    let (mut key, mut value) = (Str::default(), None);
    let mut reader = Reader::new(entry, "");
    while let Some((number, found)) = reader.next()? {
        match (number, found) {
            (1, Wire::Bytes(bytes)) => key = Str::from_utf8_lossy(bytes),
            (2, found) => {
                value = Some(match (&map.value.shape, found) {
                    (Shape::List(list), Wire::Bytes(bytes)) => {
                        let mut items = Vec::new();
                        let mut reader = Reader::new(bytes, "");
                        while let Some((number, item)) = reader.next()? {
                            if number == 1 {
                                items.push(single(ty, field, &list.item.shape, item, None, depth)?);
                            }
                        }
                        items.into()
                    }
                    (shape, found) => single(ty, field, shape, found, None, depth)?,
                });
            }
            _ => {}
        }
    }
    Ok((key, value.unwrap_or_else(|| absent(&map.value.shape))))
}

/// What a map entry without a value has.
fn absent(shape: &Shape) -> Value {
    match shape {
        Shape::Bool => false.into(),
        Shape::Int32 | Shape::Int64 | Shape::Double | Shape::IntOrString => Value::Int(0),
        Shape::String(_) => "".into(),
        Shape::Quantity => "0".into(),
        Shape::Struct(_) => Object::new().into(),
        Shape::Duration => "0s".into(),
        Shape::Bytes
        | Shape::Time
        | Shape::MicroTime
        | Shape::Any(_)
        | Shape::RawObject
        | Shape::FieldsV1
        | Shape::List(_)
        | Shape::Map(_) => Value::Null,
    }
}

/// One value; `before` is the message that it continues, if it came in parts.
fn single(
    ty: &Struct,
    field: &Field,
    shape: &Shape,
    value: Wire<'_>,
    before: Option<Value>,
    depth: Depth,
) -> Result<Value, Error> {
    Ok(match (shape, value) {
        (Shape::Bool | Shape::Int32 | Shape::Int64, Wire::Varint(number)) => scalar(shape, number),
        (Shape::Double, Wire::Fixed64(bits)) => double(f64::from_bits(bits)),
        (Shape::String(_), Wire::Bytes(bytes)) => text(bytes),
        (Shape::Bytes, Wire::Bytes(bytes)) => base64::engine::general_purpose::STANDARD.encode(bytes).into(),
        (Shape::Time, Wire::Bytes(bytes)) => read_time(bytes, false)?,
        (Shape::MicroTime, Wire::Bytes(bytes)) => read_time(bytes, true)?,
        (Shape::Duration, Wire::Bytes(bytes)) => Duration::from_nanos(duration(bytes)?).to_string().into(),
        (Shape::Quantity, Wire::Bytes(bytes)) => first_bytes(bytes, "Quantity")?.map_or("0".into(), text),
        (Shape::IntOrString, Wire::Bytes(bytes)) => int_or_string(bytes)?,
        (Shape::RawObject | Shape::FieldsV1, Wire::Bytes(bytes)) => raw(bytes)?,
        (Shape::Any(name), Wire::Bytes(bytes)) => match props::Kind::of(name) {
            Some(kind) => props::read(kind, ty, bytes, depth)?,
            None => raw(bytes)?,
        },
        (Shape::Struct(ty), Wire::Bytes(bytes)) => {
            let before = match before {
                Some(Value::Object(object)) => object,
                _ => Object::new(),
            };
            message_of(ty, bytes, before, depth)?.into()
        }
        (_, other) => return Err(wrong_wire(other, &go_name(field))),
    })
}

/// Go's name of a field, as near as its JSON name gives it.
fn go_name(field: &Field) -> String {
    let mut chars = field.name.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A string; what is no UTF-8 becomes U+FFFD, as in Go's JSON.
pub(super) fn text(bytes: &[u8]) -> Value {
    Value::String(std::str::from_utf8(bytes).map_or_else(|_| Str::from_utf8_lossy(bytes), Str::from))
}

fn double(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9.0e15 {
        Value::Int(number as i64)
    } else {
        Value::Float(number)
    }
}

/// The bytes of the first field of a message.
fn first_bytes<'a>(bytes: &'a [u8], name: &'a str) -> Result<Option<&'a [u8]>, Error> {
    let mut found = None;
    let mut reader = Reader::new(bytes, name);
    while let Some((number, value)) = reader.next()? {
        if number == 1 {
            let Wire::Bytes(bytes) = value else { return Err(wrong_wire(value, "Raw")) };
            found = Some(bytes);
        }
    }
    Ok(found)
}

/// Leaves room for the messages around it, which become up to two levels of JSON each.
const RAW_DEPTH_MAX: usize = apiwright_json::decode::DEPTH_MAX - 2 * Depth::MAX as usize;

/// JSON that a message holds as bytes.
fn raw(bytes: &[u8]) -> Result<Value, Error> {
    match first_bytes(bytes, "RawExtension")? {
        None => Ok(Value::Null),
        Some(json) => match apiwright_json::decode(json) {
            // All of the object will be JSON, which may nest so deep and no deeper.
            Ok((value, _)) if value.depth() > RAW_DEPTH_MAX => Err(Error::new("exceeded max depth")),
            Ok((value, _)) => Ok(value),
            Err(error) => Err(Error(error.message)),
        },
    }
}

fn duration(bytes: &[u8]) -> Result<i64, Error> {
    let mut duration = 0;
    let mut reader = Reader::new(bytes, "Duration");
    while let Some((number, value)) = reader.next()? {
        match (number, value) {
            (1, Wire::Varint(number)) => duration = number as i64,
            (1, other) => return Err(wrong_wire(other, "Duration")),
            _ => {}
        }
    }
    Ok(duration)
}

fn int_or_string(bytes: &[u8]) -> Result<Value, Error> {
    let (mut kind, mut number, mut string) = (0, 0, Value::from(""));
    let mut reader = Reader::new(bytes, "IntOrString");
    while let Some((field, value)) = reader.next()? {
        match (field, value) {
            (1, Wire::Varint(found)) => kind = found as i64,
            (2, Wire::Varint(found)) => number = found as i32,
            (3, Wire::Bytes(found)) => string = text(found),
            (1, other) => return Err(wrong_wire(other, "Type")),
            (2, other) => return Err(wrong_wire(other, "IntVal")),
            (3, other) => return Err(wrong_wire(other, "StrVal")),
            _ => {}
        }
    }
    match kind {
        0 => Ok(Value::Int(number.into())),
        1 => Ok(string),
        _ => Err(Error::new("impossible IntOrString.Type")),
    }
}
