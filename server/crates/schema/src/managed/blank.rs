//! The object that nobody has set anything in.

use apiwright_json::{Object, Value};

use crate::table::{Field, Shape, Struct};

/// What Go prints for a new object of a type: a creation is compared with it, so that fields
/// which are always there are nobody's.
pub fn blank(ty: &Struct) -> Value {
    let mut object = Object::new();
    for field in ty.fields.iter() {
        if let Some(value) = blank_field(field) {
            object.push(&*field.name, value);
        }
    }
    object.into()
}

fn blank_field(field: &Field) -> Option<Value> {
    if field.pointer {
        return field.keep.then_some(Value::Null);
    }
    match &field.node.shape {
        Shape::Struct(ty) => Some(blank(ty)),
        _ if !field.keep => None,
        Shape::Bool => Some(Value::Bool(false)),
        Shape::Int32 | Shape::Int64 | Shape::Double | Shape::IntOrString => Some(Value::Int(0)),
        Shape::String(_) => Some(Value::from("")),
        Shape::Quantity => Some(Value::from("0")),
        Shape::Duration => Some(Value::from("0s")),
        Shape::Bytes
        | Shape::Time
        | Shape::MicroTime
        | Shape::Any(_)
        | Shape::RawObject
        | Shape::FieldsV1
        | Shape::List(_)
        | Shape::Map(_) => Some(Value::Null),
    }
}
