//! Structural schemas as the tables that the schema engine walks.
//!
//! Position: between a definition, which has the schema as JSON, and the [`Struct`]s that decode,
//! prune, default and merge custom resources and the [`Node`]s that validate them.
//! Invariant: equal parts of one compiler's schemas are one table, also across versions, unless they are
//! very deep.
//! Absence: whether a schema is structural, which is the validation of definitions.

mod rules;

pub use rules::is_known_format;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use apiwright_json::{Object, Value, to_string};
use apiwright_schema::table::{Plan, Unknown};
use apiwright_schema::{Field, List, ListKind, Map, Node, Ref, Rule, Shape, Struct, Table, Text};

/// How deep parts are looked for that are the same: looking costs a text of all that is below.
const SHARED_DEPTH: usize = 24;
const PRESERVES: &str = "x-kubernetes-preserve-unknown-fields";

/// A schema by itself, as the field `default` of an object.
pub(crate) fn compile(schema: &Value) -> Ref<Struct> {
    let metadata = Ref::Shared(Arc::new(structure(Vec::new(), Unknown::Keep, false)));
    let node = Compiler::new(metadata).node(schema);
    Ref::Shared(Arc::new(structure(vec![field(text("default"), node)], Unknown::Drop, false)))
}

/// A resource's schema.
#[derive(Clone, Debug)]
pub struct Root {
    /// The type of its objects.
    pub ty: Ref<Struct>,
    /// What its objects must satisfy.
    pub node: Arc<Node>,
}

/// Compiles the schemas of one definition.
pub struct Compiler {
    /// The type of every object's metadata.
    object_meta: Ref<Struct>,
    structs: HashMap<String, Ref<Struct>>,
    lists: HashMap<String, Ref<List>>,
    maps: HashMap<String, Ref<Map>>,
    /// How deep in a schema.
    depth: usize,
}

impl Compiler {
    /// A compiler; `object_meta` is the type of metadata.
    pub fn new(object_meta: Ref<Struct>) -> Self {
        Self { object_meta, structs: HashMap::new(), lists: HashMap::new(), maps: HashMap::new(), depth: 0 }
    }

    /// The type of a resource's objects, which OpenAPI calls `name`.
    pub fn root(&mut self, schema: &Value, name: &str) -> Root {
        let none = Object::new();
        let schema = schema.as_object().unwrap_or(&none);
        let fields = self.properties(schema, true);
        let doc = shared(schema.str("description").unwrap_or_default());
        let root = Struct { name: shared(name), doc, ..structure(fields, unknown(schema), false) };
        let ty = Ref::Shared(Arc::new(root));
        let node = Node { shape: Shape::Struct(ty.clone()), rules: self.rules(schema), ..any() };
        Root { ty, node: Arc::new(node) }
    }

    fn node(&mut self, schema: &Value) -> Node {
        let Some(schema) = schema.as_object() else { return any() };
        self.depth += 1;
        let shape = self.shape(schema);
        self.depth -= 1;
        Node {
            shape,
            nullable: truth(schema, "nullable"),
            default: schema
                .get("default")
                .filter(|value| !value.is_null())
                .map(|value| shared(&to_string(value))),
            fill: None,
            rules: self.rules(schema),
        }
    }

    fn shape(&mut self, schema: &Object) -> Shape {
        if truth(schema, "x-kubernetes-int-or-string") {
            return Shape::IntOrString;
        }
        match schema.str("type").unwrap_or_default() {
            "string" => Shape::String(text("")),
            "integer" => Shape::Int64,
            "number" => Shape::Double,
            "boolean" => Shape::Bool,
            "array" => Shape::List(self.list(schema)),
            "object" => self.object(schema),
            _ => Shape::Any(text("")),
        }
    }

    fn object(&mut self, schema: &Object) -> Shape {
        let has_properties =
            schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        match schema.get("additionalProperties") {
            Some(value @ Value::Object(_)) => Shape::Map(self.map(schema, value)),
            Some(value @ Value::Bool(_)) if !has_properties => Shape::Map(self.map(schema, value)),
            _ => Shape::Struct(self.members(schema)),
        }
    }

    fn members(&mut self, schema: &Object) -> Ref<Struct> {
        let key = self.key(|key| {
            for (word, value) in schema.iter().filter(|(word, _)| *word != "description") {
                key.push_str(word);
                key.push_str(&to_string(value));
            }
        });
        if let Some(known) = key.as_ref().and_then(|key| self.structs.get(key)) {
            return known.clone();
        }
        let fields = self.properties(schema, truth(schema, "x-kubernetes-embedded-resource"));
        let atomic = schema.str("x-kubernetes-map-type") == Some("atomic");
        let made = Ref::Shared(Arc::new(structure(fields, unknown(schema), atomic)));
        self.structs.extend(key.map(|key| (key, made.clone())));
        made
    }

    fn map(&mut self, schema: &Object, value: &Value) -> Ref<Map> {
        let atomic = schema.str("x-kubernetes-map-type") == Some("atomic");
        let key = self.key(|key| key.push_str(&format!("{atomic}{}", to_string(value))));
        if let Some(known) = key.as_ref().and_then(|key| self.maps.get(key)) {
            return known.clone();
        }
        let value = match value {
            // Whatever it is, nothing stays that would have to be known.
            Value::Bool(_) => {
                let nothing = structure(Vec::new(), Unknown::Drop, false);
                let shape = Shape::Struct(Ref::Shared(Arc::new(nothing)));
                Node { shape, nullable: true, rules: table(vec![Rule::Untyped]), ..any() }
            }
            value => self.node(value),
        };
        let made = Ref::Shared(Arc::new(Map { value, atomic }));
        self.maps.extend(key.map(|key| (key, made.clone())));
        made
    }

    fn list(&mut self, schema: &Object) -> Ref<List> {
        let mut item = Cow::Borrowed(schema.get("items").unwrap_or(&Value::Null));
        if truth(schema, PRESERVES) && item.as_object().is_some() {
            // A list that keeps what is unknown has items that do.
            if let Some(item) = item.to_mut().as_object_mut() {
                item.insert(PRESERVES, true);
            }
        }
        let keys = texts(schema, "x-kubernetes-list-map-keys");
        let list_type = schema.str("x-kubernetes-list-type").unwrap_or("atomic");
        let key =
            self.key(|key| key.push_str(&format!("{list_type} {} {}", keys.join(","), to_string(&item))));
        if let Some(known) = key.as_ref().and_then(|key| self.lists.get(key)) {
            return known.clone();
        }
        let kind = match list_type {
            "set" => ListKind::Set,
            "map" => ListKind::Map(table(keys.into_iter().map(shared).collect())),
            _ => ListKind::Atomic,
        };
        let made = Ref::Shared(Arc::new(List { item: self.node(&item), kind }));
        self.lists.extend(key.map(|key| (key, made.clone())));
        made
    }

    /// What tells a part from others, where it is worth asking.
    fn key(&self, write: impl FnOnce(&mut String)) -> Option<String> {
        (self.depth <= SHARED_DEPTH).then(|| {
            let mut key = String::new();
            write(&mut key);
            key
        })
    }

    /// The fields of a schema; of a resource, which has an identity, also those that it does not name.
    fn properties(&mut self, schema: &Object, is_resource: bool) -> Vec<Field> {
        let required = texts(schema, "required");
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut fields: Vec<Field> = Vec::new();
        for (name, schema) in properties.into_iter().flat_map(Object::iter) {
            let node = self.node(schema);
            let node = if is_resource && name == "metadata" { self.metadata(node, schema) } else { node };
            fields.push(Field {
                required: required.contains(&name.as_str()),
                doc: shared(schema.text_at(&["description"])),
                ..field(shared(name), node)
            });
        }
        for name in ["apiVersion", "kind", "metadata"].into_iter().filter(|_| is_resource) {
            if !fields.iter().any(|field| *field.name == *name) {
                let shape = match name {
                    "metadata" => Shape::Struct(self.object_meta.clone()),
                    _ => Shape::String(text("")),
                };
                fields.push(field(text(name), Node { shape, ..any() }));
            }
        }
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        fields
    }

    /// Metadata is of its own type, whatever a schema says; what that asks for holds besides.
    fn metadata(&mut self, told: Node, schema: &Value) -> Node {
        let mut rules = schema.as_object().map_or_else(Vec::new, |schema| self.all_rules(schema));
        if let Shape::Struct(ty) = told.shape {
            rules.push(Rule::Properties(ty));
        }
        Node { shape: Shape::Struct(self.object_meta.clone()), rules: table(rules), ..told }
    }
}

fn structure(fields: Vec<Field>, unknown: Unknown, atomic: bool) -> Struct {
    // The fields are sorted by name.
    let by_name: Vec<u16> = (0..u16::try_from(fields.len()).unwrap_or(u16::MAX)).collect();
    Struct {
        name: text(""),
        doc: text(""),
        fields: table(fields),
        by_name: table(by_name),
        unknown,
        atomic,
        unions: table(Vec::new()),
        plan: Plan::new(),
    }
}

/// In a custom resource, absence always differs from the zero value.
fn field(name: Text, node: Node) -> Field {
    Field { name, doc: text(""), node, required: false, pointer: true, keep: false, patch: None, proto: None }
}

fn any() -> Node {
    let rules = table(Vec::new());
    Node { shape: Shape::Any(text("")), nullable: false, default: None, fill: None, rules }
}

fn unknown(schema: &Object) -> Unknown {
    match schema.get("additionalProperties") {
        _ if truth(schema, PRESERVES) => Unknown::Keep,
        Some(Value::Bool(_)) => Unknown::Bare,
        _ => Unknown::Drop,
    }
}

fn truth(schema: &Object, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn texts<'a>(schema: &'a Object, name: &str) -> Vec<&'a str> {
    let list = schema.get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn text(text: &'static str) -> Text {
    Ref::Static(text)
}

fn shared(text: &str) -> Text {
    Ref::Shared(text.into())
}

fn table<T>(items: Vec<T>) -> Table<T> {
    Ref::Shared(items.into())
}

#[cfg(test)]
mod tests {
    use apiwright_meta::{ErrorList, Path};
    use apiwright_schema::validate::custom;
    use apiwright_schema::{defaults, prune};

    use super::*;

    fn json(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).expect(text).0
    }

    fn compile(schema: &str) -> Root {
        let meta = Ref::Shared(Arc::new(structure(vec![field(text("name"), any())], Unknown::Drop, false)));
        Compiler::new(meta).root(&json(schema), "")
    }

    #[test]
    fn objects_are_pruned_defaulted_and_checked() {
        let object =
            |properties: &str| format!(r#"{{"type":"object","properties":{{"spec":{properties}}}}}"#);
        for (schema, given, want, faults) in [
            (
                r#"{"type":"object","properties":{"a":{"type":"string"}}}"#,
                r#"{"a":"x","b":1}"#,
                r#"{"a":"x"}"#,
                "",
            ),
            (r#"{"type":"object"}"#, r#"{"a":"x"}"#, "{}", ""),
            (
                r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#,
                r#"{"a":{"b":1}}"#,
                r#"{"a":{"b":1}}"#,
                "",
            ),
            (
                r#"{"type":"object","additionalProperties":{"type":"integer"}}"#,
                r#"{"a":1,"b":2}"#,
                r#"{"a":1,"b":2}"#,
                "",
            ),
            (
                r#"{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}"#,
                "3",
                "3",
                "",
            ),
            (r#"{"x-kubernetes-preserve-unknown-fields":true}"#, "[{\"a\":1}]", "[{\"a\":1}]", ""),
            (
                r#"{"type":"array","items":{"type":"object","properties":{"v":{"type":"integer","default":7}}}}"#,
                r#"[{},{"v":0}]"#,
                r#"[{"v":7},{"v":0}]"#,
                "",
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string","default":"x"},"b":{"type":"string","nullable":true,"default":"y"}}}"#,
                r#"{"a":null,"b":null}"#,
                r#"{"a":"x","b":null}"#,
                "",
            ),
            (
                r#"{"type":"object","properties":{"o":{"type":"object","default":{},"properties":{"x":{"type":"integer","default":1}}}}}"#,
                "{}",
                r#"{"o":{"x":1}}"#,
                "",
            ),
            (
                r#"{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}"#,
                "{}",
                "{}",
                "spec.a: Required value",
            ),
            (
                r#"{"type":"integer","minimum":3}"#,
                "2",
                "2",
                "spec: Invalid value: 2: spec in body should be greater than or equal to 3",
            ),
            (
                r#"{"type":"number","maximum":3,"exclusiveMaximum":true}"#,
                "3",
                "3",
                "spec: Invalid value: 3: spec in body should be less than 3",
            ),
            (
                r#"{"type":"string","enum":["b","a"]}"#,
                "\"c\"",
                "\"c\"",
                "spec: Unsupported value: \"c\": supported values: \"b\", \"a\"",
            ),
            (
                r#"{"type":"string"}"#,
                "0",
                "0",
                "spec: Invalid value: \"integer\": spec in body must be of type string: \"integer\"",
            ),
            (r#"{"type":"string"}"#, "\"\"", "\"\"", ""),
            (
                r#"{"type":"object","maxProperties":1,"additionalProperties":{"type":"string"}}"#,
                r#"{"a":"","b":""}"#,
                r#"{"a":"","b":""}"#,
                "spec: Too many: 2: must have at most 1 item",
            ),
            (
                r#"{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}"#,
                r#"{"metadata":{"name":"n","x":1},"y":1}"#,
                r#"{"metadata":{"name":"n"},"y":1}"#,
                "",
            ),
        ] {
            let Root { ty, node } = compile(&object(schema));
            let mut value = json(&format!(r#"{{"spec":{given}}}"#));
            prune::prune(&ty, &mut value);
            defaults::apply_defaults(&ty, &mut value);
            assert_eq!(to_string(&value), format!(r#"{{"spec":{want}}}"#), "{schema}");
            let mut errors = ErrorList::new();
            custom(&node, &value, None, &Path::default(), &mut errors);
            let found = if errors.is_empty() { String::new() } else { errors.aggregate() };
            assert_eq!(found, faults, "{schema}");
        }
    }

    #[test]
    fn what_additional_properties_keep() {
        for (schema, given, want) in [
            ("true", r#"{"a":"x","b":{"c":1},"d":2}"#, r#"{"a":"x","b":{},"d":2}"#),
            ("false", r#"{"a":"x","b":{"c":1},"d":2}"#, r#"{"a":"x","b":{},"d":2}"#),
            ("null", r#"{"a":"x","b":{"c":1},"d":2}"#, r#"{"a":"x"}"#),
        ] {
            let ty = compile(&format!(
                r#"{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{"a":{{"type":"string"}}}},
                "additionalProperties":{schema}}}}}}}"#
            ))
            .ty;
            let mut value = json(&format!(r#"{{"spec":{given}}}"#));
            prune::prune(&ty, &mut value);
            assert_eq!(to_string(&value), format!(r#"{{"spec":{want}}}"#), "{schema}");
        }
    }

    #[test]
    fn equal_parts_are_one() {
        let part = r#"{"type":"object","properties":{"x":{"type":"string"}}}"#;
        let schema = format!(r#"{{"type":"object","properties":{{"a":{part},"b":{part}}}}}"#);
        let ty = compile(&schema).ty;
        let part = |name: &str| match ty.field(name).map(|field| &field.node.shape) {
            Some(Shape::Struct(Ref::Shared(part))) => Arc::clone(part),
            other => panic!("{other:?}"),
        };
        assert!(Arc::ptr_eq(&part("a"), &part("b")));
    }
}
