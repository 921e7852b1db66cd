//! Defaults as they are written, as the JSON that they mean for the type at hand.

use crate::check::index::{Home, Index};
use crate::diagnostic::Spanned;
use crate::parse::yaml::{Node, Tree};
use crate::spec::{BuiltIn, Holds};

/// The JSON of a literal, or what is wrong with it and where.
pub fn json<'a>(
    index: &Index<'a>,
    home: Home<'a>,
    holds: &Holds,
    node: &Node,
) -> Result<String, Spanned<String>> {
    let wrong = |expected: &str| {
        Err(Spanned::new(format!("expected {expected}, found {}", found(&node.value)), node.at.clone()))
    };
    match (holds, &node.value) {
        (Holds::Any(_) | Holds::BuiltIn(BuiltIn::RawObject), _) => Ok(any(node)),
        (Holds::List(item), Tree::List(items)) => {
            let items: Result<Vec<_>, _> = items.iter().map(|one| json(index, home, item, one)).collect();
            Ok(format!("[{}]", items?.join(",")))
        }
        (Holds::List(_), _) => wrong("a list"),
        (Holds::Map(value), Tree::Map(entries)) => {
            let entries: Result<Vec<_>, _> = entries
                .iter()
                .map(|(key, one)| Ok(format!("{}:{}", quoted(key), json(index, home, value, one)?)))
                .collect();
            Ok(format!("{{{}}}", entries?.join(",")))
        }
        (Holds::Named(name), Tree::Map(entries)) => {
            let Some((home, of)) = index.find(home, name) else { return Ok("{}".into()) };
            let mut members = Vec::new();
            for (key, one) in entries {
                let Some(field) = of.fields.iter().find(|field| *field.name == **key) else {
                    return Err(Spanned::new(
                        format!("`{}` has no field `{}`", *of.name, **key),
                        key.at.clone(),
                    ));
                };
                members.push(format!("{}:{}", quoted(key), json(index, home, &field.holds, one)?));
            }
            Ok(format!("{{{}}}", members.join(",")))
        }
        // An unknown type is another rule's matter.
        (Holds::Named(name), _) if index.find(home, name).is_none() => Ok("null".into()),
        (Holds::Map(_) | Holds::Named(_), _) => wrong("a map"),
        (Holds::BuiltIn(built_in), value) => match (scalar(*built_in, value), expectation(*built_in)) {
            (Some(json), _) => Ok(json),
            (None, expected) => wrong(expected),
        },
    }
}

/// A text as JSON.
pub fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for one in text.chars() {
        match one {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\t' => json.push_str("\\t"),
            control if control < ' ' => json.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => json.push(other),
        }
    }
    json.push('"');
    json
}

fn scalar(built_in: BuiltIn, value: &Tree) -> Option<String> {
    let Tree::Scalar(text, is_quoted) = value else { return None };
    let plain = !is_quoted;
    match built_in {
        BuiltIn::Bool => (plain && (text == "true" || text == "false")).then(|| text.clone()),
        BuiltIn::Int32 => (plain && text.parse::<i32>().is_ok()).then(|| text.clone()),
        BuiltIn::Int64 => (plain && text.parse::<i64>().is_ok()).then(|| text.clone()),
        BuiltIn::Double => (plain && text.parse::<f64>().is_ok_and(f64::is_finite)).then(|| text.clone()),
        BuiltIn::IntOrString if plain && text.parse::<i32>().is_ok() => Some(text.clone()),
        BuiltIn::RawObject | BuiltIn::FieldsV1 => None,
        _ if plain
            && (text.is_empty() || text.parse::<f64>().is_ok() || text == "true" || text == "false") =>
        {
            None
        }
        _ => Some(quoted(text)),
    }
}

fn expectation(built_in: BuiltIn) -> &'static str {
    match built_in {
        BuiltIn::Bool => "`true` or `false`",
        BuiltIn::Int32 => "a whole number of 32 bits",
        BuiltIn::Int64 => "a whole number of 64 bits",
        BuiltIn::Double => "a number",
        BuiltIn::IntOrString => "a whole number or a text",
        BuiltIn::RawObject | BuiltIn::FieldsV1 => "a map",
        BuiltIn::String
        | BuiltIn::Bytes
        | BuiltIn::Time
        | BuiltIn::MicroTime
        | BuiltIn::Duration
        | BuiltIn::Quantity => "a text (in quotes where it looks like something else)",
    }
}

fn found(value: &Tree) -> String {
    match value {
        Tree::Scalar(text, true) => format!("the text {}", quoted(text)),
        Tree::Scalar(text, false) if !text.is_empty() => format!("`{text}`"),
        other => other.what().into(),
    }
}

/// A tree as the JSON that it looks like.
pub fn any(node: &Node) -> String {
    match &node.value {
        Tree::Scalar(text, false) if text.is_empty() || text == "null" => "null".into(),
        Tree::Scalar(text, false) if text == "true" || text == "false" || text.parse::<f64>().is_ok() => {
            text.clone()
        }
        Tree::Scalar(text, _) => quoted(text),
        Tree::List(items) => format!("[{}]", items.iter().map(any).collect::<Vec<_>>().join(",")),
        Tree::Map(entries) => {
            let members: Vec<_> =
                entries.iter().map(|(key, one)| format!("{}:{}", quoted(key), any(one))).collect();
            format!("{{{}}}", members.join(","))
        }
    }
}
