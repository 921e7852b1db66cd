//! Values back to JSON.

use apiwright_json::{Object, Value};

use super::Val;
use crate::error::EvalError;
use crate::library::time;

/// How deep values may nest.
const DEPTH_MAX: usize = 500;

pub(super) fn to_json(value: &Val<'_>, depth: usize) -> Result<Value, EvalError> {
    if depth > DEPTH_MAX {
        return Err(EvalError::new("value is nested too deeply"));
    }
    Ok(match value {
        Val::Null | Val::Optional(None) => Value::Null,
        Val::Bool(value) => Value::Bool(*value),
        Val::Int(value) => Value::Int(*value),
        Val::Uint(value) => i64::try_from(*value).map_or(Value::Float(*value as f64), Value::Int),
        Val::Double(value) => Value::Float(*value),
        Val::String(text) => Value::String((**text).into()),
        Val::Bytes(bytes) => {
            use base64::Engine as _;
            Value::String(base64::engine::general_purpose::STANDARD.encode(bytes).into())
        }
        Val::Timestamp(moment) => Value::String(moment.to_rfc3339_nano().into()),
        Val::Duration(nanos) => Value::String(time::duration_text(*nanos).into()),
        Val::Optional(Some(inner)) => to_json(inner, depth + 1)?,
        Val::List(list) => {
            let items = list.iter().map(|item| to_json(&item?, depth + 1));
            Value::Array(items.collect::<Result<_, EvalError>>()?)
        }
        Val::Map(map) => {
            let mut object = Object::with_capacity(map.len());
            for (key, value) in map.entries()? {
                let Some(name) = key.as_str() else {
                    return Err(EvalError::new(format!(
                        "map key is of type {}, not string",
                        key.ty().name()
                    )));
                };
                object.push(name, to_json(&value, depth + 1)?);
            }
            Value::Object(object)
        }
        Val::Made(made) => {
            let mut object = Object::with_capacity(made.fields.len());
            for (name, value) in &made.fields {
                object.push(&**name, to_json(value, depth + 1)?);
            }
            Value::Object(object)
        }
        Val::Quantity(quantity) => Value::String(quantity.to_string().into()),
        other => return Err(EvalError::new(format!("{} cannot be converted to JSON", other.ty().name()))),
    })
}
