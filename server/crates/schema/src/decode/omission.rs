//! What Go's encoder prints of a field that holds nothing, and what it leaves out.

use apiwright_json::{Object, Str, Value};

use crate::{Field, Node, Ref, Shape, Struct, Text};

/// What stands for a field that the body leaves out; `None` where it stays out.
pub(crate) fn absent(field: &Field) -> Option<Value> {
    if field.pointer {
        return field.keep.then_some(Value::Null);
    }
    (field.keep || is_go_struct(&field.node.shape)).then(|| zero(&field.node))
}

/// Whether a value that the body gives is left out all the same, being what Go calls empty.
pub(crate) fn omits(field: &Field, value: &Value) -> bool {
    if field.pointer {
        return false;
    }
    let empty = match value {
        Value::Null => !is_go_struct(&field.node.shape),
        Value::Bool(truth) => !*truth,
        Value::Int(number) => *number == 0 && !is_go_struct(&field.node.shape),
        Value::Float(number) => *number == 0.0,
        Value::String(text) => text.is_empty() && !is_go_struct(&field.node.shape),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty() && matches!(field.node.shape, Shape::Map(_)),
    };
    empty && !field.keep
}

/// The zero value of a type.
pub(crate) fn zero(node: &Node) -> Value {
    match &node.shape {
        Shape::Bool => Value::Bool(false),
        Shape::Int32 | Shape::Int64 | Shape::Double | Shape::IntOrString => Value::Int(0),
        Shape::String(_) => Value::String(Str::default()),
        Shape::Duration => Value::String(Str::const_new("0s")),
        Shape::Quantity => Value::String(Str::const_new("0")),
        Shape::Struct(ty) => Value::Object(zero_struct(ty)),
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

/// What Go prints of a struct in which nothing is set.
pub(crate) fn zero_struct(ty: &Struct) -> Object {
    let mut object = Object::new();
    for field in ty.fields.iter() {
        if let Some(value) = absent(field) {
            object.push(name(&field.name), value);
        }
    }
    object
}

/// A member's name without a copy where the schema is compiled in.
pub(crate) fn name(text: &Text) -> Str {
    match text {
        Ref::Static(text) => Str::const_new(text),
        Ref::Shared(text) => Str::from(&**text),
    }
}

/// Whether Go has a struct here, which `omitempty` does not leave out.
fn is_go_struct(shape: &Shape) -> bool {
    match shape {
        Shape::Time
        | Shape::MicroTime
        | Shape::Duration
        | Shape::Quantity
        | Shape::IntOrString
        | Shape::RawObject
        | Shape::Struct(_) => true,
        Shape::Bool
        | Shape::Int32
        | Shape::Int64
        | Shape::Double
        | Shape::String(_)
        | Shape::Bytes
        | Shape::Any(_)
        | Shape::FieldsV1
        | Shape::List(_)
        | Shape::Map(_) => false,
    }
}
