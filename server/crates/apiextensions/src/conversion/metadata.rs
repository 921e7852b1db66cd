//! What a conversion may do to metadata: change labels and annotations, and nothing else.

use apiwright_json::{Object, Value};
use apiwright_meta::{ErrorList, Path, labels, object};

/// Gives a converted object the original's metadata with its own labels and annotations.
pub(super) fn restore(original: &Value, converted: &mut Value) -> Result<(), String> {
    let given = match converted.get("metadata") {
        None => return Err("missing metadata in converted object".into()),
        Some(Value::Object(given)) => given.clone(),
        Some(other) => {
            return Err(format!("invalid metadata of type {} in converted object", go_type(other)));
        }
    };
    let mut metadata = object::metadata(original).clone();
    for name in ["labels", "annotations"] {
        match given.get(name) {
            None | Some(Value::Null) => {
                metadata.remove(name);
            }
            Some(Value::Object(texts)) => {
                check(name, texts, metadata.get(name))?;
                metadata.insert(name, texts.clone());
            }
            Some(other) => {
                return Err(format!(
                    "invalid metadata.{name} of type {} in converted object",
                    go_type(other)
                ));
            }
        }
    }
    if let Value::Object(converted) = converted {
        converted.insert("metadata", metadata);
    }
    Ok(())
}

/// Refuses values that are no texts, and whatever else labels or annotations cannot be, where they changed.
fn check(name: &str, texts: &Object, before: Option<&Value>) -> Result<(), String> {
    for (key, value) in texts.iter() {
        if value.as_str().is_none() {
            let ty = go_type(value);
            return Err(format!("metadata.{name}[{key}] must be a string, but is {ty} in converted object"));
        }
    }
    if before.and_then(Value::as_object) == Some(texts) {
        return Ok(());
    }
    let mut errors = ErrorList::new();
    let path = Path::new("metadata");
    if name == "labels" {
        errors.append(labels::validate_labels(texts, &path.child("labels")));
    } else {
        errors.append(object::validate_annotations(texts, &path.child("annotation")));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors.aggregate()) }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
        number if number.as_i64().is_some() => "int64",
        _ => "float64",
    }
}
