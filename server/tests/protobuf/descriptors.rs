//! The messages of the compiled-in types, as a protobuf library takes them: the field numbers are the specs', how
//! they are written is the library's.

use std::collections::BTreeSet;

use apiwright::generated::catalogue;
use apiwright_schema::{Field, Shape, Struct};
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, MessageOptions,
};

/// A field's name, number and type.
type Entry = (&'static str, i32, &'static str);

/// Messages that no table has, and their fields.
const OTHERS: &[(&str, &[Entry])] = &[
    ("Time", &[("seconds", 1, "int64"), ("nanos", 2, "int32")]),
    ("Duration", &[("duration", 1, "int64")]),
    ("Quantity", &[("string", 1, "string")]),
    ("IntOrString", &[("type", 1, "int64"), ("intVal", 2, "int32"), ("strVal", 3, "string")]),
    ("Raw", &[("raw", 1, "bytes")]),
    ("OrBool", &[("allows", 1, "bool"), ("schema", 2, SCHEMA)]),
    ("OrArray", &[("schema", 1, SCHEMA), ("schemas", 2, MANY_SCHEMAS)]),
    ("OrStringArray", &[("schema", 1, SCHEMA), ("strings", 2, "repeated string")]),
    ("TypeMeta", &[("apiVersion", 1, "string"), ("kind", 2, "string")]),
    (
        "Unknown",
        &[
            ("typeMeta", 1, "TypeMeta"),
            ("raw", 2, "bytes"),
            ("contentEncoding", 3, "string"),
            ("contentType", 4, "string"),
        ],
    ),
    ("WatchEvent", &[("type", 1, "string"), ("object", 2, "Raw")]),
];
const SCHEMA: &str = "io_k8s_apiextensions_apiserver_pkg_apis_apiextensions_v1_JSONSchemaProps";
const MANY_SCHEMAS: &str =
    "repeated io_k8s_apiextensions_apiserver_pkg_apis_apiextensions_v1_JSONSchemaProps";

/// What a definition's message is called.
pub fn message_name(definition: &str) -> String {
    definition.replace(|sign: char| !sign.is_ascii_alphanumeric(), "_")
}

/// All messages.
pub fn pool() -> DescriptorPool {
    let mut messages: Vec<DescriptorProto> =
        OTHERS.iter().map(|(name, fields)| other(name, fields)).collect();
    for ty in catalogue().types.iter() {
        let name = message_name(&ty.name);
        messages.push(of_fields(&name, &name, ty, &[]));
    }
    let file = FileDescriptorProto {
        name: Some("specs.proto".into()),
        syntax: Some("proto2".into()),
        message_type: messages,
        ..Default::default()
    };
    DescriptorPool::from_file_descriptor_set(FileDescriptorSet { file: vec![file] })
        .expect("sound descriptors")
}

fn other(name: &str, fields: &[Entry]) -> DescriptorProto {
    let field = fields.iter().map(|(name, number, ty)| {
        let (label, ty) = match ty.strip_prefix("repeated ") {
            Some(ty) => (Label::Repeated, ty),
            None => (Label::Optional, *ty),
        };
        entry(name, *number, label, scalar_or_message(ty))
    });
    DescriptorProto { name: Some(name.into()), field: field.collect(), ..Default::default() }
}

/// The message of those fields of a type that are nested in these messages, and the messages within it.
fn of_fields(full: &str, name: &str, ty: &Struct, within: &[u32]) -> DescriptorProto {
    let mut message = DescriptorProto { name: Some(name.into()), ..Default::default() };
    let mut nested = BTreeSet::new();
    for field in ty.fields.iter() {
        let Some(proto) = field.proto else { continue };
        let Some(inner) = proto.within.strip_prefix(within) else { continue };
        match inner {
            [] => add(full, &mut message, field, proto.tag),
            [number, ..] => {
                nested.insert(*number);
            }
        }
    }
    for number in nested {
        let (inner, path) = (format!("Within{number}"), [within, &[number]].concat());
        let full = format!("{full}.{inner}");
        message.nested_type.push(of_fields(&full, &inner, ty, &path));
        let of = scalar_or_message(&full);
        message.field.push(entry(&format!("within{number}"), number.cast_signed(), Label::Optional, of));
    }
    message
}

fn add(full: &str, message: &mut DescriptorProto, field: &Field, number: u32) {
    let (name, number) = (format!("f{number}"), number.cast_signed());
    let one = match &field.node.shape {
        Shape::List(list) => entry(&name, number, Label::Repeated, of(&list.item.shape)),
        Shape::Map(map) => {
            let inner = format!("F{number}Entry");
            let value = match &map.value.shape {
                // No map holds lists: their items are in a message of their own.
                Shape::List(list) => {
                    let items = entry("items", 1, Label::Repeated, of(&list.item.shape));
                    let name = format!("F{number}Items");
                    let of = scalar_or_message(&format!("{full}.{name}"));
                    message.nested_type.push(DescriptorProto {
                        name: Some(name),
                        field: vec![items],
                        ..Default::default()
                    });
                    of
                }
                shape => of(shape),
            };
            message.nested_type.push(DescriptorProto {
                name: Some(inner.clone()),
                field: vec![
                    entry("key", 1, Label::Optional, scalar_or_message("string")),
                    entry("value", 2, Label::Optional, value),
                ],
                options: Some(MessageOptions { map_entry: Some(true), ..Default::default() }),
                ..Default::default()
            });
            entry(&name, number, Label::Repeated, scalar_or_message(&format!("{full}.{inner}")))
        }
        shape => entry(&name, number, Label::Optional, of(shape)),
    };
    message.field.push(one);
}

fn entry(name: &str, number: i32, label: Label, of: (Type, Option<String>)) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        label: Some(label.into()),
        r#type: Some(of.0.into()),
        type_name: of.1,
        ..Default::default()
    }
}

fn of(shape: &Shape) -> (Type, Option<String>) {
    let name = match shape {
        Shape::Bool => "bool",
        Shape::Int32 => "int32",
        Shape::Int64 => "int64",
        Shape::Double => "double",
        Shape::String(_) => "string",
        Shape::Bytes => "bytes",
        Shape::Time | Shape::MicroTime => "Time",
        Shape::Duration => "Duration",
        Shape::Quantity => "Quantity",
        Shape::IntOrString => "IntOrString",
        Shape::Any(name) => union(name),
        Shape::RawObject | Shape::FieldsV1 => "Raw",
        Shape::Struct(ty) => return scalar_or_message(&message_name(&ty.name)),
        Shape::List(_) | Shape::Map(_) => panic!("a list in a list"),
    };
    scalar_or_message(name)
}

/// The message of a value of any shape.
pub fn union(definition: &str) -> &'static str {
    match definition.rsplit('.').next() {
        Some("JSONSchemaPropsOrBool") => "OrBool",
        Some("JSONSchemaPropsOrArray") => "OrArray",
        Some("JSONSchemaPropsOrStringArray") => "OrStringArray",
        _ => "Raw",
    }
}

fn scalar_or_message(name: &str) -> (Type, Option<String>) {
    match name {
        "bool" => (Type::Bool, None),
        "int32" => (Type::Int32, None),
        "int64" => (Type::Int64, None),
        "double" => (Type::Double, None),
        "string" => (Type::String, None),
        "bytes" => (Type::Bytes, None),
        message => (Type::Message, Some(format!(".{message}"))),
    }
}
