//! OpenAPI v2: one document of all that is served, made of the v3 documents.
//!
//! Position: beside `document`, whose results it rewrites. Invariant: a parameter that can be shared is
//! said once and referred to by a name that follows from what it is.
//! Absence: defaults and what else v2 has no words for; they are left out, as upstream does.

mod clash;

use std::collections::BTreeMap;

use apiwright_json::{Object, Value, to_string};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;

const V3_SCHEMAS: &str = "#/components/schemas/";
/// Forms in the order in which v2 lists them.
const FORMS: [&str; 12] = [
    "text/plain",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
    "*/*",
];
const CUSTOM_FORMS: [&str; 2] = ["application/json", "application/yaml"];
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
/// Where a definition says of which kinds it is.
const KINDS: &str = "x-kubernetes-group-version-kind";
const IDENTITY: [&str; 3] = ["apiVersion", "kind", "metadata"];
/// What is said of a kind that takes anything.
const SAID_OF_ANY: [&str; 2] = ["x-kubernetes-group-version-kind", "x-kubernetes-selectable-fields"];
/// What says which kinds of bodies are alike in all groups.
const GENERIC_BODY: &str = "#/definitions/io.k8s.apimachinery";

/// Parts of a v2 document: definitions, parameters and paths by name.
#[derive(Default)]
pub struct Swagger {
    definitions: BTreeMap<String, Value>,
    parameters: BTreeMap<String, Value>,
    paths: BTreeMap<String, Value>,
}

impl Swagger {
    /// Adds what a v3 document says. Definitions of one name are one; those of several group versions say so.
    pub fn add(&mut self, document: &Value) {
        if let Some(schemas) = document.at(&["components", "schemas"]).and_then(Value::as_object) {
            for (name, schema) in schemas.iter() {
                self.define(name, schema);
            }
        }
        for (path, item) in
            document.get("paths").and_then(Value::as_object).into_iter().flat_map(Object::iter)
        {
            let item = self.item(item);
            self.paths.insert(path.to_string(), item);
        }
    }

    /// Adds another v2 document, as another server has it. Paths that are there stay; definitions and parameters of
    /// one name that say something else get another one.
    pub fn merge(&mut self, document: &Value) {
        clash::merge(self, document);
    }

    /// The document.
    pub fn into_value(self) -> Value {
        let info = Object::from_iter([("title", "Kubernetes"), ("version", "v1.36.0")]);
        let token = Object::from_iter([
            ("description", "Bearer Token authentication"),
            ("type", "apiKey"),
            ("name", "authorization"),
            ("in", "header"),
        ]);
        let security = Object::from_iter([("BearerToken", Vec::<Value>::new())]);
        let all = |members: BTreeMap<String, Value>| members.into_iter().collect::<Object>();
        let mut document = Object::new();
        document.push("swagger", "2.0");
        document.push("info", info);
        document.push("paths", all(self.paths));
        document.push("definitions", all(self.definitions));
        document.push("parameters", all(self.parameters));
        document.push("securityDefinitions", Object::from_iter([("BearerToken", token)]));
        document.push("security", vec![Value::from(security)]);
        document.into()
    }

    fn define(&mut self, name: &str, schema: &Value) {
        match self.definitions.get_mut(name) {
            Some(known) => add_kinds(known, schema),
            None => drop(self.definitions.insert(name.to_owned(), v2_definition(schema))),
        }
    }

    fn item(&mut self, item: &Value) -> Value {
        let mut out = Object::new();
        for (name, value) in item.as_object().into_iter().flat_map(Object::iter) {
            if METHODS.contains(&name.as_str()) {
                let operation = self.operation(value);
                out.push(name.clone(), operation);
            } else if name == "parameters" {
                let parameters = self.parameters(value);
                out.push("parameters", parameters);
            }
        }
        out.into()
    }

    fn operation(&mut self, operation: &Value) -> Value {
        let mut out = Object::new();
        let copy = |name: &str, out: &mut Object| {
            if let Some(value) = operation.get(name) {
                out.push(name.to_owned(), value.clone());
            }
        };
        copy("description", &mut out);
        let body = operation.get("requestBody");
        let produced = produces(operation);
        let consumed = match (body, operation.text_at(&["x-kubernetes-action"])) {
            (Some(body), _) => forms(body.get("content")),
            (None, "") => produced.clone(),
            // Custom resources are read in the forms in which they are answered.
            (None, _) if produced == CUSTOM_FORMS.map(Value::from) => produced.clone(),
            (None, _) => vec!["*/*".into()],
        };
        out.push("consumes", consumed);
        out.push("produces", produced);
        out.push("schemes", vec![Value::from("https")]);
        copy("tags", &mut out);
        copy("operationId", &mut out);
        let mut parameters: Vec<Value> =
            body.map(|body| self.share(body_parameter(body))).into_iter().collect();
        parameters.extend(operation.get("parameters").into_iter().flat_map(|list| self.parameters(list)));
        if !parameters.is_empty() {
            out.push("parameters", parameters);
        }
        let answers =
            operation.get("responses").and_then(Value::as_object).into_iter().flat_map(Object::iter);
        let answers: Object = answers.map(|(code, answer)| (code.clone(), v2_answer(answer))).collect();
        out.push("responses", answers);
        copy("x-kubernetes-action", &mut out);
        copy("x-kubernetes-group-version-kind", &mut out);
        out.into()
    }

    fn parameters(&mut self, parameters: &Value) -> Vec<Value> {
        let parameters = parameters.as_array().into_iter().flatten();
        parameters.map(|parameter| self.share(v2_parameter(parameter))).collect()
    }

    /// A parameter, or a reference to it where it is the same in other places. Those that name kinds are not;
    /// and two by which old clients see what a server can do stay where they are.
    fn share(&mut self, parameter: Value) -> Value {
        let name = parameter.text_at(&["name"]);
        let own = matches!(name, "name" | "fieldValidation" | "dryRun")
            || (name == "body" && !parameter.text_at(&["schema", "$ref"]).starts_with(GENERIC_BODY));
        if own {
            return parameter;
        }
        let name = format!("{name}-{}", digest(&to_string(&parameter)));
        let reference = Object::from_iter([("$ref", format!("#/parameters/{name}"))]);
        self.parameters.entry(name).or_insert(parameter);
        reference.into()
    }
}

/// A definition is also of the kinds that another one of its name is of.
fn add_kinds(known: &mut Value, other: &Value) {
    let new = other.get(KINDS).and_then(Value::as_array).into_iter().flatten();
    let Some(kinds) = known.at_mut(&[KINDS]).and_then(Value::as_array_mut) else { return };
    for kind in new {
        if !kinds.contains(kind) {
            kinds.push(kind.clone());
        }
    }
    let key = |kind: &Value| ["group", "version", "kind"].map(|part| kind.text_at(&[part]).to_owned());
    kinds.sort_by_key(key);
}

/// Eight characters that follow from a text (64 bits of FNV-1, cut to 48).
fn digest(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
    URL_SAFE.encode(&hash.to_be_bytes()[..6])
}

fn forms(content: Option<&Value>) -> Vec<Value> {
    let mut forms: Vec<&str> = content
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Object::keys)
        .map(apiwright_json::Str::as_str)
        .collect();
    forms.sort_by_key(|form| FORMS.iter().position(|known| known == form));
    forms.into_iter().map(Value::from).collect()
}

fn produces(operation: &Value) -> Vec<Value> {
    let answers = operation.get("responses").and_then(Value::as_object);
    let answer = answers.into_iter().flat_map(Object::iter).find(|(code, _)| code.starts_with('2'));
    forms(answer.and_then(|(_, answer)| answer.get("content")))
}

fn first_schema(content: Option<&Value>) -> Option<Value> {
    let content = content.and_then(Value::as_object)?;
    content.values().next().and_then(|form| form.get("schema")).map(v2_schema)
}

fn body_parameter(body: &Value) -> Value {
    let mut parameter = Object::new();
    parameter.push("name", "body");
    parameter.push("in", "body");
    if let Some(required) = body.get("required") {
        parameter.push("required", required.clone());
    }
    if let Some(schema) = first_schema(body.get("content")) {
        parameter.push("schema", schema);
    }
    parameter.into()
}

fn v2_parameter(parameter: &Value) -> Value {
    let mut out = Object::new();
    // The schema's members are the parameter's own in v2, in front of the others.
    let schema = parameter.get("schema").and_then(Value::as_object);
    for name in ["uniqueItems", "type"] {
        if let Some(value) = schema.and_then(|schema| schema.get(name)) {
            out.push(name, value.clone());
        }
    }
    for name in ["description", "name", "in", "required"] {
        if let Some(value) = parameter.get(name) {
            out.push(name, value.clone());
        }
    }
    out.into()
}

fn v2_answer(answer: &Value) -> Value {
    let mut out = Object::new();
    out.push("description", answer.get("description").cloned().unwrap_or_default());
    if let Some(schema) = first_schema(answer.get("content")) {
        out.push("schema", schema);
    }
    out.into()
}

/// A definition in the words of v2. Of a kind that takes anything nothing is said, or clients would refuse the rest.
fn v2_definition(schema: &Value) -> Value {
    match schema.as_object() {
        Some(schema) if is_true(schema, PRESERVE) => {
            let said = schema.iter().filter(|(name, _)| SAID_OF_ANY.contains(&name.as_str()));
            let mut out = Object::from_iter([("type", "object")]);
            said.for_each(|(name, value)| out.push(name.clone(), value.clone()));
            out.into()
        }
        _ => v2_schema(schema),
    }
}

/// A schema in the words of v2. Where v2 cannot say what a value is, it says nothing of its type.
fn v2_schema(schema: &Value) -> Value {
    let Some(schema) = schema.as_object() else { return schema.clone() };
    let mut out = Object::new();
    if let Some(reference) = reference(schema) {
        if let Some(description) = schema.get("description") {
            out.push("description", description.clone());
        }
        out.push("$ref", reference);
        for (name, value) in schema.iter().filter(|(name, _)| name.starts_with("x-kubernetes-")) {
            out.push(name.clone(), value.clone());
        }
        return out.into();
    }
    let is_nullable = is_true(schema, "nullable");
    let preserves = is_true(schema, PRESERVE);
    let is_embedded = is_true(schema, EMBEDDED);
    let is_open = is_nullable || preserves;
    for (name, value) in schema.iter() {
        match name.as_str() {
            "default" | "nullable" | "oneOf" | "anyOf" | "allOf" | "not" => {}
            "type" if is_nullable || (preserves && matches!(value.as_str(), Some("object" | "array"))) => {}
            "items" if is_open => {}
            "items" => out.push("items", v2_schema(value)),
            "additionalProperties" if value.is_null() => {}
            "additionalProperties" => out.push(name.clone(), v2_schema(value)),
            "properties" if preserves || (is_nullable && !is_embedded) => {}
            "properties" => {
                let members = value.as_object().into_iter().flat_map(Object::iter);
                let members = members.filter(|(name, _)| !is_nullable || IDENTITY.contains(&name.as_str()));
                let properties: Object =
                    members.map(|(name, value)| (name.clone(), v2_schema(value))).collect();
                out.push("properties", properties);
            }
            "required" => {
                let required = v2_required(schema, value, preserves && is_embedded);
                if !required.is_empty() {
                    out.push("required", required);
                }
            }
            _ => out.push(name.clone(), value.clone()),
        }
    }
    // Numbers that may be texts are texts for v2.
    if schema.contains_key("oneOf") && !out.contains_key("type") && !is_open {
        out.insert("type", "string");
    }
    out.into()
}

/// What clients may insist on: nothing that may be null, and not the identity of what takes anything.
fn v2_required(schema: &Object, required: &Value, takes_anything: bool) -> Vec<Value> {
    let may_be_null = |schema: Option<&Value>| {
        schema.and_then(Value::as_object).is_some_and(|schema| is_true(schema, "nullable"))
    };
    if may_be_null(schema.get("additionalProperties")) {
        return Vec::new();
    }
    let goes = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        may_be_null(schema.get("properties").and_then(|all| all.get(name)))
            || (takes_anything && IDENTITY.contains(&name))
    };
    required.as_array().into_iter().flatten().filter(|name| !goes(name)).cloned().collect()
}

fn is_true(schema: &Object, word: &str) -> bool {
    schema.get(word).and_then(Value::as_bool) == Some(true)
}

/// What a schema refers to and nothing else.
fn reference(schema: &Object) -> Option<String> {
    let one = match schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
        Some([one]) => one.text_at(&["$ref"]),
        Some(_) => return None,
        None => schema.str("$ref")?,
    };
    one.strip_prefix(V3_SCHEMAS).map(|name| format!("#/definitions/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).expect("JSON").0
    }

    #[test]
    fn schemas() {
        let table = [
            (
                r##"{"description":"d","allOf":[{"$ref":"#/components/schemas/a.B"}],"default":{}}"##,
                r##"{"description":"d","$ref":"#/definitions/a.B"}"##,
            ),
            (r#"{"oneOf":[{"type":"string"},{"type":"number"}]}"#, r#"{"type":"string"}"#),
            (
                r#"{"type":"array","items":{"type":"string","default":""}}"#,
                r#"{"type":"array","items":{"type":"string"}}"#,
            ),
            (r#"{"type":"boolean","nullable":true}"#, "{}"),
            (
                r#"{"type":"object","nullable":true,"properties":{"a":{}},"required":["a"],"additionalProperties":{"type":"string"}}"#,
                r#"{"required":["a"],"additionalProperties":{"type":"string"}}"#,
            ),
            (
                r#"{"type":"object","required":["a","b"],"properties":{"a":{"type":"string","nullable":true},"b":{}}}"#,
                r#"{"type":"object","required":["b"],"properties":{"a":{},"b":{}}}"#,
            ),
            (
                r#"{"type":"array","items":{},"x-kubernetes-preserve-unknown-fields":true,"maxItems":1}"#,
                r#"{"x-kubernetes-preserve-unknown-fields":true,"maxItems":1}"#,
            ),
            (
                r#"{"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true}"#,
                r#"{"x-kubernetes-int-or-string":true}"#,
            ),
        ];
        for (v3, v2) in table {
            assert_eq!(to_string(&v2_schema(&decode(v3))), v2, "{v3}");
        }
    }

    #[test]
    fn parameters_are_shared_by_a_name_that_follows_from_them() {
        let mut swagger = Swagger::default();
        let pretty = decode(r#"{"uniqueItems":true,"type":"string","name":"pretty","in":"query"}"#);
        let reference = swagger.share(pretty.clone());
        assert_eq!(swagger.share(pretty), reference);
        assert!(reference.text_at(&["$ref"]).starts_with("#/parameters/pretty-"));
        assert_eq!(swagger.parameters.len(), 1);
        let name = decode(r#"{"name":"name","in":"path"}"#);
        assert_eq!(swagger.share(name.clone()), name);
    }
}
