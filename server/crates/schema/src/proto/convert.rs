//! Times and durations between their texts and their numbers.

use apiwright_json::Value;

use super::Error;
use super::encode::mismatch;
use super::wire::{self, Reader, Wire};

const SECONDS_PER_DAY: i64 = 86_400;

/// Appends the fields of a time; the zero time has none.
pub(super) fn put_time(value: &Value, with_nanoseconds: bool, out: &mut Vec<u8>) -> Result<(), Error> {
    let text = value.as_str().ok_or_else(|| mismatch("a time"))?;
    let (seconds, nanoseconds) = parse_time(text).ok_or_else(|| mismatch("a time"))?;
    if (seconds, nanoseconds) == (ZERO_SECONDS, 0) {
        return Ok(());
    }
    wire::put_varint(1, seconds as u64, out);
    wire::put_varint(2, if with_nanoseconds { u64::from(nanoseconds / 1000 * 1000) } else { 0 }, out);
    Ok(())
}

/// The text of a time's message; null for the zero time.
pub(super) fn read_time(bytes: &[u8], with_nanoseconds: bool) -> Result<Value, Error> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanoseconds) = (0i64, 0i32);
    let mut reader = Reader::new(bytes, "Timestamp");
    while let Some((number, value)) = reader.next()? {
        match (number, value) {
            (1, Wire::Varint(number)) => seconds = number as i64,
            (2, Wire::Varint(number)) => nanoseconds = number as i32,
            (1, other) => return Err(wrong_wire(other, "Seconds")),
            (2, other) => return Err(wrong_wire(other, "Nanos")),
            _ => {}
        }
    }
    let microseconds = with_nanoseconds.then_some(nanoseconds.clamp(0, 999_999_999) / 1000);
    // Years that RFC 3339 cannot show are no times in JSON either.
    if !(ZERO_SECONDS..253_402_300_800).contains(&seconds) {
        return Err(Error::new("Time.MarshalJSON: year outside of range [0,9999]"));
    }
    Ok(format_time(seconds, microseconds).into())
}

/// 0001-01-01T00:00:00Z.
const ZERO_SECONDS: i64 = -62_135_596_800;

pub(super) fn wrong_wire(found: Wire<'_>, field: &str) -> Error {
    Error(format!("proto: wrong wireType = {} for field {field}", found.number()))
}

/// Seconds since 1970 and nanoseconds of an RFC 3339 text.
fn parse_time(text: &str) -> Option<(i64, u32)> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        digits
            .iter()
            .all(u8::is_ascii_digit)
            .then(|| digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut nanoseconds = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let text: String = fraction[..digits].chars().chain("000000000".chars()).take(9).collect();
        nanoseconds = text.parse().ok()?;
        rest = &fraction[digits..];
    }
    let offset = match rest.as_bytes() {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let two = |a: &u8, b: &u8| i64::from(a.wrapping_sub(b'0')) * 10 + i64::from(b.wrapping_sub(b'0'));
            let seconds = two(h1, h2) * 3600 + two(m1, m2) * 60;
            if *sign == b'+' { seconds } else { -seconds }
        }
        _ => return None,
    };
    let seconds = days(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset;
    Some((seconds, nanoseconds))
}

fn format_time(seconds: i64, microseconds: Option<i32>) -> String {
    let (year, month, day) = date(seconds.div_euclid(SECONDS_PER_DAY));
    let rest = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let fraction = microseconds.map(|microseconds| format!(".{microseconds:06}")).unwrap_or_default();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Counted from March on, so that the leap day is the last of a year.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The date of a day.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Nanoseconds of Go's syntax, `1h2m3.5s`.
pub(super) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0i128;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let (number, after) = rest.split_at(digits);
        let unit_len = after.bytes().take_while(|byte| !byte.is_ascii_digit() && *byte != b'.').count();
        let (unit, after) = after.split_at(unit_len);
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(unit)?)?;
        let mut scale = unit;
        for digit in fraction.bytes() {
            scale /= 10;
            if !digit.is_ascii_digit() {
                return None;
            }
            total += i128::from(digit - b'0') * scale;
        }
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// Go's text of a duration.
pub(super) fn format_duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let total = nanoseconds.unsigned_abs();
    let fraction = |unit: u64, suffix: &str| {
        let digits = unit.ilog10() as usize;
        let text = format!("{}.{:0digits$}", total / unit, total % unit);
        format!("{sign}{}{suffix}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    match total {
        0 => "0s".into(),
        1..1_000 => format!("{sign}{total}ns"),
        1_000..1_000_000 => fraction(1_000, "µs"),
        1_000_000..1_000_000_000 => fraction(1_000_000, "ms"),
        _ => {
            let (seconds, rest) = (total / 1_000_000_000, total % 1_000_000_000);
            let mut second = format!("{}.{rest:09}", seconds % 60);
            second.truncate(second.trim_end_matches('0').trim_end_matches('.').len());
            match (seconds / 3600, seconds / 60 % 60) {
                (0, 0) => format!("{sign}{second}s"),
                (0, minute) => format!("{sign}{minute}m{second}s"),
                (hour, minute) => format!("{sign}{hour}h{minute}m{second}s"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{date, days, format_duration, format_time, parse_duration, parse_time};

    #[test]
    fn times_and_their_texts() {
        for (text, seconds, nanoseconds) in [
            ("1970-01-01T00:00:00Z", 0, 0),
            ("2024-02-29T23:59:59Z", 1_709_251_199, 0),
            ("2024-02-29T23:59:59.000001Z", 1_709_251_199, 1000),
            ("1969-12-31T23:59:59Z", -1, 0),
            ("9999-12-31T23:59:59Z", 253_402_300_799, 0),
            ("0001-01-01T00:00:00Z", super::ZERO_SECONDS, 0),
        ] {
            assert_eq!(parse_time(text), Some((seconds, nanoseconds)), "{text}");
            let microseconds = (nanoseconds > 0).then_some(nanoseconds as i32 / 1000);
            assert_eq!(format_time(seconds, microseconds), text);
        }
        assert_eq!(parse_time("2024-03-01T01:30:00+01:30"), Some((1_709_251_200, 0)));
        for text in ["", "2024", "2024-13-01T00:00:00Z", "2024-01-01T00:00:00", "2024-01-01T00:00:00+1"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
        for day in (-800_000..3_000_000).step_by(997) {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), day);
        }
    }

    #[test]
    fn durations_and_their_texts() {
        for (text, nanoseconds) in [
            ("0s", 0),
            ("1ns", 1),
            ("1.5µs", 1_500),
            ("2ms", 2_000_000),
            ("1m0s", 60_000_000_000),
            ("1h0m0.5s", 3_600_500_000_000),
            ("-1m30s", -90_000_000_000),
        ] {
            assert_eq!(parse_duration(text), Some(nanoseconds), "{text}");
            assert_eq!(format_duration(nanoseconds), text);
        }
        for text in ["", "5", "1x", "s", ".s", "99999999999h"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
