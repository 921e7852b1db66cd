//! Of what type a value is, and of what types and formats it may be.

use std::borrow::Cow;

use apiwright_json::Value;

use super::{Node, Passed, Rule, Shape, Trail, Walk};

impl Walk<'_> {
    /// Whether a value is of a type that its place allows.
    pub(super) fn of_type(&mut self, node: &Node, value: &Value, at: &Trail<'_>) -> Passed {
        let (types, format) = (types(node), format(node));
        if types.is_empty() && (format.is_none() || value.is_null()) {
            return usize::from(value.is_null());
        }
        let found = json_type(value);
        if value.is_null() {
            if node.nullable {
                return 1;
            }
            self.wrong_type(at, &types.join(","), found);
            return 0;
        }
        let is_number = types.contains(&"integer") || types.contains(&"number");
        let fits = types.contains(&found)
            || (found == "integer" && types.contains(&"number"))
            || (types.contains(&"integer") && matches!(value, Value::Float(number) if is_integer(*number)));
        // What has a format may be a list wherever it may be a text, as upstream has it.
        let is_formatted = format.is_some() && matches!(value, Value::String(_) | Value::Array(_));
        if fits || (is_formatted && !is_number) {
            return 2;
        }
        if let Some(format) = format.filter(|_| !is_formatted) {
            let found = match value {
                Value::Int(_) => "int64",
                Value::Float(_) => "float64",
                _ => "",
            };
            if found != format {
                self.wrong_type(at, format, found);
                return 1;
            }
        }
        self.wrong_type(at, &types.join(","), found);
        1
    }
}

/// The types that a place allows; none where it does not say.
fn types(node: &Node) -> &'static [&'static str] {
    if node.rules.iter().any(|rule| matches!(rule, Rule::Untyped)) {
        return &[];
    }
    match &node.shape {
        Shape::Bool => &["boolean"],
        Shape::Int32 | Shape::Int64 => &["integer"],
        Shape::Double => &["number"],
        Shape::IntOrString => &["integer", "string"],
        Shape::List(_) => &["array"],
        Shape::Map(_) | Shape::Struct(_) | Shape::RawObject | Shape::FieldsV1 => &["object"],
        Shape::Any(_) => &[],
        Shape::String(_)
        | Shape::Bytes
        | Shape::Time
        | Shape::MicroTime
        | Shape::Duration
        | Shape::Quantity => &["string"],
    }
}

/// The format that a place asks for.
pub(super) fn format(node: &Node) -> Option<&str> {
    node.rules.iter().find_map(|rule| match rule {
        Rule::Format(name) => Some(&**name),
        _ => None,
    })
}

/// The type of a number and its format, where there is one of each.
pub(super) struct Numeric<'n> {
    is_integer: bool,
    format: Option<&'n str>,
}

impl<'n> Numeric<'n> {
    pub(super) fn of(node: &'n Node) -> Self {
        let types = types(node);
        let is_integer = types == ["integer"];
        Self { is_integer, format: format(node).filter(|_| is_integer || types == ["number"]) }
    }

    /// The type that a number is not of.
    pub(super) fn fault(&self, number: &Value) -> Option<String> {
        let between =
            |number: f64, least: f64, beyond: f64| number.fract() == 0.0 && (least..beyond).contains(&number);
        let fits = match (number, self.is_integer, self.format) {
            (Value::Int(number), true, Some("int32")) => i32::try_from(*number).is_ok(),
            (Value::Float(number), true, Some("int32")) => between(*number, -2f64.powi(31), 2f64.powi(31)),
            (Value::Float(number), true, _) => between(*number, -2f64.powi(63), 2f64.powi(63)),
            (Value::Float(number), false, Some("float")) => (*number as f32).is_finite(),
            _ => true,
        };
        let ty = if self.is_integer { "integer" } else { "number" };
        (!fits).then(|| match self.format {
            Some(format) => format!("{ty} with format {format}"),
            None => format!("{ty} (default format)"),
        })
    }
}

/// Whether a number counts as an integer, near enough.
pub(super) fn is_integer(number: f64) -> bool {
    const MAX: f64 = 9_007_199_254_740_991.0;
    const NEAR: f64 = 1e-9;
    if !(-MAX..=MAX).contains(&number) {
        return false;
    }
    let apart = (number - number.round()).abs();
    apart == 0.0 || apart / (number.abs() + number.round().abs()) < NEAR
}

/// Whether a value is the one that a JSON text spells, or becomes it when Go converts it to that one's
/// type.
pub(super) fn is_one(value: &Value, text: &str) -> bool {
    if let Some(rest) = text.strip_prefix('"') {
        return match value {
            Value::String(value) if !text.contains('\\') => rest.strip_suffix('"') == Some(&**value),
            Value::String(value) => **value == *plain(text),
            // A number becomes the character of its code.
            Value::Int(number) => {
                let character = u32::try_from(*number).ok().and_then(char::from_u32);
                character.is_some_and(|one| *plain(text) == one.to_string())
            }
            _ => false,
        };
    }
    if matches!(value, Value::String(_) | Value::Null) {
        return false;
    }
    let Ok((wanted, _)) = apiwright_json::decode(text.as_bytes()) else { return false };
    match (value, &wanted) {
        (Value::Float(number), Value::Int(wanted)) => *number as i64 == *wanted,
        (Value::Int(number), Value::Float(_)) => Value::Float(*number as f64) == wanted,
        (value, wanted) => value == wanted,
    }
}

/// The text of a JSON string; other values as they are spelt.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    match text.starts_with('"').then(|| apiwright_json::decode(text.as_bytes())) {
        Some(Ok((Value::String(text), _))) => Cow::Owned(text.to_string()),
        _ => Cow::Borrowed(text),
    }
}

/// What JSON schema calls this kind of value.
fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Int(_) => "integer",
        Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
