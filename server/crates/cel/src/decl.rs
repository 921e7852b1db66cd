//! Declared types: what a schema says of values, for the checker, for estimates and for reading them.
//!
//! Invariant: a declaration and the values it reads agree: what the checker lets pass is read as that type.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use apiwright_json::{Object as JsonObject, Value};

use crate::types::Type;
use crate::{REQUEST_BYTES_MAX, escape};

/// How deep a schema may nest and still be declared.
const DEPTH_MAX: usize = 200;

/// What is known of values at one place.
#[derive(Debug)]
pub struct Decl {
    /// How they are read.
    pub shape: Shape,
    /// What the checker calls them.
    pub ty: Type,
    /// Whether null is a value there.
    pub nullable: bool,
    /// How many characters, items or members there can be.
    pub elements_max: u64,
    /// The fewest bytes that one takes.
    pub bytes_min: u64,
}

/// How values at a place are read.
#[derive(Debug)]
pub enum Shape {
    /// As what they are.
    Dyn,
    /// As numbers or strings, whichever they are.
    IntOrString,
    /// As booleans.
    Bool,
    /// As integers.
    Int,
    /// As floating-point numbers.
    Double,
    /// As strings.
    String,
    /// From base64.
    Bytes,
    /// From `2026-01-02T03:04:05Z`.
    Timestamp,
    /// From `2026-01-02`.
    Date,
    /// From `1h`.
    Duration,
    /// As lists.
    List(Arc<Decl>, ListKind),
    /// As maps of anything to values of one kind.
    Map(Arc<Decl>),
    /// As objects.
    Object(Arc<Object>),
}

/// When lists are equal.
#[derive(Debug, PartialEq)]
pub enum ListKind {
    /// Item by item.
    Atomic,
    /// In any order.
    Set,
    /// In any order, by keys.
    Map(Vec<String>),
}

/// The fields of an object.
#[derive(Debug)]
pub struct Object {
    /// The name of its type.
    pub name: String,
    /// Whether any field may be set, as in mutations.
    pub open: bool,
    /// By identifier.
    pub fields: HashMap<Box<str>, Field>,
}

/// A field.
#[derive(Debug)]
pub struct Field {
    /// Its name in JSON.
    pub name: Box<str>,
    /// What is there.
    pub decl: Arc<Decl>,
}

static DYN: LazyLock<Arc<Decl>> = LazyLock::new(|| Arc::new(Decl::simple(Shape::Dyn, Type::Dyn, 1)));

impl Decl {
    /// Values of which nothing is known.
    pub fn dynamic() -> Arc<Self> {
        Arc::clone(&DYN)
    }

    /// Values of a structural schema; none where expressions may not see them.
    ///
    /// `root` says that they are objects of a kind, with type and name.
    pub fn of_schema(schema: &Value, root: bool, name: &str) -> Option<Arc<Self>> {
        let schema = schema.as_object()?;
        build(schema, root, name, 0).map(Arc::new)
    }

    /// Values of a kind, by the schema that is published of it; where that does not say what all objects have, they
    /// have type and name.
    pub fn of_kind(schema: &Value, name: &str) -> Option<Arc<Self>> {
        let is_text =
            |path: &[&str]| schema.text_at(&[&["properties"], path, &["type"]].concat()) == "string";
        let metadata = |member| is_text(&["metadata", "properties", member]);
        let is_whole =
            is_text(&["kind"]) && is_text(&["apiVersion"]) && metadata("name") && metadata("generateName");
        Self::of_schema(schema, !is_whole, name)
    }

    /// An object of given fields, whose names are their identifiers.
    pub fn object(name: &str, fields: Vec<(&str, Arc<Self>)>) -> Arc<Self> {
        let fields =
            fields.into_iter().map(|(name, decl)| (name.into(), Field { name: name.into(), decl })).collect();
        Arc::new(of_object(Object { name: name.to_owned(), open: false, fields }, 2))
    }

    /// Values of a type, read as what they are.
    pub fn of_type(ty: Type) -> Arc<Self> {
        Arc::new(Self::simple(Shape::Dyn, ty, 1))
    }

    /// A moment.
    pub fn timestamp() -> Arc<Self> {
        Arc::new(Self { elements_max: 32, ..Self::simple(Shape::Timestamp, Type::Timestamp, 21) })
    }

    /// A whole number.
    pub fn int() -> Arc<Self> {
        Arc::new(Self::simple(Shape::Int, Type::Int, 1))
    }

    /// A string of which nothing else is known.
    pub fn string() -> Arc<Self> {
        Arc::new(Self { elements_max: REQUEST_BYTES_MAX - 2, ..Self::simple(Shape::String, Type::String, 2) })
    }

    /// A boolean.
    pub fn bool() -> Arc<Self> {
        Arc::new(Self::simple(Shape::Bool, Type::Bool, 4))
    }

    /// A list of these.
    pub fn list_of(item: Arc<Self>) -> Arc<Self> {
        let elements_max = (REQUEST_BYTES_MAX - 2) / (item.bytes_min + 1);
        Arc::new(list(item, ListKind::Atomic, elements_max))
    }

    /// A map of strings to these.
    pub fn map_of(value: Arc<Self>) -> Arc<Self> {
        let elements_max = (REQUEST_BYTES_MAX - 2) / (value.bytes_min + 6);
        Arc::new(map(value, elements_max))
    }

    /// How often a value of this could be in one request.
    pub fn cardinality_max(&self) -> u64 {
        REQUEST_BYTES_MAX / (self.bytes_min + 1)
    }

    /// The declaration of the items of a list or the values of a map.
    pub fn element(&self) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::List(item, _) | Shape::Map(item) => Some(item),
            _ => None,
        }
    }

    /// The declaration of a property, by its name in JSON.
    pub fn property(&self, name: &str) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::Object(object) => Some(&object.fields.get(escape(name)?.as_str())?.decl),
            _ => None,
        }
    }

    fn simple(shape: Shape, ty: Type, bytes_min: u64) -> Self {
        Self { shape, ty, nullable: false, elements_max: 0, bytes_min }
    }
}

fn build(schema: &JsonObject, root: bool, name: &str, depth: usize) -> Option<Decl> {
    if depth > DEPTH_MAX {
        return None;
    }
    let nullable = is(schema, "nullable");
    let length_max = number(schema, "maxLength");
    let mut decl = if is(schema, "x-kubernetes-int-or-string") {
        let elements_max = length_max.map_or(REQUEST_BYTES_MAX - 2, |length| length.saturating_mul(4));
        Decl { elements_max, ..Decl::simple(Shape::IntOrString, Type::Dyn, 1) }
    } else {
        match text(schema, "type") {
            _ if root => object(schema, true, name, depth)?,
            "object" => object(schema, root, name, depth)?,
            "array" => {
                let items = schema.get("items")?.as_object()?;
                let embedded = is(items, "x-kubernetes-embedded-resource");
                let item = Arc::new(build(items, embedded, &format!("{name}.@idx"), depth + 1)?);
                let bound = (REQUEST_BYTES_MAX - 2) / (item.bytes_min + 1);
                list(item, list_kind(schema), number(schema, "maxItems").unwrap_or(bound))
            }
            "string" => string(schema, length_max),
            "boolean" => Decl::simple(Shape::Bool, Type::Bool, 4),
            "number" => Decl::simple(Shape::Double, Type::Double, 1),
            "integer" => Decl::simple(Shape::Int, Type::Int, 1),
            _ => return None,
        }
    };
    decl.nullable = nullable;
    Some(decl)
}

fn string(schema: &JsonObject, length_max: Option<u64>) -> Decl {
    let (shape, ty, bytes_min, elements_max) = match text(schema, "format") {
        "byte" => (Shape::Bytes, Type::Bytes, 2, length_max.unwrap_or(REQUEST_BYTES_MAX - 2)),
        "duration" => (Shape::Duration, Type::Duration, 3, 32),
        "date" => (Shape::Date, Type::Timestamp, 12, 12),
        "date-time" => (Shape::Timestamp, Type::Timestamp, 21, 32),
        _ => {
            let longest = |values: &Vec<Value>| {
                values.iter().filter_map(Value::as_str).map(str::len).max().unwrap_or_default() as u64
            };
            let choices = schema.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty());
            let elements_max = match (length_max, choices) {
                (Some(length), _) => length.saturating_mul(4),
                (None, Some(values)) => longest(values),
                (None, None) => REQUEST_BYTES_MAX - 2,
            };
            (Shape::String, Type::String, 2, elements_max)
        }
    };
    Decl { elements_max, ..Decl::simple(shape, ty, bytes_min) }
}

fn object(schema: &JsonObject, root: bool, name: &str, depth: usize) -> Option<Decl> {
    if let Some(values) = schema.get("additionalProperties").and_then(Value::as_object) {
        let embedded = is(values, "x-kubernetes-embedded-resource");
        let value = Arc::new(build(values, embedded, &format!("{name}.@elem"), depth + 1)?);
        let bound = (REQUEST_BYTES_MAX - 2) / (value.bytes_min + 6);
        return Some(map(value, number(schema, "maxProperties").unwrap_or(bound)));
    }
    let required = |name: &str| {
        schema
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
    };
    let none = JsonObject::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let mut bytes_min = 2;
    let mut fields = HashMap::with_capacity(properties.len());
    for (property, inner) in properties.iter() {
        if root && matches!(&**property, "kind" | "apiVersion" | "metadata") {
            continue;
        }
        let Some(inner) = inner.as_object() else { continue };
        let embedded = is(inner, "x-kubernetes-embedded-resource");
        let Some(decl) = build(inner, embedded, &format!("{name}.{property}"), depth + 1) else { continue };
        // What has a default is filled in by the server: the request need not carry it.
        if required(property) && inner.get("default").is_none() {
            bytes_min += property.len() as u64 + decl.bytes_min + 4;
        }
        if let Some(identifier) = escape(property) {
            let (name, decl) = (property.as_str().into(), Arc::new(decl));
            fields.insert(identifier.into(), Field { name, decl });
        }
    }
    if root {
        let metadata = vec![("name", Decl::string()), ("generateName", Decl::string())];
        let of_kind = [
            ("kind", Decl::string()),
            ("apiVersion", Decl::string()),
            ("metadata", Decl::object(&format!("{name}.metadata"), metadata)),
        ];
        for (property, decl) in of_kind {
            if required(property) {
                bytes_min += property.len() as u64 + decl.bytes_min + 4;
            }
            fields.insert(property.into(), Field { name: property.into(), decl });
        }
    }
    Some(of_object(Object { name: name.to_owned(), open: false, fields }, bytes_min))
}

fn of_object(object: Object, bytes_min: u64) -> Decl {
    let object = Arc::new(object);
    Decl::simple(Shape::Object(Arc::clone(&object)), Type::Struct(object), bytes_min)
}

fn list(item: Arc<Decl>, kind: ListKind, elements_max: u64) -> Decl {
    let ty = Type::list(item.ty.clone());
    Decl { elements_max, ..Decl::simple(Shape::List(item, kind), ty, 2) }
}

fn map(value: Arc<Decl>, elements_max: u64) -> Decl {
    let ty = Type::map(Type::String, value.ty.clone());
    Decl { elements_max, ..Decl::simple(Shape::Map(value), ty, 2) }
}

fn list_kind(schema: &JsonObject) -> ListKind {
    match text(schema, "x-kubernetes-list-type") {
        "set" => ListKind::Set,
        "map" => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            let keys = keys.map(|keys| keys.iter().filter_map(Value::as_str).map(str::to_owned).collect());
            ListKind::Map(keys.unwrap_or_default())
        }
        _ => ListKind::Atomic,
    }
}

fn is(schema: &JsonObject, word: &str) -> bool {
    matches!(schema.get(word), Some(Value::Bool(true)))
}

fn text<'a>(schema: &'a JsonObject, word: &str) -> &'a str {
    schema.get(word).and_then(Value::as_str).unwrap_or_default()
}

fn number(schema: &JsonObject, word: &str) -> Option<u64> {
    match schema.get(word) {
        Some(Value::Int(number)) => Some((*number).max(0).unsigned_abs()),
        _ => None,
    }
}
