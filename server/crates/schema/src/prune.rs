//! Pruning of custom resources: what their schema does not know goes, and is reported.
//!
//! Position: custom resources are not decoded by a Go type; this and the defaults are what their
//! objects go through instead of [`crate::decode`].
//! Invariant: values of another type than the schema says stay, for validation to tell, but what
//! is in them goes.
//! Absence: kinds and metadata, which are decoded with `ObjectMeta`. A schema has them as fields of
//! any shape, at its root and where a resource is embedded.

use apiwright_json::{Object, Value};

use crate::table::Unknown;
use crate::trail::Trail;
use crate::{Node, Shape, Struct};

/// What OpenAPI calls the type of metadata.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Prunes an object. The paths of what went, sorted, as strict errors show them:
/// `spec.list[1].field`.
pub fn prune(ty: &Struct, value: &mut Value) -> Vec<String> {
    walk(ty, value, None)
}

/// As [`prune`], but the metadata of embedded resources is left to `decode`, which gets its path, its
/// type and it; it also sees their `apiVersion` and `kind`, which are texts.
pub fn prune_but_metadata(
    ty: &Struct,
    value: &mut Value,
    decode: &mut dyn FnMut(String, Option<&Struct>, &mut Value),
) -> Vec<String> {
    walk(ty, value, Some(decode))
}

/// Gets the path of a part, its type, which is a text where there is none, and it.
type Decode<'a> = &'a mut dyn FnMut(String, Option<&Struct>, &mut Value);

/// What pruning does besides.
struct Pruning<'a> {
    /// The paths of what went.
    gone: Vec<String>,
    /// Who takes embedded metadata.
    decode: Option<Decode<'a>>,
}

fn walk(ty: &Struct, value: &mut Value, decode: Option<Decode<'_>>) -> Vec<String> {
    let mut pruning = Pruning { gone: Vec::new(), decode };
    match value {
        Value::Object(object) => members(ty, object, &Trail::ROOT, &mut pruning),
        other => nothing(other, &Trail::ROOT, &mut pruning.gone),
    }
    pruning.gone.sort();
    pruning.gone
}

/// Sorts the members of all objects, as custom resources are printed.
pub fn sort(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if !object.keys().is_sorted() {
                object.sort();
            }
            object.iter_mut().for_each(|(_, value)| sort(value));
        }
        Value::Array(items) => items.iter_mut().for_each(sort),
        _ => {}
    }
}

fn members(ty: &Struct, object: &mut Object, at: &Trail<'_>, pruning: &mut Pruning<'_>) {
    object.retain(|name, value| match ty.field(name) {
        // What cannot be null and has no default is as good as absent; nobody is told.
        Some(field) if value.is_null() && is_absent(&field.node) => false,
        Some(field) => {
            if let Some(decode) = &mut pruning.decode {
                if let Some(ty) = metadata_of(name, &field.node) {
                    decode(at.key(name).path(), Some(ty), value);
                    return true;
                }
                if matches!(&*field.name, "apiVersion" | "kind") && !at.is_root() && is_resource(ty) {
                    decode(at.key(name).path(), None, value);
                }
            }
            known(&field.node, value, &at.key(name), pruning);
            true
        }
        None if ty.unknown == Unknown::Keep => true,
        None if ty.unknown == Unknown::Bare => {
            nothing(value, &at.key(name), &mut pruning.gone);
            true
        }
        None => {
            pruning.gone.push(at.key(name).path());
            false
        }
    });
}

fn is_absent(node: &Node) -> bool {
    !node.nullable && node.default.is_none() && node.fill.is_none()
}

fn known(node: &Node, value: &mut Value, at: &Trail<'_>, pruning: &mut Pruning<'_>) {
    match (&node.shape, value) {
        (Shape::Any(_) | Shape::RawObject | Shape::FieldsV1, _) => {}
        (Shape::Struct(ty), Value::Object(object)) => members(ty, object, at, pruning),
        (Shape::Map(map), Value::Object(object)) => {
            object.retain(|_, value| !(value.is_null() && is_absent(&map.value)));
            for (key, value) in object.iter_mut() {
                known(&map.value, value, &at.key(key), pruning);
            }
        }
        (Shape::List(list), Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                known(&list.item, item, &at.index(index), pruning);
            }
        }
        // A type that keeps what it does not know keeps what it did not expect.
        (Shape::Struct(ty), _) if ty.unknown == Unknown::Keep => {}
        (_, value) => nothing(value, at, &mut pruning.gone),
    }
}

/// The type of the metadata that a member of an embedded resource is.
fn metadata_of<'a>(name: &str, node: &'a Node) -> Option<&'a Struct> {
    match &node.shape {
        Shape::Struct(ty) if name == "metadata" && *ty.name == *OBJECT_META => Some(ty),
        _ => None,
    }
}

/// Whether objects of a type are resources.
fn is_resource(ty: &Struct) -> bool {
    ty.field("metadata").is_some_and(|field| metadata_of(&field.name, &field.node).is_some())
}

/// Nothing is known of what is in the value.
fn nothing(value: &mut Value, at: &Trail<'_>, gone: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            gone.extend(object.keys().map(|name| at.key(name).path()));
            *object = Object::new();
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                nothing(item, &at.index(index), gone);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use apiwright_json::to_string;

    use super::{prune, sort};
    use crate::Shape;
    use crate::testing::{field, json, keeping, list, map, string, structure, text};

    #[test]
    fn what_the_schema_does_not_know_goes() {
        let item = || Shape::Struct(structure("", vec![field("v", string())]));
        let ty = structure(
            "",
            vec![
                field("metadata", Shape::Any(text(""))),
                field(
                    "spec",
                    Shape::Struct(structure(
                        "",
                        vec![
                            field("a", string()),
                            field("l", list(item())),
                            field("m", map(item())),
                            field("o", item()),
                            field("p", Shape::Struct(keeping(vec![field("k", item())]))),
                        ],
                    )),
                ),
            ],
        );
        for (value, want, gone) in [
            (r#"{"metadata":{"x":1},"extra":1}"#, r#"{"metadata":{"x":1}}"#, &["extra"][..]),
            (
                r#"{"spec":{"o":{"kk":2,"v":"x"},"l":[{"v":"x"},{"w":"y"}],"b":1,"m":{"k":{"u":1}}}}"#,
                r#"{"spec":{"o":{"v":"x"},"l":[{"v":"x"},{}],"m":{"k":{}}}}"#,
                &["spec.b", "spec.l[1].w", "spec.m.k.u", "spec.o.kk"],
            ),
            (
                r#"{"spec":{"p":{"any":{"x":1},"k":{"w":1}}}}"#,
                r#"{"spec":{"p":{"any":{"x":1},"k":{}}}}"#,
                &["spec.p.k.w"],
            ),
            (
                r#"{"spec":{"a":{"x":1},"o":[{"y":1}],"p":[{"z":1}]}}"#,
                r#"{"spec":{"a":{},"o":[{}],"p":[{"z":1}]}}"#,
                &["spec.a.x", "spec.o[0].y"],
            ),
            (r#"[{"x":1}]"#, "[{}]", &["[0].x"]),
        ] {
            let mut pruned = json(value);
            assert_eq!(prune(&ty, &mut pruned), gone, "{value}");
            assert_eq!(to_string(&pruned), want);
            assert!(prune(&ty, &mut pruned).is_empty(), "pruning again finds nothing");
        }
    }

    #[test]
    fn objects_sort_at_every_depth() {
        let mut value = json(r#"{"b":[{"d":1,"c":2}],"a":{"f":1,"e":{"h":1,"g":2}}}"#);
        sort(&mut value);
        assert_eq!(to_string(&value), r#"{"a":{"e":{"g":2,"h":1},"f":1},"b":[{"c":2,"d":1}]}"#);
    }
}
