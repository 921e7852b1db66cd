//! The names that Go has for types and values: error texts quote them.

use apiwright_json::Value;

use crate::{Node, Shape, Struct};

/// The name of a definition's Go struct: `DeploymentSpec`.
pub fn struct_name(ty: &Struct) -> &str {
    ty.name.rsplit('.').next().unwrap_or_default()
}

/// The Go type of what a node holds: `int32`, `[]v1.Container`, `map[string]string`.
pub fn type_name(node: &Node) -> String {
    match &node.shape {
        Shape::Bool => "bool".into(),
        Shape::Int32 => "int32".into(),
        Shape::Int64 => "int64".into(),
        Shape::Double => "float64".into(),
        Shape::String(name) if name.is_empty() => "string".into(),
        Shape::String(name) => name.to_string(),
        Shape::Bytes => "[]uint8".into(),
        Shape::Time => "v1.Time".into(),
        Shape::MicroTime => "v1.MicroTime".into(),
        Shape::Duration => "v1.Duration".into(),
        Shape::Quantity => "resource.Quantity".into(),
        Shape::IntOrString => "intstr.IntOrString".into(),
        Shape::Any(name) if name.is_empty() => "interface {}".into(),
        Shape::Any(name) => qualified(name),
        Shape::RawObject => "runtime.RawExtension".into(),
        Shape::FieldsV1 => "v1.FieldsV1".into(),
        Shape::List(list) => format!("[]{}", type_name(&list.item)),
        // The one named map type of the API.
        Shape::Map(map) if matches!(map.value.shape, Shape::Quantity) => "v1.ResourceList".into(),
        Shape::Map(map) => format!("map[string]{}", type_name(&map.value)),
        Shape::Struct(ty) => struct_type(ty),
    }
}

/// The Go type of a struct: `v1.PodSpec`.
pub fn struct_type(ty: &Struct) -> String {
    if ty.name.is_empty() { "map[string]interface {}".into() } else { qualified(&ty.name) }
}

/// The last two parts of a definition's name: version and type.
fn qualified(name: &str) -> String {
    let start = name.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
    name[start..].into()
}

/// The Go kind of an unstructured value, as `reflect.Kind` prints it.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

/// A value as `%v` prints it: `map[data:map[a:2]]`, maps sorted by key.
pub fn print(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Float(number) => out.push_str(&float(*number)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_by_key(|member| member.0);
            out.push_str("map[");
            for (at, (key, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write(value, out);
            }
            out.push(']');
        }
    }
}

/// Go's `%v` of a float: the shortest digits, an exponent from 1e21 on and below 1e-4.
fn float(number: f64) -> String {
    let exponent = if number == 0.0 { 0.0 } else { number.abs().log10().floor() };
    if !(-4.0..21.0).contains(&exponent) {
        let text = format!("{number:e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
        return format!("{digits}e{sign}{power:0>2}");
    }
    format!("{number}")
}
