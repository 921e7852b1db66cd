//! JSON merge patch (RFC 7386), as kube-apiserver has it: what a patch adds has its nulls removed
//! inside of lists as well.

use apiwright_json::{Object, Value};

use super::Error;

/// What upstream says of a body that is no merge patch.
pub(super) const NO_PATCH: &str = "Invalid JSON Patch";

/// Reads a patch; `checked` as a strict decoder does.
pub(super) fn read(value: Value, checked: bool) -> Result<Value, Error> {
    match value {
        Value::Null => Err(Error::BadRequest(NO_PATCH.into())),
        Value::Object(_) => Ok(value),
        other if checked => Err(Error::BadRequest(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            other.go_kind()
        ))),
        Value::Array(_) => Ok(value),
        _ => Err(Error::BadRequest(NO_PATCH.into())),
    }
}

/// The target with the patch applied.
pub fn apply(target: Value, patch: &Value) -> Value {
    match (target, patch) {
        (Value::Object(mut object), Value::Object(patch)) => {
            merge(&mut object, patch);
            Value::Object(object)
        }
        (Value::Object(_), patch) => patch.clone(),
        (_, patch) => without_nulls(patch),
    }
}

fn merge(object: &mut Object, patch: &Object) {
    for (name, value) in patch.iter() {
        if value.is_null() {
            object.remove(name);
            continue;
        }
        match object.get_mut(name) {
            None => object.push(name.clone(), without_nulls(value)),
            Some(current) => *current = apply(std::mem::take(current), value),
        }
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(
            object
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use apiwright_json::to_string;

    use super::apply;
    use crate::testing::json;

    #[test]
    fn merges_as_the_rfc_says() {
        for (target, patch, want) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
            ("{}", r#"{"a":[{"b":null},null]}"#, r#"{"a":[{},null]}"#),
            (r#"{"a":null}"#, r#"{"a":{"b":null,"c":1}}"#, r#"{"a":{"c":1}}"#),
        ] {
            let once = apply(json(target), &json(patch));
            assert_eq!(to_string(&once), want, "{target} {patch}");
            assert_eq!(apply(once.clone(), &json(patch)), once, "merging twice changes no more");
        }
    }

    #[test]
    fn a_list_in_the_place_of_an_object_keeps_its_nulls() {
        let patch = r#"{"a":[{"b":null}]}"#;
        assert_eq!(to_string(&apply(json(r#"{"a":{"b":1}}"#), &json(patch))), patch);
    }
}
