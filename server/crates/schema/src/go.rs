//! The names that Go has for types and values: error texts quote them.

use apiwright_json::{Object, Value};
use apiwright_meta::field::{go_float, go_value, quoted};

use crate::decode::omission;
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
        Value::Float(number) => out.push_str(&go_float(*number)),
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
            out.push_str("map[");
            for (at, (key, value)) in sorted(object).into_iter().enumerate() {
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

/// A value as `%#v` prints it: `map[string]interface {}{"a":1}`, maps sorted by key.
pub fn syntax(value: &Value) -> String {
    let mut out = String::new();
    write_syntax(value, &mut out);
    out
}

fn write_syntax(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("interface {}(nil)"),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => write(value, out),
        Value::String(text) => out.push_str(&quoted(text)),
        Value::Array(items) => {
            out.push_str("[]interface {}{");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_syntax(item, out);
            }
            out.push('}');
        }
        Value::Object(members) => {
            out.push_str("map[string]interface {}{");
            for (at, (name, value)) in sorted(members).into_iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                out.push_str(&quoted(name));
                out.push(':');
                write_syntax(value, out);
            }
            out.push('}');
        }
    }
}

/// The type of an unstructured value, as `%T` prints it.
pub fn dynamic_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Members in the order in which Go prints maps.
fn sorted(object: &Object) -> Vec<(&str, &Value)> {
    let mut members: Vec<_> = object.iter().map(|(name, value)| (name.as_str(), value)).collect();
    members.sort_by_key(|member| member.0);
    members
}

/// A value as errors show it that quote upstream's internal types: structs of the API groups with
/// Go's field names and everything in them, `{"Type":"Recreate","RollingUpdate":null}`, those of
/// meta/v1 as they are in JSON.
pub fn internal(node: &Node, value: &Value) -> String {
    match (&node.shape, value) {
        (Shape::Struct(_) | Shape::List(_) | Shape::Map(_), Value::Object(_) | Value::Array(_)) => {
            let mut out = String::new();
            write_internal(node, Some(value), &mut out);
            out
        }
        _ => go_value(value),
    }
}

fn write_internal(node: &Node, value: Option<&Value>, out: &mut String) {
    match (&node.shape, value) {
        (Shape::Struct(ty), Some(Value::Object(object))) if is_internal(ty) => {
            out.push('{');
            let mut first = true;
            for field in ty.fields.iter() {
                let value = object.get(&field.name);
                if &*field.name == "metadata" || matches!(&*field.name, "kind" | "apiVersion") {
                    // Embedded, so its members are the struct's own.
                    write_embedded(&field.name, value, &mut first, out);
                    continue;
                }
                separate(&mut first, out);
                out.push('"');
                out.push_str(&exported(&field.name));
                out.push_str("\":");
                match value {
                    None if !field.pointer => {
                        write_internal(&field.node, Some(&omission::zero(&field.node)), out);
                    }
                    value => write_internal(&field.node, value, out),
                }
            }
            out.push('}');
        }
        (Shape::List(list), Some(Value::Array(items))) => {
            out.push('[');
            let mut first = true;
            for item in items {
                separate(&mut first, out);
                write_internal(&list.item, Some(item), out);
            }
            out.push(']');
        }
        (Shape::Map(map), Some(Value::Object(object))) => {
            out.push('{');
            let mut first = true;
            for (key, value) in object.iter() {
                separate(&mut first, out);
                out.push_str(&apiwright_json::to_string(&Value::String(key.clone())));
                out.push(':');
                write_internal(&map.value, Some(value), out);
            }
            out.push('}');
        }
        (_, value) => out.push_str(&value.map_or_else(|| "null".into(), apiwright_json::to_string)),
    }
}

fn write_embedded(name: &str, value: Option<&Value>, first: &mut bool, out: &mut String) {
    match value {
        Some(Value::Object(object)) => {
            for (key, value) in object.iter() {
                separate(first, out);
                out.push_str(&format!("\"{key}\":{}", apiwright_json::to_string(value)));
            }
        }
        Some(value @ Value::String(_)) => {
            separate(first, out);
            out.push_str(&format!("\"{name}\":{}", apiwright_json::to_string(value)));
        }
        _ => {}
    }
}

fn separate(first: &mut bool, out: &mut String) {
    if !std::mem::take(first) {
        out.push(',');
    }
}

/// Whether upstream has an internal form of the type, which has no JSON names.
fn is_internal(ty: &Struct) -> bool {
    ty.name.starts_with("io.k8s.api.")
}

/// The Go name of a field: its first word begins with a capital, or is all capitals.
fn exported(name: &str) -> String {
    const INITIALISMS: &[&str] = &[
        "api", "aws", "cel", "cidr", "cpu", "csi", "dns", "fc", "fs", "gce", "grpc", "http", "id", "io",
        "ip", "ipc", "iscsi", "nfs", "os", "pid", "rbd", "tcp", "tls", "tty", "udp", "uid", "url", "uuid",
    ];
    let word = name.find(|c: char| c.is_ascii_uppercase()).unwrap_or(name.len());
    let (first, rest) = name.split_at(word);
    let stem = first.strip_suffix('s').filter(|stem| INITIALISMS.contains(stem));
    match stem {
        _ if INITIALISMS.contains(&first) => first.to_ascii_uppercase() + rest,
        Some(stem) => stem.to_ascii_uppercase() + "s" + rest,
        None => {
            let mut letters = first.chars();
            letters.next().map_or_else(String::new, |letter| letter.to_ascii_uppercase().to_string())
                + letters.as_str()
                + rest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{exported, internal, print};
    use crate::testing::{deployment, json, node};
    use crate::{Shape, Struct};

    #[test]
    fn values_print_as_go_prints_maps() {
        for (value, want) in [
            (r#"{"b":[1,"x",null],"a":{"c":true}}"#, "map[a:map[c:true] b:[1 x <nil>]]"),
            ("1.5", "1.5"),
            ("1000000.0", "1e+06"),
            ("[]", "[]"),
            ("{}", "map[]"),
        ] {
            assert_eq!(print(&json(value)), want);
        }
    }

    #[test]
    fn internal_types_have_gos_names() {
        let names = [
            "type",
            "clusterIP",
            "apiVersion",
            "ips",
            "nfs",
            "tty",
            "nodeID",
            "gcePersistentDisk",
            "httpGet",
            "",
        ];
        let wanted = [
            "Type",
            "ClusterIP",
            "APIVersion",
            "IPs",
            "NFS",
            "TTY",
            "NodeID",
            "GCEPersistentDisk",
            "HTTPGet",
            "",
        ];
        assert_eq!(names.map(exported), wanted);
        let deployment = deployment();
        let spec = |name| -> &Struct {
            match &deployment.field("spec").map(|field| &field.node.shape) {
                Some(Shape::Struct(spec)) => match &spec.field(name).map(|field| &field.node.shape) {
                    Some(Shape::Struct(ty)) => ty,
                    _ => panic!("no struct"),
                },
                _ => panic!("no spec"),
            }
        };
        let show = |name, value: &str| {
            let field = deployment.field("spec").expect("spec");
            let Shape::Struct(of) = &field.node.shape else { panic!("no struct") };
            internal(&of.field(name).expect(name).node, &json(value))
        };
        assert_eq!(spec("strategy").fields.len(), 2);
        assert_eq!(show("strategy", r#"{"type":"Slowly"}"#), r#"{"Type":"Slowly","RollingUpdate":null}"#);
        assert_eq!(show("selector", r#"{"matchLabels":{"a":"b"}}"#), r#"{"matchLabels":{"a":"b"}}"#);
        assert_eq!(
            show("template", r#"{"metadata":{"labels":{"a":"c"}},"spec":{"containers":null}}"#),
            r#"{"labels":{"a":"c"},"Spec":{"Volumes":null,"Containers":null,"NodeSelector":null,"TerminationGracePeriodSeconds":null}}"#
        );
        assert_eq!(internal(&node(Shape::Int32), &json("4")), "4");
        assert_eq!(internal(&node(Shape::Time), &json("null")), "null");
    }
}
