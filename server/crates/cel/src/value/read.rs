//! One level of JSON as a value.

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::time::{Duration, Time};
use base64::Engine as _;

use super::{List, Map, Val};
use crate::decl::{Decl, Shape};
use crate::error::EvalError;

/// A JSON value as declared.
pub fn read<'a>(value: &'a Value, decl: &'a Decl) -> Result<Val<'a>, EvalError> {
    if matches!(value, Value::Null) {
        return match (decl.nullable, &decl.shape) {
            (true, _) | (_, Shape::Dyn) => Ok(Val::Null),
            _ => Err(EvalError::new("invalid data, got null for schema with nullable=false")),
        };
    }
    let expected = |what: &'static str| EvalError::new(format!("invalid data, expected {what}"));
    match (&decl.shape, value) {
        (Shape::Dyn, _) => Ok(read_dynamic(value)),
        (Shape::IntOrString, Value::Int(_) | Value::String(_)) => Ok(read_dynamic(value)),
        (Shape::IntOrString, _) => Err(expected("XIntOrString value to be either a string or integer")),
        (Shape::Bool, Value::Bool(value)) => Ok(Val::Bool(*value)),
        (Shape::Bool, _) => Err(expected("bool")),
        (Shape::Int, Value::Int(value)) => Ok(Val::Int(*value)),
        (Shape::Int, _) => Err(expected("int")),
        (Shape::Double, Value::Int(value)) => Ok(Val::Double(*value as f64)),
        (Shape::Double, Value::Float(value)) => Ok(Val::Double(*value)),
        (Shape::Double, _) => Err(expected("float")),
        (Shape::String, Value::String(text)) => Ok(Val::str(text)),
        (Shape::Bytes, Value::String(text)) => base64::engine::general_purpose::STANDARD
            .decode(text.as_bytes())
            .map(|bytes| Val::Bytes(Arc::from(bytes)))
            .map_err(|why| EvalError::new(format!("Invalid byte formatted string {text}: {why}"))),
        (Shape::Timestamp, Value::String(text)) => Time::parse(text)
            .map(Val::Timestamp)
            .map_err(|why| EvalError::new(format!("Invalid date-time formatted string {text}: {why}"))),
        (Shape::Date, Value::String(text)) => Time::parse(&format!("{text}T00:00:00Z"))
            .map(Val::Timestamp)
            .map_err(|why| EvalError::new(format!("Invalid date formatted string {text}: {why}"))),
        (Shape::Duration, Value::String(text)) => Duration::parse(text)
            .map(|duration| Val::Duration(duration.nanos()))
            .map_err(|why| EvalError::new(format!("Invalid duration {text}: {why}"))),
        (Shape::String | Shape::Bytes | Shape::Timestamp | Shape::Date | Shape::Duration, _) => {
            Err(expected("string"))
        }
        (Shape::List(..), Value::Array(items)) => Ok(Val::List(List::Json(items, decl))),
        (Shape::List(..), _) => Err(expected("an array for the provided schema with type=array")),
        (Shape::Map(value), Value::Object(object)) => Ok(Val::Map(Map::Json(object, value))),
        (Shape::Object(declared), Value::Object(object)) => Ok(Val::Map(Map::Object(object, declared))),
        (Shape::Map(_) | Shape::Object(_), _) => {
            Err(expected("a map for the provided schema with type=object"))
        }
    }
}

/// A JSON value of which nothing is declared.
pub(super) fn read_dynamic(value: &Value) -> Val<'_> {
    match value {
        Value::Null => Val::Null,
        Value::Bool(value) => Val::Bool(*value),
        Value::Int(value) => Val::Int(*value),
        Value::Float(value) => Val::Double(*value),
        Value::String(text) => Val::str(text),
        Value::Array(items) => Val::List(List::Dynamic(items)),
        Value::Object(object) => Val::Map(Map::Dynamic(object)),
    }
}
