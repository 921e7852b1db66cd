//! Types as OpenAPI v3 schemas, as kube-openapi's generator publishes Go types.

use std::collections::{BTreeMap, BTreeSet};

use apiwright_json::{Object, Value, decode};
use apiwright_registry::typed::Types;
use apiwright_schema::{Field, List, ListKind, Map, Node, Shape, Struct};

use crate::operations::gvk;

const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const DURATION: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Duration";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
const FIELDS_V1: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";

/// What upstream's types say beside what they do: of a definition's field, the word and its value,
/// or none where it is not said. Apply does the same either way.
const SAID: &[(&str, &str, &str, Option<&str>)] = &[
    ("io.k8s.apimachinery.pkg.apis.meta.v1.APIResource", "verbs", LIST_TYPE, None),
    (
        "io.k8s.api.core.v1.PersistentVolumeClaimStatus",
        "allocatedResourceStatuses",
        MAP_TYPE,
        Some("granular"),
    ),
    (
        "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceSpec",
        "caBundle",
        LIST_TYPE,
        Some("atomic"),
    ),
];
/// Where definitions are in a document.
pub(crate) const DEFINITIONS: &str = "#/components/schemas/";
const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_TYPE: &str = "x-kubernetes-map-type";

/// The schemas of a document, by definition name.
pub struct Schemas {
    types: Types,
    all: BTreeMap<String, Value>,
}

impl Schemas {
    /// None yet; `types` knows what values mean that have no table.
    pub fn new(types: Types) -> Self {
        Self { types, all: BTreeMap::new() }
    }

    /// Adds a type and every type that it refers to.
    pub fn add(&mut self, ty: &Struct) {
        if ty.name.is_empty() || self.all.contains_key(&*ty.name) {
            return;
        }
        // The name is taken first: types may refer to themselves.
        self.all.insert(ty.name.to_string(), Value::Null);
        // Its use may be granular where the type as such is atomic.
        let itself = if ty.atomic { None } else { (self.types)(&ty.name) };
        let schema = self.structure(itself.as_deref().unwrap_or(ty));
        self.all.insert(ty.name.to_string(), schema);
    }

    /// Drops what nothing of these values refers to, directly or not.
    pub fn keep_used(&mut self, by: &[&Value]) {
        let mut used = BTreeSet::new();
        let mut found: Vec<String> = Vec::new();
        for value in by {
            references(value, &mut found);
        }
        while let Some(name) = found.pop() {
            if used.insert(name.clone())
                && let Some(schema) = self.all.get(&name)
            {
                references(schema, &mut found);
            }
        }
        self.all.retain(|name, _| used.contains(name));
    }

    /// Marks the kinds of the core group that are parts of other kinds.
    pub fn mark_parts(&mut self) {
        for (name, schema) in &mut self.all {
            let Some((version, kind)) =
                name.strip_prefix("io.k8s.api.core.").and_then(|rest| rest.split_once('.'))
            else {
                continue;
            };
            let Value::Object(schema) = schema else { continue };
            let is_kind = ["kind", "apiVersion", "metadata"].iter().all(|member| {
                schema
                    .get("properties")
                    .and_then(Value::as_object)
                    .is_some_and(|all| all.contains_key(member))
            });
            if is_kind && !schema.contains_key("x-kubernetes-group-version-kind") {
                schema.insert("x-kubernetes-group-version-kind", vec![gvk("", version, kind)]);
            }
        }
    }

    /// Adds a value that no table has, with what it means.
    pub fn value(&mut self, name: &str, schema: Value) {
        self.special(name, schema);
    }

    /// Adds a definition that no table has.
    pub fn put(&mut self, name: &str, schema: Value) {
        self.all.insert(name.to_owned(), schema);
    }

    /// Says of which kinds a definition is the type.
    pub fn mark_kinds(&mut self, name: &str, kinds: Vec<Value>) {
        if let Some(Value::Object(schema)) = self.all.get_mut(name) {
            schema.insert("x-kubernetes-group-version-kind", kinds);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// `components.schemas`.
    pub fn into_value(self) -> Value {
        Value::Object(self.all.into_iter().collect())
    }

    fn structure(&mut self, ty: &Struct) -> Value {
        let mut schema = Object::new();
        describe(&mut schema, &ty.doc);
        schema.push("type", "object");
        let required: Vec<Value> =
            ty.fields.iter().filter(|field| field.required).map(|field| Value::from(&*field.name)).collect();
        if !required.is_empty() {
            schema.push("required", required);
        }
        // A list of a kind is nobody's to merge.
        let is_list = ty.fields.iter().any(|field| is_list_meta(&field.node));
        let properties: Object =
            ty.fields.iter().map(|field| (&*field.name, self.member(ty, is_list, field))).collect();
        if !properties.is_empty() {
            schema.push("properties", properties);
        }
        if ty.atomic {
            schema.push(MAP_TYPE, "atomic");
        }
        let unions: Vec<Value> = ty.unions.iter().map(union).collect();
        if !unions.is_empty() {
            schema.push("x-kubernetes-unions", unions);
        }
        schema.into()
    }

    fn member(&mut self, of: &Struct, is_list: bool, field: &Field) -> Value {
        let mut property = self.property(field);
        if let Value::Object(schema) = &mut property {
            if is_list && &*field.name == "items" {
                schema.remove(LIST_TYPE);
            }
            for (_, _, word, value) in
                SAID.iter().filter(|said| *said.0 == *of.name && *said.1 == *field.name)
            {
                match value {
                    Some(value) => schema.insert(*word, *value),
                    None => schema.remove(word),
                };
            }
        }
        property
    }

    fn property(&mut self, field: &Field) -> Value {
        let schema = match &field.node.shape {
            // How a list merges is said of fields only, not of lists within maps and lists.
            Shape::List(list) => self.list(list, true),
            _ => self.node(&field.node),
        };
        let Value::Object(mut schema) = schema else { return schema };
        let is_granular = match &field.node.shape {
            Shape::Struct(ty) if !ty.name.is_empty() && !ty.atomic => {
                (self.types)(&ty.name).is_some_and(|itself| itself.atomic)
            }
            _ => false,
        };
        let default = published_default(field);
        // A reference allows nothing beside it.
        if let Some(reference) = schema.get("$ref").cloned()
            && (!field.doc.is_empty() || default.is_some() || is_granular)
        {
            schema = Object::new();
            schema.push("allOf", vec![Value::Object([("$ref", reference)].into_iter().collect())]);
        }
        if !field.doc.is_empty() {
            schema.insert("description", &*field.doc);
        }
        if let Some(default) = default {
            schema.push("default", default);
        }
        if is_granular {
            schema.push(MAP_TYPE, "granular");
        }
        if let Some(patch) = &field.patch {
            if !patch.key.is_empty() {
                schema.push("x-kubernetes-patch-merge-key", &*patch.key);
            }
            let strategy = match (patch.merge, patch.retain_keys) {
                (true, true) => "merge,retainKeys",
                (true, false) => "merge",
                (false, true) => "retainKeys",
                (false, false) => "replace",
            };
            schema.push("x-kubernetes-patch-strategy", strategy);
        }
        schema.into()
    }

    fn node(&mut self, node: &Node) -> Value {
        match &node.shape {
            Shape::Bool => plain("boolean", None),
            Shape::Int32 => plain("integer", Some("int32")),
            Shape::Int64 => plain("integer", Some("int64")),
            Shape::Double => plain("number", Some("double")),
            Shape::String(_) => plain("string", None),
            Shape::Bytes => plain("string", Some("byte")),
            Shape::Time => self.special(TIME, plain("string", Some("date-time"))),
            Shape::MicroTime => self.special(MICRO_TIME, plain("string", Some("date-time"))),
            Shape::Duration => self.special(DURATION, plain("string", None)),
            Shape::Quantity => self.special(QUANTITY, one_of(&["string", "number"], None)),
            Shape::IntOrString => {
                self.special(INT_OR_STRING, one_of(&["integer", "string"], Some("int-or-string")))
            }
            Shape::Any(name) if name.is_empty() => Value::Object(Object::new()),
            Shape::Any(name) => self.special(name, any_of(name)),
            Shape::RawObject => self.special(RAW_EXTENSION, plain("object", None)),
            Shape::FieldsV1 => self.special(FIELDS_V1, plain("object", None)),
            Shape::List(list) => self.list(list, false),
            Shape::Map(map) => self.map(map),
            Shape::Struct(ty) if ty.name.is_empty() => self.structure(ty),
            Shape::Struct(ty) => {
                self.add(ty);
                reference(&ty.name)
            }
        }
    }

    fn list(&mut self, list: &List, merges: bool) -> Value {
        let mut schema = Object::new();
        schema.push("type", "array");
        schema.push("items", self.node(&list.item));
        match &list.kind {
            _ if !merges => {}
            ListKind::Atomic => schema.push(LIST_TYPE, "atomic"),
            ListKind::Set => schema.push(LIST_TYPE, "set"),
            ListKind::Map(keys) => {
                let keys: Vec<Value> = keys.iter().map(|key| Value::from(&**key)).collect();
                schema.push("x-kubernetes-list-map-keys", keys);
                schema.push(LIST_TYPE, "map");
            }
        }
        schema.into()
    }

    fn map(&mut self, map: &Map) -> Value {
        let mut schema = Object::new();
        schema.push("type", "object");
        schema.push("additionalProperties", self.node(&map.value));
        if map.atomic {
            schema.push(MAP_TYPE, "atomic");
        }
        schema.into()
    }

    /// A definition that every document has that refers to it.
    fn special(&mut self, name: &str, schema: Value) -> Value {
        if !self.all.contains_key(name) {
            let mut described = Object::new();
            if let Some(value) = (self.types)(name) {
                describe(&mut described, &value.doc);
            }
            for (word, value) in schema.as_object().into_iter().flat_map(Object::iter) {
                described.push(word.clone(), value.clone());
            }
            self.all.insert(name.to_owned(), described.into());
        }
        reference(name)
    }
}

/// The definitions that a value refers to, itself or within.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter() {
                match value.as_str().and_then(|text| text.strip_prefix(DEFINITIONS)) {
                    Some(name) if key == "$ref" => found.push(name.to_owned()),
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

fn is_list_meta(node: &Node) -> bool {
    matches!(&node.shape, Shape::Struct(ty) if &*ty.name == "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta")
}

/// `{"$ref": "#/components/schemas/…"}`.
pub fn reference(name: &str) -> Value {
    Value::Object([("$ref", format!("{DEFINITIONS}{name}"))].into_iter().collect())
}

/// A schema of a type and a format.
pub fn plain(kind: &str, format: Option<&str>) -> Value {
    let mut schema = Object::new();
    schema.push("type", kind);
    if let Some(format) = format {
        schema.push("format", format);
    }
    schema.into()
}

fn one_of(kinds: &[&str], format: Option<&str>) -> Value {
    let mut schema = Object::new();
    if let Some(format) = format {
        schema.push("format", format);
    }
    schema.push("oneOf", kinds.iter().map(|kind| plain(kind, None)).collect::<Vec<_>>());
    schema.into()
}

/// What a value of any shape is, where its name tells: a schema that is said as such is one.
fn any_of(name: &str) -> Value {
    Value::Object(match name.rsplit('.').next() {
        Some("JSONSchemaProps") => Object::from_iter([("type", "object")]),
        _ => Object::new(),
    })
}

fn describe(schema: &mut Object, doc: &str) {
    if !doc.is_empty() {
        schema.push("description", doc);
    }
}

/// The default that is declared, or the zero value that a field always has.
fn published_default(field: &Field) -> Option<Value> {
    if let Some(default) = &field.node.default {
        return decode(default.as_bytes()).ok().map(|(value, _)| value);
    }
    if field.pointer {
        return None;
    }
    match &field.node.shape {
        Shape::Struct(_) => Some(Object::new().into()),
        Shape::Bool if field.keep => Some(false.into()),
        Shape::Int32 | Shape::Int64 | Shape::Double if field.keep => Some(0.into()),
        Shape::String(_) if field.keep => Some("".into()),
        _ => None,
    }
}

fn union(union: &apiwright_schema::table::Union) -> Value {
    let mut entry = Object::new();
    if !union.discriminator.is_empty() {
        entry.push("discriminator", &*union.discriminator);
    }
    let members: Object =
        union.members.iter().map(|(field, value)| (&**field, Value::from(&**value))).collect();
    entry.push("fields-to-discriminateBy", members);
    entry.into()
}
