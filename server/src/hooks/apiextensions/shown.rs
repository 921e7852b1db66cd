//! Parts of a definition as errors quote them: upstream shows its internal types, every field of
//! them, under their Go names.

use apiwright_json::{Object, Value};

/// What a field of the internal type of schemas is.
#[derive(Clone, Copy)]
enum Is {
    Text,
    Truth,
    /// Any value, or null.
    Value,
    Schema,
    Schemas,
    SchemaMap,
    SchemaOrArray,
    SchemaOrBool,
    Docs,
    Rules,
}

/// The fields of `JSONSchemaProps`: their Go names, their names in JSON.
const SCHEMA: &[(&str, &str, Is)] = &[
    ("ID", "id", Is::Text),
    ("Schema", "$schema", Is::Text),
    ("Ref", "$ref", Is::Value),
    ("Description", "description", Is::Text),
    ("Type", "type", Is::Text),
    ("Nullable", "nullable", Is::Truth),
    ("Format", "format", Is::Text),
    ("Title", "title", Is::Text),
    ("Default", "default", Is::Value),
    ("Maximum", "maximum", Is::Value),
    ("ExclusiveMaximum", "exclusiveMaximum", Is::Truth),
    ("Minimum", "minimum", Is::Value),
    ("ExclusiveMinimum", "exclusiveMinimum", Is::Truth),
    ("MaxLength", "maxLength", Is::Value),
    ("MinLength", "minLength", Is::Value),
    ("Pattern", "pattern", Is::Text),
    ("MaxItems", "maxItems", Is::Value),
    ("MinItems", "minItems", Is::Value),
    ("UniqueItems", "uniqueItems", Is::Truth),
    ("MultipleOf", "multipleOf", Is::Value),
    ("Enum", "enum", Is::Value),
    ("MaxProperties", "maxProperties", Is::Value),
    ("MinProperties", "minProperties", Is::Value),
    ("Required", "required", Is::Value),
    ("Items", "items", Is::SchemaOrArray),
    ("AllOf", "allOf", Is::Schemas),
    ("OneOf", "oneOf", Is::Schemas),
    ("AnyOf", "anyOf", Is::Schemas),
    ("Not", "not", Is::Schema),
    ("Properties", "properties", Is::SchemaMap),
    ("AdditionalProperties", "additionalProperties", Is::SchemaOrBool),
    ("PatternProperties", "patternProperties", Is::SchemaMap),
    ("Dependencies", "dependencies", Is::Value),
    ("AdditionalItems", "additionalItems", Is::SchemaOrBool),
    ("Definitions", "definitions", Is::SchemaMap),
    ("ExternalDocs", "externalDocs", Is::Docs),
    ("Example", "example", Is::Value),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Is::Value),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Is::Truth),
    ("XIntOrString", "x-kubernetes-int-or-string", Is::Truth),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Is::Value),
    ("XListType", "x-kubernetes-list-type", Is::Value),
    ("XMapType", "x-kubernetes-map-type", Is::Value),
    ("XValidations", "x-kubernetes-validations", Is::Rules),
];

/// A schema.
pub(super) fn schema(schema: &Value) -> Value {
    let Value::Object(given) = schema else { return Value::Null };
    SCHEMA.iter().map(|(go, json, is)| (*go, field(given.get(json), *is))).collect::<Object>().into()
}

/// Schemas of items.
pub(super) fn items(value: &Value) -> Value {
    field(Some(value), Is::SchemaOrArray)
}

/// The part of a version that holds its schema.
pub(super) fn validation(part: &Value) -> Value {
    let inner = part.get("openAPIV3Schema").map_or(Value::Null, schema);
    Object::from_iter([("OpenAPIV3Schema", inner)]).into()
}

/// The subresources of a version.
pub(super) fn subresources(part: &Value) -> Value {
    let given = |name: &str| part.get(name).filter(|value| !value.is_null());
    let status = given("status").map_or(Value::Null, |_| Object::new().into());
    let scale = given("scale").map_or(Value::Null, |scale| {
        let selector = scale.get("labelSelectorPath").cloned().unwrap_or_default();
        let mut shown = texts(
            scale,
            &[("SpecReplicasPath", "specReplicasPath"), ("StatusReplicasPath", "statusReplicasPath")],
        );
        shown.push("LabelSelectorPath", selector);
        shown.into()
    });
    Object::from_iter([("Status", status), ("Scale", scale)]).into()
}

/// The printed columns of a version.
pub(super) fn columns(part: &Value) -> Value {
    each(part, |column| {
        let mut shown = texts(
            column,
            &[("Name", "name"), ("Type", "type"), ("Format", "format"), ("Description", "description")],
        );
        shown.push("Priority", column.get("priority").and_then(Value::as_i64).unwrap_or_default());
        shown.push("JSONPath", column.text_at(&["jsonPath"]));
        shown.into()
    })
}

/// The selectable fields of a version.
pub(super) fn selectable(part: &Value) -> Value {
    each(part, |field| texts(field, &[("JSONPath", "jsonPath")]).into())
}

fn field(value: Option<&Value>, is: Is) -> Value {
    let value = value.filter(|value| !value.is_null());
    match (is, value) {
        (Is::Text, value) => value.and_then(Value::as_str).unwrap_or_default().into(),
        (Is::Truth, value) => value.and_then(Value::as_bool).unwrap_or_default().into(),
        (_, None) => Value::Null,
        (Is::Value, Some(value)) => value.clone(),
        (Is::Schema, Some(value)) => schema(value),
        (Is::Schemas, Some(value)) => each(value, schema),
        (Is::SchemaMap, Some(value)) => {
            let mut all: Object = value
                .as_object()
                .into_iter()
                .flat_map(Object::iter)
                .map(|(key, one)| (key.clone(), schema(one)))
                .collect();
            all.sort();
            all.into()
        }
        (Is::SchemaOrArray, Some(list @ Value::Array(_))) => {
            Object::from_iter([("Schema", Value::Null), ("JSONSchemas", each(list, schema))]).into()
        }
        (Is::SchemaOrArray, Some(one)) => {
            Object::from_iter([("Schema", schema(one)), ("JSONSchemas", Value::Null)]).into()
        }
        (Is::SchemaOrBool, Some(Value::Bool(allows))) => {
            Object::from_iter([("Allows", Value::from(*allows)), ("Schema", Value::Null)]).into()
        }
        (Is::SchemaOrBool, Some(one)) => {
            Object::from_iter([("Allows", Value::from(true)), ("Schema", schema(one))]).into()
        }
        (Is::Docs, Some(docs)) => texts(docs, &[("Description", "description"), ("URL", "url")]).into(),
        (Is::Rules, Some(rules)) => each(rules, rule),
    }
}

/// A rule of `x-kubernetes-validations`.
fn rule(rule: &Value) -> Value {
    let mut shown =
        texts(rule, &[("Rule", "rule"), ("Message", "message"), ("MessageExpression", "messageExpression")]);
    let given = |name: &str| rule.get(name).cloned().unwrap_or_default();
    shown.push("Reason", given("reason"));
    shown.push("FieldPath", rule.text_at(&["fieldPath"]));
    shown.push("OptionalOldSelf", given("optionalOldSelf"));
    shown.into()
}

fn texts(value: &Value, names: &[(&'static str, &str)]) -> Object {
    names.iter().map(|(go, json)| (*go, Value::from(value.text_at(&[json])))).collect()
}

fn each(list: &Value, shown: impl Fn(&Value) -> Value) -> Value {
    list.as_array().map_or(Value::Null, |all| all.iter().map(shown).collect::<Vec<_>>().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_shown() {
        let json = |text: &str| apiwright_json::decode(text.as_bytes()).unwrap().0;
        let given = json(r#"{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}"#);
        let shown = schema(&given);
        assert_eq!(shown.as_object().map(Object::len), Some(44));
        assert_eq!(shown.text_at(&["Items", "Schema", "Type"]), "string");
        assert!(shown.at(&["Items", "JSONSchemas"]).is_some_and(Value::is_null));
        assert_eq!(shown.text_at(&["XListType"]), "set");
        let open = schema(&json(r#"{"additionalProperties":true}"#));
        let allows = json(r#"{"Allows":true,"Schema":null}"#);
        assert_eq!(open.get("AdditionalProperties"), Some(&allows));
    }
}
