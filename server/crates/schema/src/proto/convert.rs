//! Times between their texts and their numbers.

use apiwright_json::Value;
use apiwright_meta::time::Time;

use super::Error;
use super::encode::mismatch;
use super::wire::{self, Reader, Wire};

/// Appends the fields of a time; the zero time has none.
pub(super) fn put_time(value: &Value, with_nanos: bool, out: &mut Vec<u8>) -> Result<(), Error> {
    let text = value.as_str().ok_or_else(|| mismatch("a time"))?;
    let time = if with_nanos { Time::parse_micro(text) } else { Time::parse(text) }.map_err(Error)?;
    put_parsed(time, with_nanos, out);
    Ok(())
}

/// Appends the fields of a time that has been read.
pub(super) fn put_parsed(time: Time, with_nanos: bool, out: &mut Vec<u8>) {
    if time.is_zero() {
        return;
    }
    wire::put_varint(1, time.seconds as u64, out);
    wire::put_varint(2, if with_nanos { u64::from(time.nanos / 1000 * 1000) } else { 0 }, out);
}

/// The text of a time's message; null for the zero time.
pub(super) fn read_time(bytes: &[u8], with_nanos: bool) -> Result<Value, Error> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0i64, 0i32);
    let mut reader = Reader::new(bytes, "Timestamp");
    while let Some((number, value)) = reader.next()? {
        match (number, value) {
            (1, Wire::Varint(number)) => seconds = number as i64,
            (2, Wire::Varint(number)) => nanos = number as i32,
            (1, other) => return Err(wrong_wire(other, "Seconds")),
            (2, other) => return Err(wrong_wire(other, "Nanos")),
            _ => {}
        }
    }
    // Years that RFC 3339 cannot show are no times in JSON either.
    if !(YEAR_ZERO..YEAR_TEN_THOUSAND).contains(&seconds) {
        return Err(Error::new("Time.MarshalJSON: year outside of range [0,9999]"));
    }
    let time = Time { seconds, nanos: u32::try_from(nanos).unwrap_or(0).min(999_999_999) };
    Ok(if with_nanos { time.to_rfc3339_micro() } else { time.to_rfc3339() }.into())
}

/// 0000-01-01T00:00:00Z.
const YEAR_ZERO: i64 = -62_167_219_200;
/// 10000-01-01T00:00:00Z.
const YEAR_TEN_THOUSAND: i64 = 253_402_300_800;

/// The error of a field that is written as it should not be.
pub(super) fn wrong_wire(found: Wire<'_>, field: &str) -> Error {
    Error(format!("proto: wrong wireType = {} for field {field}", found.number()))
}
