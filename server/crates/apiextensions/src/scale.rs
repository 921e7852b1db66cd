//! The fields that a resource is scaled by have to be numbers, and its selector a text.

use apiwright_json::{Value, to_string};
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path};

use crate::definition::Scale;

/// Faults of the wished replicas.
pub(crate) fn spec(scale: &Scale, object: &Value, errors: &mut ErrorList) {
    replicas(&scale.spec_replicas, object, errors);
}

/// Faults of the actual replicas and the selector.
pub(crate) fn status(scale: &Scale, object: &Value, errors: &mut ErrorList) {
    replicas(&scale.status_replicas, object, errors);
    let path = scale.selector.as_str();
    match found(path, object) {
        Ok(None | Some(Value::String(_))) => {}
        Ok(Some(other)) => errors.invalid(Path::new(path), quoted(""), &unfit(path, other, "string")),
        Err(why) => errors.invalid(Path::new(path), quoted(""), &why),
    }
}

fn replicas(path: &str, object: &Value, errors: &mut ErrorList) {
    let at = Path::new(path);
    match found(path, object) {
        Ok(None) => {}
        Ok(Some(Value::Int(number))) if *number < 0 => {
            errors.invalid(at, number, "should be a non-negative integer");
        }
        Ok(Some(Value::Int(number))) if *number > i64::from(i32::MAX) => {
            errors.invalid(at, number, &format!("should be less than or equal to {}", i32::MAX));
        }
        Ok(Some(Value::Int(_))) => {}
        Ok(Some(other)) => errors.invalid(at, 0, &unfit(path, other, "int64")),
        Err(why) => errors.invalid(at, 0, &why),
    }
}

/// What is at a path; text where something on the way has no members.
fn found<'a>(path: &str, object: &'a Value) -> Result<Option<&'a Value>, String> {
    let mut at = object;
    if path.is_empty() {
        return Ok(None);
    }
    for name in path.trim_start_matches('.').split('.') {
        match at {
            Value::Object(members) => match members.get(name) {
                Some(member) => at = member,
                None => return Ok(None),
            },
            Value::Null => return Ok(None),
            other => return Err(unfit(path, other, "map[string]interface{}")),
        }
    }
    Ok(Some(at))
}

fn unfit(path: &str, value: &Value, wanted: &str) -> String {
    let (shown, kind) = match value {
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Bool(truth) => (truth.to_string(), "bool"),
        Value::Int(number) => (number.to_string(), "int64"),
        Value::Float(_) => (to_string(value), "float64"),
        Value::String(text) => (text.to_string(), "string"),
        Value::Array(_) => (to_string(value), "[]interface {}"),
        Value::Object(_) => (to_string(value), "map[string]interface {}"),
    };
    format!("{path} accessor error: {shown} is of the type {kind}, expected {wanted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_scaled() {
        let scale = Scale {
            spec_replicas: ".spec.n".into(),
            status_replicas: ".status.n".into(),
            selector: ".status.s".into(),
        };
        for (object, want) in [
            (r#"{"spec":{"n":1},"status":{"n":1,"s":"a=b"}}"#, "[]"),
            ("{}", "[]"),
            (r#"{"spec":{"n":-1}}"#, ".spec.n: Invalid value: -1: should be a non-negative integer"),
            (
                r#"{"spec":{"n":"x"}}"#,
                ".spec.n: Invalid value: 0: .spec.n accessor error: x is of the type string, expected int64",
            ),
            (
                r#"{"status":{"s":5}}"#,
                ".status.s: Invalid value: \"\": .status.s accessor error: 5 is of the type int64, expected string",
            ),
        ] {
            let value = apiwright_json::decode(object.as_bytes()).expect(object).0;
            let mut errors = ErrorList::new();
            spec(&scale, &value, &mut errors);
            status(&scale, &value, &mut errors);
            assert_eq!(errors.aggregate(), want, "{object}");
        }
    }
}
