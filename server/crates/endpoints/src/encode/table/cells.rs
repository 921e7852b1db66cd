//! Columns and cells of a resource's tables.

use std::hash::{DefaultHasher, Hash, Hasher};

use apiwright_json::sparse::Wanted;
use apiwright_json::{Object, Value};
use apiwright_meta::field::go_float;
use apiwright_meta::time::Time;
use apiwright_registry::hooks::Cell;
use apiwright_registry::resource::TemplatePart;
use apiwright_registry::{Column, ColumnValue, Hooks};

use super::jsonpath::JsonPath;

/// A table's `columnDefinitions`.
pub(crate) fn definitions(columns: &[Column]) -> Value {
    Value::Array(
        columns
            .iter()
            // A cell without a heading is in the rows only.
            .filter(|column| !column.name.is_empty())
            .map(|column| {
                let mut definition = Object::with_capacity(5);
                definition.push("name", &*column.name);
                definition.push("type", &*column.kind);
                definition.push("format", &*column.format);
                definition.push("description", &*column.doc);
                definition.push("priority", column.priority);
                Value::Object(definition)
            })
            .collect(),
    )
}

/// What the cells are made of; all of an object where that is not known.
pub(crate) fn wanted(columns: &[Column], hooks: &dyn Hooks) -> Wanted {
    let is_computed = |column: &Column| matches!(column.value, ColumnValue::Hook);
    let mut paths = match hooks.cell_paths() {
        Some(paths) => paths.to_vec(),
        None if columns.iter().any(is_computed) => return Wanted::default(),
        None => Vec::new(),
    };
    for column in columns {
        match &column.value {
            ColumnValue::Name => paths.push("metadata.name"),
            ColumnValue::Age => paths.push("metadata.creationTimestamp"),
            ColumnValue::Since(path) | ColumnValue::Path(path, _) => paths.push(path),
            ColumnValue::Template(parts) => paths.extend(parts.iter().filter_map(|part| match part {
                TemplatePart::Literal(_) => None,
                TemplatePart::Path(path, _) => Some(&**path),
            })),
            ColumnValue::JsonPath(_) => return Wanted::default(),
            ColumnValue::Hook => {}
        }
    }
    Wanted::at(paths)
}

/// Tells columns from others.
pub(crate) fn id(columns: &[Column]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for column in columns {
        (&*column.name, &*column.kind, format!("{:?}", column.value)).hash(&mut hasher);
    }
    hasher.finish()
}

/// The cells of one object.
pub(crate) fn row(columns: &[Column], hooks: &dyn Hooks, object: &Value) -> Vec<Cell> {
    let is_computed = |column: &&Column| matches!(column.value, ColumnValue::Hook);
    let names: Vec<&str> = columns.iter().filter(is_computed).map(|column| &*column.name).collect();
    let computed = if names.is_empty() { Vec::new() } else { hooks.cells(&names, object) };
    let mut computed = computed.into_iter();
    let mut cell = |column: &Column| match &column.value {
        ColumnValue::Hook => computed.next().unwrap_or(Cell::Fixed(Value::Null)),
        ColumnValue::Age => age(object.at(&["metadata", "creationTimestamp"])),
        ColumnValue::Since(path) => age(lookup(object, path)),
        ColumnValue::JsonPath(path) => {
            let parsed = JsonPath::parse(path);
            let found = parsed.as_ref().and_then(|path| path.first(object));
            match found {
                Some(found @ Value::String(_)) if *column.kind == *"date" => age(Some(found)),
                found => Cell::Fixed(found.map_or(Value::Null, |found| of_kind(&column.kind, found))),
            }
        }
        value => Cell::Fixed(fixed(value, object)),
    };
    columns.iter().map(&mut cell).collect()
}

/// A cell that only the object decides upon.
fn fixed(value: &ColumnValue, object: &Value) -> Value {
    match value {
        ColumnValue::Name => Value::from(object.text_at(&["metadata", "name"])),
        ColumnValue::Path(path, otherwise) => match lookup(object, path) {
            None | Some(Value::Null) => literal(otherwise),
            // Go cannot tell an empty text from none.
            Some(Value::String(text)) if text.is_empty() => literal(otherwise),
            Some(found @ (Value::Array(_) | Value::Object(_))) => {
                Value::from(apiwright_json::to_string(found))
            }
            // A cell that may be a word is one always: `<unset>` or "2".
            Some(found @ (Value::Int(_) | Value::Float(_))) if is_word(otherwise) => {
                Value::from(apiwright_json::to_string(found))
            }
            Some(found) => found.clone(),
        },
        ColumnValue::Template(parts) => {
            Value::from(parts.iter().map(|part| text(part, object)).collect::<String>())
        }
        ColumnValue::Age | ColumnValue::Since(_) | ColumnValue::JsonPath(_) | ColumnValue::Hook => {
            Value::Null
        }
    }
}

/// What is printed where there is no value.
fn literal(otherwise: &str) -> Value {
    match otherwise {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        text => text.parse::<i64>().map_or_else(|_| Value::from(text), Value::Int),
    }
}

/// A value as a cell of a column of this kind; nothing where it is of another.
fn of_kind(kind: &str, found: &Value) -> Value {
    match (kind, found) {
        ("string", Value::String(_))
        | ("integer" | "number", Value::Int(_))
        | ("number", Value::Float(_))
        | ("boolean", Value::Bool(_)) => found.clone(),
        ("string", Value::Float(number)) => Value::from(go_float(*number)),
        ("string", Value::Null) => Value::Null,
        ("string", other) => Value::from(apiwright_json::to_string(other)),
        ("integer", Value::Float(number)) => Value::Int(*number as i64),
        _ => Value::Null,
    }
}

fn is_word(otherwise: &str) -> bool {
    !otherwise.is_empty() && otherwise.parse::<i64>().is_err()
}

fn text(part: &TemplatePart, object: &Value) -> String {
    match part {
        TemplatePart::Literal(text) => text.to_string(),
        TemplatePart::Path(path, otherwise) => match lookup(object, path) {
            None | Some(Value::Null) => otherwise.to_string(),
            Some(Value::String(text)) => text.to_string(),
            Some(value) => apiwright_json::to_string(value),
        },
    }
}

/// The value at a dotted path.
fn lookup<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|step| !step.is_empty()).try_fold(object, |value, step| value.get(step))
}

/// The time since a moment, in short.
fn age(moment: Option<&Value>) -> Cell {
    match moment.and_then(Value::as_str) {
        None | Some("") => Cell::Fixed("<unknown>".into()),
        Some(text) => match Time::parse(text) {
            Ok(moment) => Cell::Since { before: String::new(), moment, after: "" },
            Err(_) => Cell::Fixed("<invalid>".into()),
        },
    }
}
