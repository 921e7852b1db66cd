//! Structural schemas as the tables that the schema engine walks.
//!
//! Position: between a definition, which has the schema as JSON, and the [`Struct`]s that decode,
//! prune, default, validate and merge custom resources.
//! Invariant: equal parts of one compiler's schemas are one table, also across versions. What the
//! engine cannot check is refused, never left out.
//! Absence: whether a schema is structural, which is the validation of definitions.

use std::collections::HashMap;
use std::sync::Arc;

use apiwright_json::{Object, Value, to_string};
use apiwright_meta::{ErrorList, Path};
use apiwright_schema::table::{Plan, Unknown};
use apiwright_schema::{Field, Junctor, List, ListKind, Map, Node, Ref, Rule, Shape, Struct, Table, Text};

/// What a schema says that this server does not enforce yet.
///
/// # Errors
/// With those words.
pub fn unsupported(schema: &Value, path: &Path) -> Result<(), ErrorList> {
    compile(schema, path).map(|_| ())
}

/// A schema by itself, without the type of metadata.
pub(crate) fn compile(schema: &Value, path: &Path) -> Result<Ref<Struct>, ErrorList> {
    let metadata = structure(Vec::new(), Unknown::Keep, false);
    Compiler::new(Ref::Shared(Arc::new(metadata))).root(schema, "", path)
}

/// Compiles the schemas of one definition.
pub struct Compiler {
    /// The type of every object's metadata.
    object_meta: Ref<Struct>,
    structs: HashMap<String, Ref<Struct>>,
    lists: HashMap<String, Ref<List>>,
    maps: HashMap<String, Ref<Map>>,
    unsupported: ErrorList,
}

impl Compiler {
    /// A compiler; `object_meta` is the type of metadata.
    pub fn new(object_meta: Ref<Struct>) -> Self {
        Self {
            object_meta,
            structs: HashMap::new(),
            lists: HashMap::new(),
            maps: HashMap::new(),
            unsupported: ErrorList::new(),
        }
    }

    /// The type of a resource's objects.
    ///
    /// # Errors
    /// With the words that nothing here enforces, at their paths below `path`.
    pub fn root(&mut self, schema: &Value, name: &str, path: &Path) -> Result<Ref<Struct>, ErrorList> {
        let none = Object::new();
        let schema = schema.as_object().unwrap_or(&none);
        let fields = self.properties(schema, path);
        let fields = self.with_identity(fields);
        let identity = |name: &Text| matches!(&**name, "apiVersion" | "kind" | "metadata");
        let told = |rule: &Rule| matches!(rule, Rule::Members(names) if names.iter().all(identity));
        if !self.rules(schema, path).iter().all(told) {
            let words = "rules of the whole object, such as anyOf, are not supported yet";
            self.unsupported.forbidden(path.clone(), words);
        }
        let doc = shared(schema.str("description").unwrap_or_default());
        let root = Struct { name: shared(name), doc, ..structure(fields, unknown(schema), false) };
        let unsupported = std::mem::take(&mut self.unsupported);
        if unsupported.is_empty() { Ok(Ref::Shared(Arc::new(root))) } else { Err(unsupported) }
    }

    /// What a schema asks of the names of objects, where it does.
    pub(crate) fn metadata(&mut self, schema: &Value) -> Option<Struct> {
        let names = schema.at(&["properties", "metadata"]).and_then(Value::as_object)?;
        let fields = self.properties(names, &Path::default());
        (!fields.is_empty()).then(|| structure(fields, Unknown::Keep, false))
    }

    fn node(&mut self, schema: &Value, path: &Path) -> Node {
        let Some(schema) = schema.as_object() else { return any() };
        Node {
            shape: self.shape(schema, path),
            nullable: truth(schema, "nullable"),
            default: schema
                .get("default")
                .filter(|value| !value.is_null())
                .map(|value| shared(&to_string(value))),
            fill: None,
            rules: self.rules(schema, path),
        }
    }

    /// What a value must satisfy, in the order in which upstream's validator looks at it.
    fn rules(&mut self, schema: &Object, path: &Path) -> Table<Rule> {
        let mut all = self.junctors(schema, truth(schema, "x-kubernetes-int-or-string"), path);
        all.extend(rules(schema));
        let properties = schema.get("properties").and_then(Value::as_object);
        let known = |name: &&str| properties.is_some_and(|properties| properties.contains_key(name));
        let members: Vec<Text> =
            texts(schema, "required").into_iter().filter(|name| !known(name)).map(shared).collect();
        if !members.is_empty() {
            all.push(Rule::Members(table(members)));
        }
        table(all)
    }

    /// `told` is whether the shape says already that a value is an integer or a string.
    fn junctors(&mut self, schema: &Object, told: bool, path: &Path) -> Vec<Rule> {
        let mut rules = Vec::new();
        for (word, junctor) in
            [("anyOf", Junctor::AnyOf), ("oneOf", Junctor::OneOf), ("allOf", Junctor::AllOf)]
        {
            let branches = schema.get(word).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            if branches.is_empty() || (told && junctor == Junctor::AnyOf && is_int_or_string(branches)) {
                continue;
            }
            let nodes = branches.iter().enumerate().map(|(at, branch)| {
                self.branch(branch, told && junctor == Junctor::AllOf, &path.child(word).index(at))
            });
            rules.push(Rule::Junctor(junctor, table(nodes.collect())));
        }
        if let Some(branch @ Value::Object(_)) = schema.get("not") {
            let node = self.branch(branch, false, &path.child("not"));
            rules.push(Rule::Junctor(Junctor::Not, table(vec![node])));
        }
        rules
    }

    /// A schema under a junctor, which says nothing of the type.
    fn branch(&mut self, schema: &Value, told: bool, path: &Path) -> Node {
        let Some(schema) = schema.as_object() else { return any() };
        let mut all = self.junctors(schema, told, path);
        all.extend(rules(schema));
        let shape = match (schema.get("properties"), schema.get("items")) {
            (None | Some(Value::Null), Some(item @ Value::Object(_))) => {
                let item = self.branch(item, false, &path.child("items"));
                Shape::List(Ref::Shared(Arc::new(List { item, kind: ListKind::Atomic })))
            }
            (properties, _) => {
                let required = texts(schema, "required");
                let mut fields: Vec<Field> = Vec::new();
                for (name, property) in
                    properties.and_then(Value::as_object).into_iter().flat_map(Object::iter)
                {
                    let node = self.branch(property, false, &path.child("properties").key(name));
                    fields.push(Field {
                        required: required.contains(&name.as_str()),
                        ..field(shared(name), node)
                    });
                }
                for name in required {
                    if !fields.iter().any(|field| *field.name == *name) {
                        fields.push(Field { required: true, ..field(shared(name), any()) });
                    }
                }
                fields.sort_by(|a, b| a.name.cmp(&b.name));
                if fields.is_empty() {
                    Shape::Any(text(""))
                } else {
                    Shape::Struct(Ref::Shared(Arc::new(structure(fields, Unknown::Keep, false))))
                }
            }
        };
        Node { shape, rules: table(all), ..any() }
    }

    fn shape(&mut self, schema: &Object, path: &Path) -> Shape {
        if truth(schema, "x-kubernetes-int-or-string") {
            return Shape::IntOrString;
        }
        match schema.str("type").unwrap_or_default() {
            "string" => Shape::String(text("")),
            "integer" => Shape::Int64,
            "number" => Shape::Double,
            "boolean" => Shape::Bool,
            "array" => Shape::List(self.list(schema, path)),
            "object" => self.object(schema, path),
            _ => Shape::Any(text("")),
        }
    }

    fn object(&mut self, schema: &Object, path: &Path) -> Shape {
        let keeps = truth(schema, "x-kubernetes-preserve-unknown-fields");
        match schema.get("additionalProperties") {
            Some(value) if !keeps && !matches!(value, Value::Null | Value::Bool(false)) => {
                Shape::Map(self.map(schema, value, path))
            }
            _ => Shape::Struct(self.members(schema, path)),
        }
    }

    fn members(&mut self, schema: &Object, path: &Path) -> Ref<Struct> {
        let key = to_string(&Value::Object(schema.clone()));
        if let Some(known) = self.structs.get(&key) {
            return known.clone();
        }
        let mut fields = self.properties(schema, path);
        if truth(schema, "x-kubernetes-embedded-resource") {
            fields = self.with_identity(fields);
        }
        let atomic = schema.str("x-kubernetes-map-type") == Some("atomic");
        let made = Ref::Shared(Arc::new(structure(fields, unknown(schema), atomic)));
        self.structs.insert(key, made.clone());
        made
    }

    fn map(&mut self, schema: &Object, value: &Value, path: &Path) -> Ref<Map> {
        let atomic = schema.str("x-kubernetes-map-type") == Some("atomic");
        let key = format!("{atomic}{}", to_string(value));
        if let Some(known) = self.maps.get(&key) {
            return known.clone();
        }
        let value = self.node(value, &path.child("additionalProperties"));
        let made = Ref::Shared(Arc::new(Map { value, atomic }));
        self.maps.insert(key, made.clone());
        made
    }

    fn list(&mut self, schema: &Object, path: &Path) -> Ref<List> {
        let item = schema.get("items").unwrap_or(&Value::Null);
        let keys = texts(schema, "x-kubernetes-list-map-keys");
        let list_type = schema.str("x-kubernetes-list-type").unwrap_or("atomic");
        let key = format!("{list_type} {} {}", keys.join(","), to_string(item));
        if let Some(known) = self.lists.get(&key) {
            return known.clone();
        }
        let kind = match list_type {
            "set" => ListKind::Set,
            "map" => ListKind::Map(table(keys.into_iter().map(shared).collect())),
            _ => ListKind::Atomic,
        };
        let made = Ref::Shared(Arc::new(List { item: self.node(item, &path.child("items")), kind }));
        self.lists.insert(key, made.clone());
        made
    }

    fn properties(&mut self, schema: &Object, path: &Path) -> Vec<Field> {
        let required = texts(schema, "required");
        let properties = schema.get("properties").and_then(Value::as_object);
        let path = path.child("properties");
        let mut fields: Vec<Field> = properties
            .into_iter()
            .flat_map(Object::iter)
            .map(|(name, schema)| Field {
                required: required.contains(&name.as_str()),
                doc: shared(schema.text_at(&["description"])),
                ..field(shared(name), self.node(schema, &path.key(name)))
            })
            .collect();
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        fields
    }

    /// The fields that every object has, in place of what the schema says of them.
    fn with_identity(&self, mut fields: Vec<Field>) -> Vec<Field> {
        let metadata = Node { shape: Shape::Struct(self.object_meta.clone()), ..any() };
        let string = || Node { shape: Shape::String(text("")), ..any() };
        for (name, node) in [("apiVersion", string()), ("kind", string()), ("metadata", metadata)] {
            match fields.iter_mut().find(|one| *one.name == *name) {
                Some(field) => field.node = node,
                None => fields.push(field(text(name), node)),
            }
        }
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        fields
    }
}

/// The one way to say that a value is an integer or a string.
fn is_int_or_string(any_of: &[Value]) -> bool {
    matches!(any_of, [a, b] if a.text_at(&["type"]) == "integer" && b.text_at(&["type"]) == "string")
}

/// The rules of a value by itself.
fn rules(schema: &Object) -> Vec<Rule> {
    let number = |name: &str| match schema.get(name) {
        Some(Value::Int(number)) => Some(*number as f64),
        Some(Value::Float(number)) => Some(*number),
        _ => None,
    };
    let count = |name: &str| schema.get(name).and_then(Value::as_i64).and_then(|it| u64::try_from(it).ok());
    let word = |name: &str| schema.str(name).filter(|word| !word.is_empty()).map(shared);
    let exclusive = |name: &str| truth(schema, name);
    let mut rules = Vec::new();
    if let Some(values) = schema.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty()) {
        rules.push(Rule::Enum(table(values.iter().map(|value| shared(&to_string(value))).collect())));
    }
    rules.extend(number("maximum").map(|it| match exclusive("exclusiveMaximum") {
        true => Rule::ExclusiveMaximum(it),
        false => Rule::Maximum(it),
    }));
    rules.extend(number("minimum").map(|it| match exclusive("exclusiveMinimum") {
        true => Rule::ExclusiveMinimum(it),
        false => Rule::Minimum(it),
    }));
    rules.extend(number("multipleOf").filter(|it| *it != 0.0).map(Rule::MultipleOf));
    rules.extend(count("maxLength").map(Rule::MaxLength));
    rules.extend(count("minLength").map(Rule::MinLength));
    rules.extend(word("pattern").map(Rule::Pattern));
    rules.extend(word("format").map(Rule::Format));
    rules.extend(count("maxItems").map(Rule::MaxItems));
    rules.extend(count("minItems").map(Rule::MinItems));
    rules.extend(count("maxProperties").map(Rule::MaxProperties));
    rules.extend(count("minProperties").map(Rule::MinProperties));
    rules
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
    if truth(schema, "x-kubernetes-preserve-unknown-fields") { Unknown::Keep } else { Unknown::Drop }
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
    use apiwright_schema::validate::{Words, validate};
    use apiwright_schema::{defaults, prune};

    use super::*;

    fn json(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).expect(text).0
    }

    fn compile(schema: &str) -> Result<Ref<Struct>, String> {
        let meta = Ref::Shared(Arc::new(structure(vec![field(text("name"), any())], Unknown::Drop, false)));
        let schema = json(schema);
        Compiler::new(meta).root(&schema, "", &Path::new("s")).map_err(|errors| errors.aggregate())
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
            let ty = compile(&object(schema)).expect(schema);
            let mut value = json(&format!(r#"{{"spec":{given}}}"#));
            prune::prune(&ty, &mut value);
            defaults::apply_defaults(&ty, &mut value);
            assert_eq!(to_string(&value), format!(r#"{{"spec":{want}}}"#), "{schema}");
            let mut errors = ErrorList::new();
            validate(&ty, &value, None, &Path::default(), Words::Custom, &mut errors);
            let found = if errors.is_empty() { String::new() } else { errors.aggregate() };
            assert_eq!(found, faults, "{schema}");
        }
    }

    #[test]
    fn equal_parts_are_one() {
        let part = r#"{"type":"object","properties":{"x":{"type":"string"}}}"#;
        let schema = format!(r#"{{"type":"object","properties":{{"a":{part},"b":{part}}}}}"#);
        let ty = compile(&schema).expect("a schema");
        let part = |name: &str| match ty.field(name).map(|field| &field.node.shape) {
            Some(Shape::Struct(Ref::Shared(part))) => Arc::clone(part),
            other => panic!("{other:?}"),
        };
        assert!(Arc::ptr_eq(&part("a"), &part("b")));
    }
}
