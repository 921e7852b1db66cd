//! Scalars: whether a value is one of its type, and its canonical spelling.

use apiwright_json::{Str, Value};

use super::{base64, spelling};
use crate::go;
use crate::{Node, Shape};

/// Why a value is no scalar of a type.
pub(super) enum Fault {
    /// It is of another type. `late` faults are told when the walk has ended, others at once.
    Type {
        /// What the value is.
        found: String,
        /// What it should be.
        wanted: String,
        /// Whether the walk goes on.
        late: bool,
    },
    /// It cannot be parsed; ends the walk.
    Text(String),
    /// It cannot be parsed, told when the walk has ended.
    Late(String),
}

/// Decodes as Go's JSON decoder does.
pub(super) fn decode(node: &Node, value: Value) -> Result<Value, Fault> {
    match (&node.shape, value) {
        (Shape::Bool, value @ Value::Bool(_))
        | (Shape::String(_), value @ Value::String(_))
        | (Shape::Int64 | Shape::Double, value @ Value::Int(_))
        | (Shape::Any(_) | Shape::RawObject | Shape::FieldsV1, value) => Ok(value),
        (Shape::Int32, Value::Int(number)) if i32::try_from(number).is_ok() => Ok(Value::Int(number)),
        (Shape::Double, Value::Float(number)) => Ok(float(number)),
        (Shape::Int32 | Shape::Int64, value @ (Value::Int(_) | Value::Float(_))) => Err(Fault::Type {
            found: format!("number {}", literal(&value)),
            wanted: go::type_name(node),
            late: true,
        }),
        (Shape::Bytes, Value::String(text)) => bytes(text).map_err(Fault::Late),
        (Shape::Bytes, Value::Array(items)) => byte_list(&items, node),
        (
            Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Double | Shape::String(_) | Shape::Bytes,
            value,
        ) => Err(Fault::Type { found: value.go_kind().into(), wanted: go::type_name(node), late: true }),
        (_, value) => own_decoder(node, value),
    }
}

/// Converts as upstream's converter of unstructured objects does.
pub(super) fn convert(node: &Node, value: Value) -> Result<Value, Fault> {
    match (&node.shape, value) {
        (Shape::Bool, value @ Value::Bool(_))
        | (Shape::String(_), value @ Value::String(_))
        | (Shape::Int64 | Shape::Double, value @ Value::Int(_))
        | (Shape::Any(_) | Shape::RawObject | Shape::FieldsV1, value) => Ok(value),
        (Shape::Int32, Value::Int(number)) => Ok(Value::Int(i64::from(number as i32))),
        (Shape::Double, Value::Float(number)) => Ok(float(number)),
        (Shape::Int32, Value::Float(number)) if number.fract() == 0.0 => {
            Ok(Value::Int(i64::from(number as i64 as i32)))
        }
        (Shape::Int64, Value::Float(number)) if number.fract() == 0.0 => Ok(Value::Int(number as i64)),
        (Shape::Int32 | Shape::Int64, Value::Float(_)) => {
            Err(Fault::Text(format!("cannot convert float64 to {}", go::type_name(node))))
        }
        (Shape::String(_), Value::Int(_)) => {
            Err(Fault::Text(format!("cannot convert int64 to {}", go::type_name(node))))
        }
        (Shape::Bytes, Value::String(text)) => {
            bytes(text).map_err(|fault| Fault::Text(format!("error decoding from json: {fault}")))
        }
        (Shape::Bytes, value) => Err(Fault::Text(format!("cannot restore slice from {}", go::kind(&value)))),
        (Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Double | Shape::String(_), _) => {
            Err(Fault::Text(format!("unrecognized type: {}", go_kind(&node.shape))))
        }
        (_, value) => own_decoder(node, value).map_err(|fault| match fault {
            Fault::Type { found, wanted, .. } => {
                Fault::Text(format!("json: cannot unmarshal {found} into Go value of type {wanted}"))
            }
            other => other,
        }),
    }
}

/// Types that bring a decoder of their own; what it finds ends the walk.
fn own_decoder(node: &Node, value: Value) -> Result<Value, Fault> {
    let text = |value: Value| match value {
        Value::String(text) => Ok(text),
        other => Err(Fault::Type { found: other.go_kind().into(), wanted: "string".into(), late: false }),
    };
    match node.shape {
        Shape::Quantity => {
            let text = match value {
                Value::String(text) => text,
                other => Str::from(literal(&other)),
            };
            canonical(text, spelling::quantity)
        }
        Shape::Time => canonical(text(value)?, spelling::time),
        Shape::MicroTime => canonical(text(value)?, spelling::micro_time),
        Shape::Duration => canonical(text(value)?, spelling::duration),
        Shape::IntOrString => match value {
            Value::Int(number) if i32::try_from(number).is_ok() => Ok(value),
            Value::String(_) => Ok(value),
            Value::Int(_) | Value::Float(_) => Err(Fault::Type {
                found: format!("number {}", literal(&value)),
                wanted: "int32".into(),
                late: false,
            }),
            other => Err(Fault::Type { found: other.go_kind().into(), wanted: "int32".into(), late: false }),
        },
        _ => Ok(value),
    }
}

/// A text in its canonical spelling, kept as it is where it has that already; null where there is
/// nothing to spell.
fn canonical(text: Str, spell: impl Fn(&str) -> Result<String, String>) -> Result<Value, Fault> {
    let spelt = spell(&text).map_err(Fault::Text)?;
    Ok(match spelt.is_empty() {
        true => Value::Null,
        false if *spelt == *text => Value::String(text),
        false => Value::String(spelt.into()),
    })
}

fn bytes(text: Str) -> Result<Value, String> {
    match base64::canonical(&text) {
        Ok(None) => Ok(Value::String(text)),
        Ok(Some(spelt)) => Ok(Value::String(spelt.into())),
        Err(at) => Err(format!("illegal base64 data at input byte {at}")),
    }
}

/// Go also reads a list of numbers as bytes.
fn byte_list(items: &[Value], node: &Node) -> Result<Value, Fault> {
    let byte = |item: &Value| match item {
        Value::Null => Ok(0),
        Value::Int(number) => u8::try_from(*number).map_err(|_| format!("number {number}")),
        Value::Float(_) => Err(format!("number {}", literal(item))),
        other => Err(other.go_kind().to_owned()),
    };
    let bytes: Result<Vec<u8>, String> = items.iter().map(byte).collect();
    match bytes {
        Ok(bytes) => Ok(Value::String(base64::encode(&bytes).into())),
        Err(found) => {
            let wanted = go::type_name(node).trim_start_matches("[]").to_owned();
            Err(Fault::Type { found, wanted, late: true })
        }
    }
}

/// A float as its decoding again gives it: an integer where it is printed as one.
fn float(number: f64) -> Value {
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= LIMIT {
        Value::Int(number as i64)
    } else {
        Value::Float(number)
    }
}

/// A value as the body most likely spelt it.
fn literal(value: &Value) -> String {
    match value {
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 1e18 => format!("{number:.1}"),
        other => apiwright_json::to_string(other),
    }
}

/// The `reflect.Kind` of a scalar type.
fn go_kind(shape: &Shape) -> &'static str {
    match shape {
        Shape::Bool => "bool",
        Shape::Int32 => "int32",
        Shape::Int64 => "int64",
        Shape::Double => "float64",
        _ => "string",
    }
}
