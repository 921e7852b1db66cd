//! Whether a message that a protobuf library read says what an object says, and nothing else.

use std::borrow::Cow;

use apiwright_json::{Object, Value, to_string};
use apiwright_meta::time::{Duration, Time};
use apiwright_schema::{Field, Shape, Struct};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::{DynamicMessage, MapKey, Value as Read};

use crate::descriptors::union;

/// Compares an object in normal form with its message.
///
/// # Errors
/// The first difference: where it is, and what is there.
pub fn agree(ty: &Struct, object: &Object, message: &DynamicMessage) -> Result<(), String> {
    if let Some(unknown) = message.unknown_fields().next() {
        return Err(format!("unknown field {}", unknown.number()));
    }
    for field in ty.fields.iter() {
        let Some(proto) = field.proto else { continue };
        let inner = proto.within.iter().try_fold(message.clone(), |at, number| {
            match at.get_field_by_number(*number) {
                Some(value) if at.has_field_by_number(*number) => value.as_message().cloned(),
                _ => None,
            }
        });
        let inner = inner.ok_or_else(|| format!("{}: nothing around it", &*field.name))?;
        let has = inner.has_field_by_number(proto.tag);
        let read = inner.get_field_by_number(proto.tag).ok_or("no such field")?;
        member(ty, field, object.get(&field.name), has.then_some(&*read))
            .map_err(|why| format!("{}: {why}", &*field.name))?;
    }
    Ok(())
}

fn member(of: &Struct, field: &Field, json: Option<&Value>, read: Option<&Read>) -> Result<(), String> {
    const NO_ITEMS: &[Value] = &[];
    match (&field.node.shape, json, read) {
        (Shape::List(list), json, read) => {
            let items = json.and_then(Value::as_array).map_or(NO_ITEMS, Vec::as_slice);
            let found = read.and_then(Read::as_list).unwrap_or_default();
            same(items.len(), found.len())?;
            items.iter().zip(found).try_for_each(|(item, found)| single(of, &list.item.shape, item, found))
        }
        (Shape::Map(map), json, read) => {
            let empty = Object::new();
            let members = json.and_then(Value::as_object).unwrap_or(&empty);
            let found = read.and_then(Read::as_map);
            same(members.len(), found.map_or(0, std::collections::HashMap::len))?;
            members.iter().try_for_each(|(key, value)| {
                let found = found.and_then(|found| found.get(&MapKey::String(key.to_string())));
                let found = found.ok_or_else(|| format!("{key}: absent"))?;
                match (&map.value.shape, found.as_message()) {
                    (Shape::List(list), Some(items)) => {
                        let found = items.get_field_by_number(1).ok_or("no items")?;
                        let found = found.as_list().unwrap_or_default();
                        let items = value.as_array().map_or(NO_ITEMS, Vec::as_slice);
                        same(items.len(), found.len())?;
                        items
                            .iter()
                            .zip(found)
                            .try_for_each(|(item, found)| single(of, &list.item.shape, item, found))
                    }
                    (shape, _) => single(of, shape, value, found),
                }
            })
        }
        (_, None | Some(Value::Null), None) => match field.node.shape {
            Shape::Bytes => Ok(()),
            _ if field.pointer => Ok(()),
            _ => Err("a value that is no pointer is not there".into()),
        },
        (_, None | Some(Value::Null), Some(_)) if field.pointer => {
            Err("a pointer that is not there is".into())
        }
        (shape, None | Some(Value::Null), Some(read)) => zero(shape, read),
        (_, Some(json), None) => Err(format!("{} is absent", to_string(json))),
        (shape, Some(json), Some(read)) => single(of, shape, json, read),
    }
}

/// What is there without being anything.
fn zero(shape: &Shape, read: &Read) -> Result<(), String> {
    match (shape, read) {
        (Shape::Bool, Read::Bool(false)) | (Shape::Int32, Read::I32(0)) | (Shape::Int64, Read::I64(0)) => {
            Ok(())
        }
        (Shape::Double, Read::F64(number)) if *number == 0.0 => Ok(()),
        (Shape::String(_), Read::String(text)) if text.is_empty() => Ok(()),
        (Shape::Struct(ty), Read::Message(message)) => agree(ty, &Object::new(), message),
        (Shape::Duration, _) => single_text(&number(read, 1)?, "0"),
        (Shape::Quantity, Read::Message(_)) => single_text(&text_of(read, 1)?, "0"),
        (Shape::IntOrString, Read::Message(_)) => single_text(&number(read, 2)?, "0"),
        (
            Shape::Time | Shape::MicroTime | Shape::RawObject | Shape::FieldsV1 | Shape::Any(_),
            Read::Message(message),
        ) => {
            if message.fields().next().is_none() {
                Ok(())
            } else {
                Err("not empty".into())
            }
        }
        (_, read) => Err(format!("{read:?} is no zero value")),
    }
}

fn single(of: &Struct, shape: &Shape, json: &Value, read: &Read) -> Result<(), String> {
    match (shape, read) {
        (_, read) if json.is_null() => zero(shape, read),
        (Shape::Bool, Read::Bool(found)) => same(json.as_bool(), Some(*found)),
        (Shape::Int32, Read::I32(found)) => same(json.as_i64(), Some(i64::from(*found))),
        (Shape::Int64, Read::I64(found)) => same(json.as_i64(), Some(*found)),
        (Shape::Double, Read::F64(found)) => match json {
            Value::Int(number) => same(*number as f64, *found),
            Value::Float(number) => same(*number, *found),
            other => Err(format!("{other:?} is no number")),
        },
        (Shape::String(_), Read::String(found)) => same(json.as_str(), Some(found.as_str())),
        (Shape::Bytes, Read::Bytes(found)) => same(json.as_str(), Some(&*STANDARD.encode(found))),
        (Shape::Time, Read::Message(_)) => {
            same(Time::parse(text(json)).map(|time| time.seconds.to_string()), Ok(number(read, 1)?))
        }
        (Shape::MicroTime, Read::Message(_)) => {
            let time = Time::parse_micro(text(json))?;
            same((time.seconds.to_string(), time.nanos.to_string()), (number(read, 1)?, number(read, 2)?))
        }
        (Shape::Duration, Read::Message(_)) => {
            same(Duration::parse(text(json)).map(|one| one.nanos().to_string()), Ok(number(read, 1)?))
        }
        (Shape::Quantity, Read::Message(_)) => same(text(json), &*text_of(read, 1)?),
        (Shape::IntOrString, Read::Message(_)) => match json {
            Value::Int(port) => same(("0".into(), port.to_string()), (number(read, 1)?, number(read, 2)?)),
            json => same(("1".into(), text(json).to_owned()), (number(read, 1)?, text_of(read, 3)?)),
        },
        (Shape::RawObject | Shape::FieldsV1, Read::Message(_)) => raw(json, read),
        (Shape::Any(name), Read::Message(message)) => match union(name) {
            "Raw" => raw(json, read),
            kind => choice(of, kind, json, message),
        },
        (Shape::Struct(ty), Read::Message(message)) => {
            agree(ty, json.as_object().ok_or("no object")?, message)
        }
        (_, read) => Err(format!("{read:?} for {}", to_string(json))),
    }
}

/// A schema, or something that stands for many.
fn choice(schema: &Struct, kind: &str, json: &Value, message: &DynamicMessage) -> Result<(), String> {
    let at = |number: u32| {
        message
            .get_field_by_number(number)
            .filter(|_| message.has_field_by_number(number))
            .map(Cow::into_owned)
    };
    let number = if kind == "OrBool" { 2 } else { 1 };
    match json {
        Value::Object(object) => {
            let found = at(number).ok_or("no schema")?;
            agree(schema, object, found.as_message().ok_or("no message")?)
        }
        Value::Bool(truth) => same(at(1).and_then(|found| found.as_bool()), Some(*truth)),
        Value::Array(items) => {
            let found = at(2).unwrap_or(Read::List(Vec::new()));
            let found = found.as_list().unwrap_or_default();
            same(items.len(), found.len())?;
            items.iter().zip(found).try_for_each(|(item, found)| match (item, found) {
                (Value::String(text), Read::String(found)) => same(text.as_str(), found.as_str()),
                (Value::Object(object), Read::Message(found)) => agree(schema, object, found),
                _ => Err(format!("{found:?} for {}", to_string(item))),
            })
        }
        other => Err(format!("{} is no choice", to_string(other))),
    }
}

fn raw(json: &Value, read: &Read) -> Result<(), String> {
    let message = read.as_message().ok_or("no message")?;
    let found = message.get_field_by_number(1).ok_or("no raw")?;
    let (found, _) =
        apiwright_json::decode(found.as_bytes().ok_or("no bytes")?).map_err(|why| why.to_string())?;
    same(json, &found)
}

fn number(read: &Read, field: u32) -> Result<String, String> {
    let message = read.as_message().ok_or("no message")?;
    let found = message.get_field_by_number(field).ok_or("no such field")?;
    found
        .as_i64()
        .or_else(|| found.as_i32().map(i64::from))
        .map(|number| number.to_string())
        .ok_or("no number".into())
}

fn text_of(read: &Read, field: u32) -> Result<String, String> {
    let message = read.as_message().ok_or("no message")?;
    let found = message.get_field_by_number(field).ok_or("no such field")?;
    found.as_str().map(str::to_owned).ok_or("no text".into())
}

fn text(json: &Value) -> &str {
    json.as_str().unwrap_or_default()
}

fn single_text(found: &str, expected: &str) -> Result<(), String> {
    same(found, expected)
}

fn same<T: PartialEq + std::fmt::Debug>(expected: T, found: T) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("{found:?}, not {expected:?}")) }
}
