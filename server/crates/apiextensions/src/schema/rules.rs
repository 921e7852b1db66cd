//! What a schema asks of values, besides their shape.

use std::sync::Arc;

use apiwright_json::{Object, Value, to_string};
use apiwright_schema::table::Unknown;
use apiwright_schema::{Field, Junctor, List, ListKind, Node, Ref, Rule, Shape, Table};

use super::{Compiler, any, field, shared, structure, table, text, texts, truth};

/// The formats of texts that are known, without hyphens: others check nothing.
const FORMATS: &[&str] = &[
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// Whether a format means something for values of a type.
pub fn is_known_format(kind: &str, format: &str) -> bool {
    match kind {
        "" | "string" => FORMATS.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

impl Compiler {
    pub(super) fn rules(&mut self, schema: &Object) -> Table<Rule> {
        let rules = self.all_rules(schema);
        if rules.is_empty() { Ref::Static(&[]) } else { table(rules) }
    }

    pub(super) fn all_rules(&mut self, schema: &Object) -> Vec<Rule> {
        let mut all = self.junctors(schema);
        all.extend(of_values(schema));
        all
    }

    fn junctors(&mut self, schema: &Object) -> Vec<Rule> {
        let mut rules = Vec::new();
        for (word, junctor) in
            [("anyOf", Junctor::AnyOf), ("oneOf", Junctor::OneOf), ("allOf", Junctor::AllOf)]
        {
            let branches = schema.get(word).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            if !branches.is_empty() {
                let nodes = branches.iter().map(|branch| self.branch(branch)).collect();
                rules.push(Rule::Junctor(junctor, table(nodes)));
            }
        }
        if let Some(branch @ Value::Object(_)) = schema.get("not") {
            rules.push(Rule::Junctor(Junctor::Not, table(vec![self.branch(branch)])));
        }
        rules
    }

    /// A schema under a junctor. It says nothing of the type, but for that of an integer or a text.
    fn branch(&mut self, schema: &Value) -> Node {
        let Some(schema) = schema.as_object() else { return any() };
        let mut rules = self.all_rules(schema);
        if let Some(item @ Value::Object(_)) = schema.get("items") {
            let list = List { item: self.branch(item), kind: ListKind::Atomic };
            rules.push(Rule::Items(Ref::Shared(Arc::new(list))));
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut fields: Vec<Field> = properties
            .into_iter()
            .flat_map(Object::iter)
            .map(|(name, schema)| field(shared(name), self.branch(schema)))
            .collect();
        if !fields.is_empty() {
            fields.sort_by(|a, b| a.name.cmp(&b.name));
            rules.push(Rule::Properties(Ref::Shared(Arc::new(structure(fields, Unknown::Keep, false)))));
        }
        let shape = match schema.str("type") {
            Some("integer") => Shape::Int64,
            Some("string") => Shape::String(text("")),
            _ => Shape::Any(text("")),
        };
        Node { shape, rules: table(rules), ..any() }
    }
}

/// The rules of a value by itself.
fn of_values(schema: &Object) -> Vec<Rule> {
    let number = |name: &str| match schema.get(name) {
        Some(Value::Int(number)) => Some(*number as f64),
        Some(Value::Float(number)) => Some(*number),
        _ => None,
    };
    let count = |name: &str| schema.get(name).and_then(Value::as_i64).and_then(|it| u64::try_from(it).ok());
    let word = |name: &str| schema.str(name).filter(|word| !word.is_empty());
    let exclusive = |name: &str| truth(schema, name);
    let kind = match truth(schema, "x-kubernetes-int-or-string") {
        true => "",
        false => schema.str("type").unwrap_or_default(),
    };
    let mut rules = Vec::new();
    rules.extend(count("maxLength").map(Rule::MaxLength));
    rules.extend(count("minLength").map(Rule::MinLength));
    rules.extend(word("pattern").map(|pattern| Rule::Pattern(shared(pattern))));
    let format = word("format").filter(|format| is_known_format(kind, format));
    rules.extend(format.map(|format| Rule::Format(shared(format))));
    rules.extend(number("multipleOf").map(Rule::MultipleOf));
    rules.extend(number("minimum").map(|it| match exclusive("exclusiveMinimum") {
        true => Rule::ExclusiveMinimum(it),
        false => Rule::Minimum(it),
    }));
    rules.extend(number("maximum").map(|it| match exclusive("exclusiveMaximum") {
        true => Rule::ExclusiveMaximum(it),
        false => Rule::Maximum(it),
    }));
    rules.extend(count("minItems").map(Rule::MinItems));
    rules.extend(count("maxItems").map(Rule::MaxItems));
    if let Some(values) = schema.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty()) {
        rules.push(Rule::Enum(table(values.iter().map(|value| shared(&to_string(value))).collect())));
    }
    rules.extend(count("minProperties").map(Rule::MinProperties));
    rules.extend(count("maxProperties").map(Rule::MaxProperties));
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let known = properties.into_iter().flat_map(Object::keys).map(|name| shared(name)).collect();
        rules.push(Rule::Closed(table(known)));
    }
    let mut required = texts(schema, "required");
    let mut seen = std::collections::HashSet::new();
    required.retain(|name| seen.insert(*name));
    if !required.is_empty() {
        rules.push(Rule::Members(table(required.into_iter().map(shared).collect())));
    }
    rules
}
