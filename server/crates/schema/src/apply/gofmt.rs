//! Values as Go's `fmt` prints them: schema errors quote what they found.

use std::fmt::Write as _;

use apiwright_json::{Object, Value};

/// `%v` of what a JSON value is in Go: `map[a:1 b:[x y]]`.
pub(crate) fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_plain(value, &mut out);
    out
}

/// `%#v`: `map[string]interface {}{"a":1}`.
pub(crate) fn syntax(value: &Value) -> String {
    let mut out = String::new();
    write_syntax(value, &mut out);
    out
}

/// `%T`.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A float as `%v` prints it: the shortest form, with an exponent below 1e-4 and from 1e21 on.
pub(crate) fn go_float(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return match number {
            n if n.is_nan() => "NaN".into(),
            f64::INFINITY => "+Inf".into(),
            f64::NEG_INFINITY => "-Inf".into(),
            n if n.is_sign_negative() => "-0".into(),
            _ => "0".into(),
        };
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..21).contains(&exponent) {
        return format!("{number}");
    }
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn write_plain(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Int(number) => {
            let _ = write!(out, "{number}");
        }
        Value::Float(number) => out.push_str(&go_float(*number)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                write_plain(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push_str("map[");
            for (at, (name, value)) in sorted(members).into_iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                out.push_str(name);
                out.push(':');
                write_plain(value, out);
            }
            out.push(']');
        }
    }
}

fn write_syntax(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("interface {}(nil)"),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => write_plain(value, out),
        Value::String(text) => out.push_str(&apiwright_meta::field::quoted(text)),
        Value::Array(items) => {
            out.push_str("[]interface {}{");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_syntax(item, out);
            }
            out.push('}');
        }
        Value::Object(members) => {
            out.push_str("map[string]interface {}{");
            for (at, (name, value)) in sorted(members).into_iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                out.push_str(&apiwright_meta::field::quoted(name));
                out.push(':');
                write_syntax(value, out);
            }
            out.push('}');
        }
    }
}

fn sorted(members: &Object) -> Vec<(&str, &Value)> {
    let mut members: Vec<_> = members.iter().map(|(name, value)| (name.as_str(), value)).collect();
    members.sort_by_key(|member| member.0);
    members
}
