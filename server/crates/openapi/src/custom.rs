//! The schemas of custom resources, as their definitions have them, made complete: every object says what it
//! is, also where one is within another.

use apiwright_json::{Object, Value};
use apiwright_registry::resource::Selectable;
use apiwright_registry::typed::Types;

use crate::schemas::{plain, reference};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
/// Whose members are described as those of every object.
const ANY_OBJECT: &str = "io.k8s.api.core.v1.ConfigMap";
/// Where descriptions send their readers.
pub const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// The schema of a kind whose fields of these names can be selected by.
pub fn schema(written: &Value, selectable: &[Selectable], types: &Types) -> Value {
    let mut schema = complete(written, types);
    if let Some(schema) = schema.as_object_mut() {
        schema.entry("type", || "object".into());
        let properties = schema.object("properties");
        for (name, property) in identity(types) {
            properties.insert(name, property);
        }
        properties.sort();
        push_selectable(schema, selectable);
    }
    schema
}

/// Says what objects can be selected by.
pub fn push_selectable(schema: &mut Object, selectable: &[Selectable]) {
    let paths = selectable.iter().map(|field| Object::from_iter([("fieldPath", &*field.name)]).into());
    let paths: Vec<Value> = paths.collect();
    if !paths.is_empty() {
        schema.push("x-kubernetes-selectable-fields", paths);
    }
}

/// The description of a list's member, or of an object's.
pub fn doc_of(types: &Types, definition: &str, member: &str) -> String {
    let doc = types(definition).and_then(|ty| ty.field(member).map(|field| field.doc.to_string()));
    doc.unwrap_or_default()
}

/// `apiVersion`, `kind` and `metadata`.
pub fn identity(types: &Types) -> [(&'static str, Value); 3] {
    let described = |member: &'static str, schema: Value| {
        let mut property = Object::new();
        let doc = doc_of(types, ANY_OBJECT, member);
        if !doc.is_empty() {
            property.push("description", doc);
        }
        for (name, value) in schema.as_object().into_iter().flat_map(Object::iter) {
            property.push(name.clone(), value.clone());
        }
        (member, property.into())
    };
    let metadata = Object::from_iter([("allOf", vec![reference(&format!("{META}.ObjectMeta"))])]);
    [
        described("apiVersion", plain("string", None)),
        described("kind", plain("string", None)),
        described("metadata", metadata.into()),
    ]
}

/// Says that numbers and texts are both right, unless the schema does.
fn say_int_or_string(schema: &mut Object) {
    let either = || Value::from(vec![plain("integer", None), plain("string", None)]);
    let first = schema.get("allOf").and_then(Value::as_array).and_then(|all| all.first());
    if first.and_then(|first| first.get("anyOf")) == Some(&either()) {
        return;
    }
    match schema.get("anyOf") {
        Some(said) if *said == either() => {}
        None => schema.push("anyOf", either()),
        Some(_) => {
            let mut all: Vec<Value> = vec![Object::from_iter([("anyOf", either())]).into()];
            all.extend(schema.get("allOf").and_then(Value::as_array).into_iter().flatten().cloned());
            schema.insert("allOf", all);
        }
    }
}

/// A member of the identity of an object within another, which has words of its own for what it is.
fn embedded(name: &str, mut property: Value) -> Value {
    let doc = match name {
        "apiVersion" => "defines the versioned schema of this representation of an object",
        "kind" => "is a string value representing the type of this object. In CamelCase",
        _ => return property,
    };
    let part = if name == "kind" { "types-kinds" } else { "resources" };
    if let Some(property) = property.as_object_mut() {
        property.insert("description", format!("{name} {doc}. More info: {CONVENTIONS}#{part}"));
    }
    property
}

fn complete(written: &Value, types: &Types) -> Value {
    let Some(written) = written.as_object() else { return written.clone() };
    let mut schema = Object::new();
    for (word, value) in written.iter() {
        let value = match (word.as_str(), value) {
            ("properties", Value::Object(members)) => {
                let members = members.iter().map(|(name, member)| (name.clone(), complete(member, types)));
                members.collect::<Object>().into()
            }
            ("items" | "additionalProperties" | "not", Value::Object(_)) => complete(value, types),
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                all.iter().map(|one| complete(one, types)).collect::<Vec<_>>().into()
            }
            _ => value.clone(),
        };
        schema.push(word.clone(), value);
    }
    let is_true = |word: &str| written.get(word).and_then(Value::as_bool) == Some(true);
    if is_true(INT_OR_STRING) {
        say_int_or_string(&mut schema);
    }
    if is_true(EMBEDDED) {
        let required = schema.entry("required", || Vec::<Value>::new().into());
        if let Some(required) = required.as_array_mut() {
            for member in ["kind", "apiVersion"].map(Value::from) {
                if !required.contains(&member) {
                    required.push(member);
                }
            }
        }
        let properties = schema.object("properties");
        for (name, property) in identity(types) {
            let property = embedded(name, property);
            if name == "metadata" || !properties.contains_key(name) {
                properties.insert(name, property);
            }
        }
    }
    schema.into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apiwright_schema::Text;

    use super::*;

    fn decode(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).expect("JSON").0
    }

    #[test]
    fn objects_say_what_they_are() {
        let types: Types = Arc::new(|_| None);
        let written = r#"{"type":"object","properties":{"size":{"x-kubernetes-int-or-string":true},
            "few":{"x-kubernetes-int-or-string":true,"anyOf":[{"maximum":3},{"pattern":"x"}]},
            "inner":{"type":"object","x-kubernetes-embedded-resource":true}}}"#;
        let selectable = Selectable {
            name: Text::Static("spec.size"),
            path: Text::Static("spec.size"),
            default: Text::Static(""),
            indexed: false,
        };
        let schema = schema(&decode(written), &[selectable], &types);
        let names: Vec<&str> = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Object::keys)
            .map(apiwright_json::Str::as_str)
            .collect();
        assert_eq!(names, ["apiVersion", "few", "inner", "kind", "metadata", "size"]);
        let inner = schema.at(&["properties", "inner"]).expect("the object within");
        assert_eq!(inner.get("required"), Some(&vec!["kind".into(), "apiVersion".into()].into()));
        assert!(inner.at(&["properties", "metadata", "allOf"]).is_some());
        assert_eq!(
            inner.text_at(&["properties", "kind", "description"]).split('.').next(),
            Some("kind is a string value representing the type of this object"),
        );
        let either = r#"[{"type":"integer"},{"type":"string"}]"#;
        assert_eq!(schema.at(&["properties", "size", "anyOf"]), Some(&decode(either)));
        let few = schema.at(&["properties", "few", "allOf"]);
        assert_eq!(few, Some(&decode(&format!(r#"[{{"anyOf":{either}}}]"#))));
        let selectable = schema.get("x-kubernetes-selectable-fields");
        assert_eq!(selectable, Some(&decode(r#"[{"fieldPath":"spec.size"}]"#)));
    }
}
