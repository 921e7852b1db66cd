//! Whether the defaults of a schema are values that it allows.

use apiwright_json::{Object, Value};
use apiwright_meta::field::go_value;
use apiwright_meta::{ErrorList, Path};
use apiwright_schema::prune;
use apiwright_schema::validate::custom;

use crate::embedded;
use crate::schema::compile;
use crate::validations::Validator;

/// Faults of the defaults anywhere in a schema.
pub fn check(schema: &Value, path: &Path, errors: &mut ErrorList) {
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        one(schema, default, path, errors);
    }
    for (name, property) in
        schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Object::iter)
    {
        check(property, &path.child("properties").key(name), errors);
    }
    for word in ["items", "additionalProperties"] {
        if let Some(inner @ Value::Object(_)) = schema.get(word) {
            check(inner, &path.child(word), errors);
        }
    }
}

fn one(schema: &Value, default: &Value, path: &Path, errors: &mut ErrorList) {
    let path = path.child("default");
    // As the only member of an object, whose own schema says nothing else.
    let ty = compile(schema);
    let Some(node) = ty.field("default").map(|field| &field.node) else { return };
    let mut pruned: Value = [("default", default.clone())].into_iter().collect::<Object>().into();
    if !prune::prune(&ty, &mut pruned).is_empty() {
        errors.invalid(path.clone(), go_value(default), "must not have unknown fields");
    }
    let before = errors.0.len();
    embedded::validate(schema, default, &path, errors);
    if errors.0.len() == before {
        custom(node, default, None, &path, errors);
    }
    if errors.0.len() == before
        && let Some(rules) = Validator::of(schema, false)
    {
        rules.validate_default(&path, default, errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_fit_their_schemas() {
        for (schema, want) in [
            (r#"{"type":"string","default":"x"}"#, "[]"),
            (
                r#"{"type":"string","default":1}"#,
                "s.default: Invalid value: \"integer\":  in body must be of type string: \"integer\"",
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"integer","minimum":3,"default":2}}}"#,
                "s.properties[a].default: Invalid value: 2:  in body should be greater than or equal to 3",
            ),
            (
                r#"{"type":"array","items":{"type":"object","default":{"b":1}}}"#,
                "s.items.default: Invalid value: {\"b\":1}: must not have unknown fields",
            ),
        ] {
            let value = apiwright_json::decode(schema.as_bytes()).expect(schema).0;
            let mut errors = ErrorList::new();
            check(&value, &Path::new("s"), &mut errors);
            assert_eq!(errors.aggregate(), want, "{schema}");
        }
    }
}
