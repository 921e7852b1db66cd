//! `'%s of %d'.format([…])`.

use super::{numbers, strings, time};
use crate::error::EvalError;
use crate::value::{List, Val};

/// The longest text that is made, in bytes.
const BYTES_MAX: usize = 64 << 20;
/// The most digits after a point.
const PRECISION_MAX: usize = 1000;
const PRECISION_DEFAULT: usize = 6;

/// Replaces the clauses of a text by the items of a list.
pub(super) fn format(text: &str, list: &List<'_>) -> Result<String, EvalError> {
    let mut out = String::with_capacity(text.len());
    let mut signs = text.chars().peekable();
    let mut taken = 0;
    while let Some(sign) = signs.next() {
        if sign != '%' {
            out.push(sign);
            continue;
        }
        if signs.peek() == Some(&'%') {
            signs.next();
            out.push('%');
            continue;
        }
        let mut precision = None;
        if signs.peek() == Some(&'.') {
            signs.next();
            let mut digits = String::new();
            while let Some(digit) = signs.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            let number: usize = digits.parse().map_err(|_| {
                EvalError::new("error while parsing precision: error while converting precision to integer")
            })?;
            precision = Some(number.min(PRECISION_MAX));
        }
        let Some(clause) = signs.next() else { return Err(EvalError::new("unexpected end of string")) };
        let Some(item) = list.get(taken) else {
            return Err(EvalError::new(format!("index {taken} out of range")));
        };
        taken += 1;
        let item = item?;
        match clause {
            's' => out.push_str(&shown(&item)),
            'd' => out.push_str(&decimal(&item)?),
            'f' => out.push_str(&fixed(&item, precision.unwrap_or(PRECISION_DEFAULT))?),
            'e' => out.push_str(&scientific(&item, precision.unwrap_or(PRECISION_DEFAULT))?),
            'b' => out.push_str(&binary(&item)?),
            'x' => out.push_str(&hexadecimal(&item, false)?),
            'X' => out.push_str(&hexadecimal(&item, true)?),
            'o' => out.push_str(&octal(&item)?),
            other => {
                let why =
                    format!("could not parse formatting clause: unrecognized formatting clause \"{other}\"");
                return Err(EvalError::new(why));
            }
        }
        if out.len() > BYTES_MAX {
            return Err(EvalError::CANCELLED);
        }
    }
    Ok(out)
}

/// A value as `%s` shows it.
pub(super) fn shown(value: &Val<'_>) -> String {
    show(value, 0)
}

fn show(value: &Val<'_>, depth: usize) -> String {
    const DEPTH_MAX: usize = 200;
    if depth > DEPTH_MAX {
        return "…".to_owned();
    }
    let within = |value: &Val<'_>| match value {
        Val::String(text) => strings::quoted(text),
        other => show(other, depth + 1),
    };
    match value {
        Val::Null | Val::Optional(None) => "null".to_owned(),
        Val::Bool(value) => value.to_string(),
        Val::Int(value) => value.to_string(),
        Val::Uint(value) => value.to_string(),
        Val::Double(value) => {
            numbers::go_double(*value).replace("+Inf", "Infinity").replace("-Inf", "-Infinity")
        }
        Val::String(text) => text.to_string(),
        Val::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Val::Timestamp(moment) => moment.to_rfc3339_nano(),
        Val::Duration(nanos) => time::duration_text(*nanos),
        Val::Type(ty) => ty.name().to_owned(),
        Val::Optional(Some(inner)) => show(inner, depth + 1),
        Val::List(list) => {
            let items: Vec<String> = list
                .iter()
                .map(|item| item.map_or_else(|why| why.to_string(), |item| within(&item)))
                .collect();
            format!("[{}]", items.join(", "))
        }
        Val::Map(map) => {
            let mut entries = map.entries().unwrap_or_default();
            entries.sort_by(|a, b| a.0.compare(&b.0).unwrap_or(std::cmp::Ordering::Equal));
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{}: {}", within(key), within(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Val::Quantity(quantity) => quantity.to_string(),
        Val::Url(url) => url.text(),
        Val::Ip(address) => address.to_string(),
        Val::Cidr(address, bits) => format!("{address}/{bits}"),
        other => other.ty().name().to_owned(),
    }
}

fn refuse(value: &Val<'_>, clause: &str, takes: &str) -> EvalError {
    EvalError::new(format!(
        "error during formatting: {clause} clause can only be used on {takes}, was given {}",
        value.ty().name()
    ))
}

fn decimal(value: &Val<'_>) -> Result<String, EvalError> {
    match value {
        Val::Int(value) => Ok(value.to_string()),
        Val::Uint(value) => Ok(value.to_string()),
        Val::Double(value) if !value.is_finite() => Ok(shown(&Val::Double(*value))),
        other => Err(refuse(other, "decimal", "integers")),
    }
}

fn number(value: &Val<'_>, clause: &str) -> Result<f64, EvalError> {
    match value {
        Val::Double(value) => Ok(*value),
        Val::Int(value) => Ok(*value as f64),
        Val::Uint(value) => Ok(*value as f64),
        other => Err(refuse(other, clause, "doubles")),
    }
}

fn fixed(value: &Val<'_>, precision: usize) -> Result<String, EvalError> {
    let number = number(value, "fixed-point")?;
    Ok(if number.is_finite() { format!("{number:.precision$}") } else { shown(&Val::Double(number)) })
}

fn scientific(value: &Val<'_>, precision: usize) -> Result<String, EvalError> {
    let number = number(value, "scientific")?;
    if !number.is_finite() {
        return Ok(shown(&Val::Double(number)));
    }
    let text = format!("{number:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let sign = if exponent < 0 { '-' } else { '+' };
    Ok(format!("{mantissa}e{sign}{:02}", exponent.abs()))
}

fn signed(value: i64, show: impl Fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", show(value.unsigned_abs()))
}

fn binary(value: &Val<'_>) -> Result<String, EvalError> {
    match value {
        Val::Int(value) => Ok(signed(*value, |value| format!("{value:b}"))),
        Val::Uint(value) => Ok(format!("{value:b}")),
        Val::Bool(value) => Ok(u8::from(*value).to_string()),
        other => {
            Err(refuse(other, "only integers and bools can be formatted as binary:", "integers and bools"))
        }
    }
}

fn octal(value: &Val<'_>) -> Result<String, EvalError> {
    match value {
        Val::Int(value) => Ok(signed(*value, |value| format!("{value:o}"))),
        Val::Uint(value) => Ok(format!("{value:o}")),
        other => Err(refuse(other, "octal", "integers")),
    }
}

fn hexadecimal(value: &Val<'_>, upper: bool) -> Result<String, EvalError> {
    let of_bytes = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let text = match value {
        Val::Int(value) => signed(*value, |value| format!("{value:x}")),
        Val::Uint(value) => format!("{value:x}"),
        Val::String(text) => of_bytes(text.as_bytes()),
        Val::Bytes(bytes) => of_bytes(bytes),
        other => return Err(refuse(other, "hex", "integers, byte buffers, and strings")),
    };
    Ok(if upper { text.to_uppercase() } else { text })
}
