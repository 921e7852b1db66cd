//! Conversions between types.

use std::sync::Arc;

use apiwright_meta::time::Time;

use super::time;
use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::value::Val;

pub(super) const FUNCTIONS: &[Entry] = &[
    Entry {
        name: "bool",
        price: Price::One,
        native: to_bool,
        signatures: &["bool_to_bool: (bool) -> bool", "string_to_bool: (string) -> bool"],
    },
    Entry {
        name: "bytes",
        price: Price::One,
        native: to_bytes,
        signatures: &["bytes_to_bytes: (bytes) -> bytes", "string_to_bytes: (string) -> bytes"],
    },
    Entry {
        name: "double",
        price: Price::One,
        native: to_double,
        signatures: &[
            "double_to_double: (double) -> double",
            "int64_to_double: (int) -> double",
            "string_to_double: (string) -> double",
            "uint64_to_double: (uint) -> double",
        ],
    },
    Entry {
        name: "int",
        price: Price::One,
        native: to_int,
        signatures: &[
            "int64_to_int64: (int) -> int",
            "double_to_int64: (double) -> int",
            "duration_to_int64: (duration) -> int",
            "string_to_int64: (string) -> int",
            "timestamp_to_int64: (timestamp) -> int",
            "uint64_to_int64: (uint) -> int",
        ],
    },
    Entry {
        name: "uint",
        price: Price::One,
        native: to_uint,
        signatures: &[
            "uint64_to_uint64: (uint) -> uint",
            "double_to_uint64: (double) -> uint",
            "int64_to_uint64: (int) -> uint",
            "string_to_uint64: (string) -> uint",
        ],
    },
    Entry {
        name: "string",
        price: Price::One,
        native: to_string,
        signatures: &[
            "string_to_string: (string) -> string",
            "bool_to_string: (bool) -> string",
            "bytes_to_string: (bytes) -> string",
            "double_to_string: (double) -> string",
            "duration_to_string: (duration) -> string",
            "int64_to_string: (int) -> string",
            "timestamp_to_string: (timestamp) -> string",
            "uint64_to_string: (uint) -> string",
            "ip_to_string: (ip) -> string",
            "cidr_to_string: (cidr) -> string",
        ],
    },
    Entry {
        name: "timestamp",
        price: Price::One,
        native: to_timestamp,
        signatures: &[
            "timestamp_to_timestamp: (timestamp) -> timestamp",
            "int64_to_timestamp: (int) -> timestamp",
            "string_to_timestamp: (string) -> timestamp",
        ],
    },
    Entry {
        name: "duration",
        price: Price::One,
        native: to_duration,
        signatures: &[
            "duration_to_duration: (duration) -> duration",
            "int64_to_duration: (int) -> duration",
            "string_to_duration: (string) -> duration",
        ],
    },
];

fn unconvertible(from: &Val<'_>, to: &str) -> EvalError {
    EvalError::new(format!("type conversion error from '{}' to '{to}'", from.ty().name()))
}

fn to_bool<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::Bool(value)] => Ok(Val::Bool(*value)),
        [from @ Val::String(text)] => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => Err(unconvertible(from, "bool")),
        },
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn to_bytes<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [value @ Val::Bytes(_)] => Ok(value.clone()),
        [Val::String(text)] => Ok(Val::Bytes(Arc::from(text.as_bytes()))),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn to_double<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(Val::Double(match args {
        [Val::Double(value)] => *value,
        [Val::Int(value)] => *value as f64,
        [Val::Uint(value)] => *value as f64,
        [from @ Val::String(text)] => go_float(text).ok_or_else(|| unconvertible(from, "double"))?,
        _ => return Err(EvalError::NO_OVERLOAD),
    }))
}

/// A number as Go's `ParseFloat` takes it, without underscores and hexadecimals.
fn go_float(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    // Go takes `inf` and `nan` too; what is too large for a float it refuses.
    let spelled = text.chars().any(|sign| matches!(sign, 'n' | 'N'));
    (value.is_finite() || spelled).then_some(value)
}

fn to_int<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let overflow = || EvalError::new("integer overflow");
    Ok(Val::Int(match args {
        [Val::Int(value)] => *value,
        [Val::Uint(value)] => i64::try_from(*value).map_err(|_| overflow())?,
        // The bounds themselves are not exact, and not taken.
        [Val::Double(value)] if *value > i64::MIN as f64 && *value < i64::MAX as f64 => *value as i64,
        [Val::Double(_)] => return Err(overflow()),
        [from @ Val::String(text)] => text.parse().map_err(|_| unconvertible(from, "int"))?,
        [Val::Timestamp(time)] => time.seconds,
        [Val::Duration(nanos)] => *nanos,
        _ => return Err(EvalError::NO_OVERLOAD),
    }))
}

fn to_uint<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let overflow = || EvalError::new("unsigned integer overflow");
    Ok(Val::Uint(match args {
        [Val::Uint(value)] => *value,
        [Val::Int(value)] => u64::try_from(*value).map_err(|_| overflow())?,
        [Val::Double(value)] if *value >= 0.0 && *value < u64::MAX as f64 => *value as u64,
        [Val::Double(_)] => return Err(overflow()),
        // Go takes no sign here.
        [from @ Val::String(text)] if text.starts_with('+') => return Err(unconvertible(from, "uint")),
        [from @ Val::String(text)] => text.parse().map_err(|_| unconvertible(from, "uint"))?,
        _ => return Err(EvalError::NO_OVERLOAD),
    }))
}

fn to_string<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    Ok(match args {
        [value @ Val::String(_)] => value.clone(),
        [Val::Bool(value)] => Val::str(if *value { "true" } else { "false" }),
        [Val::Int(value)] => Val::text(value.to_string()),
        [Val::Uint(value)] => Val::text(value.to_string()),
        [Val::Double(value)] => Val::text(go_double(*value)),
        [Val::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => Val::text(text),
            Err(_) => return Err(EvalError::new("invalid UTF-8 in bytes, cannot convert to string")),
        },
        [Val::Duration(nanos)] => Val::text(time::duration_text(*nanos)),
        [Val::Timestamp(time)] => Val::text(time.to_rfc3339_nano()),
        [Val::Ip(address)] => Val::text(address.to_string()),
        [Val::Cidr(address, bits)] => Val::text(format!("{address}/{bits}")),
        _ => return Err(EvalError::NO_OVERLOAD),
    })
}

/// A number as Go's `%g` writes it.
pub(super) fn go_double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if value != 0.0 && !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    format!("{value}")
}

fn to_timestamp<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [value @ Val::Timestamp(_)] => Ok(value.clone()),
        [Val::Int(seconds)] => time::moment(Time::from_unix(*seconds)),
        [from @ Val::String(text)] => {
            time::moment(Time::parse(text).map_err(|_| unconvertible(from, "google.protobuf.Timestamp"))?)
        }
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn to_duration<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [value @ Val::Duration(_)] => Ok(value.clone()),
        [Val::Int(nanos)] => Ok(Val::Duration(*nanos)),
        [from @ Val::String(text)] => apiwright_meta::time::Duration::parse(text)
            .map(|duration| Val::Duration(duration.nanos()))
            .map_err(|_| unconvertible(from, "google.protobuf.Duration")),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}
