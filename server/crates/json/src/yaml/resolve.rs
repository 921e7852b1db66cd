//! What a scalar is: YAML 1.1 as go-yaml reads it, where `yes`, `0o14`, `1_000` and `.5` are no strings.

/// What a scalar turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Resolved {
    Null,
    Bool(bool),
    Int(i64),
    /// Beyond 63 bits.
    Uint(u64),
    Float(f64),
    /// Its text.
    String,
    /// Its text as well; quoted when written.
    Timestamp,
    /// The text that is encoded in it.
    Binary(String),
}

const LONG: &str = "tag:yaml.org,2002:";

/// What a text is under a tag, which may be empty.
///
/// # Errors
/// When it is not what the tag says.
pub(super) fn resolve(tag: &str, text: &str) -> Result<Resolved, String> {
    let Some(short) = (if tag.is_empty() { Some("") } else { tag.strip_prefix(LONG) }) else {
        return Ok(Resolved::String);
    };
    let found = match short {
        "" | "bool" | "int" | "float" | "null" | "timestamp" => untagged(text),
        "binary" => {
            let text: String = text.split_ascii_whitespace().collect();
            return base64(&text)
                .map(Resolved::Binary)
                .ok_or("!!binary value contains invalid base64 data".into());
        }
        _ => return Ok(Resolved::String),
    };
    let name = match found {
        Resolved::Null => "null",
        Resolved::Bool(_) => "bool",
        Resolved::Int(_) | Resolved::Uint(_) => "int",
        Resolved::Float(_) => "float",
        Resolved::String | Resolved::Binary(_) => "str",
        Resolved::Timestamp => "timestamp",
    };
    match found {
        Resolved::Int(number) if short == "float" => Ok(Resolved::Float(number as f64)),
        found if short.is_empty() || short == name => Ok(found),
        _ => Err(format!("cannot decode !!{name} `{text}` as a !!{short}")),
    }
}

/// Whether a text without quotes stays a string.
pub(super) fn is_string(text: &str) -> bool {
    untagged(text) == Resolved::String && text != "<<" && !is_base_60(text)
}

fn untagged(text: &str) -> Resolved {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Resolved::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Resolved::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Resolved::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Resolved::Float(f64::NEG_INFINITY),
        _ => {}
    }
    match text.as_bytes().first() {
        Some(b'.') => float(text).map_or(Resolved::String, Resolved::Float),
        Some(b'0'..=b'9' | b'+' | b'-') if is_timestamp(text) => Resolved::Timestamp,
        Some(b'0'..=b'9' | b'+' | b'-') => {
            let plain = text.replace('_', "");
            integer(&plain).or_else(|| float(&plain).map(Resolved::Float)).unwrap_or(Resolved::String)
        }
        _ => Resolved::String,
    }
}

/// An integer with Go's prefixes: `0x`, `0o`, `0b`, and `0` for octal.
fn integer(text: &str) -> Option<Resolved> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let size = u64::from_str_radix(digits, radix).ok()?;
    match i64::try_from(size) {
        Ok(size) => Some(Resolved::Int(if negative { -size } else { size })),
        Err(_) if negative => (size == 1 << 63).then_some(Resolved::Int(i64::MIN)),
        // Go takes no sign for what needs all 64 bits.
        Err(_) => (!text.starts_with('+')).then_some(Resolved::Uint(size)),
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, of 64 bits.
fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let well_formed = digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent));
    if !well_formed {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`: a number to others, who count minutes.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let Some((whole, rest)) = unsigned.split_once(':') else { return false };
    let (rest, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let sixtieth = |part: &str| match part.as_bytes() {
        [digit] | [b'0'..=b'5', digit] => digit.is_ascii_digit(),
        _ => false,
    };
    whole.starts_with(|c: char| c.is_ascii_digit())
        && digits(whole)
        && digits(fraction)
        && rest.split(':').all(sixtieth)
}

/// A date, or a date and a time, with fields of one digit where they have no more.
fn is_timestamp(text: &str) -> bool {
    let mut rest = text;
    timestamp(&mut rest).is_some() && rest.is_empty()
}

fn timestamp(rest: &mut &str) -> Option<()> {
    let year_len = rest.bytes().take_while(u8::is_ascii_digit).count();
    let year = (year_len == 4).then(|| number(rest, 4))??;
    take(rest, "-")?;
    let month = number(rest, 2)?;
    take(rest, "-")?;
    let day = number(rest, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days).contains(&day) {
        return None;
    }
    if rest.is_empty() {
        return Some(());
    }
    let zoned = take(rest, " ").is_none();
    if zoned {
        take(rest, "T").or_else(|| take(rest, "t"))?;
    }
    let hour = number(rest, 2).filter(|hour| *hour < 24)?;
    take(rest, ":")?;
    number(rest, 2).filter(|minute| *minute < 60)?;
    take(rest, ":")?;
    number(rest, 2).filter(|second| *second < 60)?;
    let _ = hour;
    if let Some(digits) = rest.strip_prefix(['.', ',']) {
        let trimmed = digits.trim_start_matches(|c: char| c.is_ascii_digit());
        if trimmed.len() < digits.len() {
            *rest = trimmed;
        }
    }
    if !zoned || take(rest, "Z").is_some() {
        return Some(());
    }
    take(rest, "+").or_else(|| take(rest, "-"))?;
    let fixed = |rest: &mut &str| {
        rest.get(..2)
            .filter(|two| two.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|_| number(rest, 2))
    };
    fixed(rest).filter(|hours| *hours <= 24)?;
    take(rest, ":")?;
    fixed(rest).filter(|minutes| *minutes <= 60)?;
    Some(())
}

fn take(rest: &mut &str, literal: &str) -> Option<()> {
    *rest = rest.strip_prefix(literal)?;
    Some(())
}

/// A number of one digit up to `len` digits.
fn number(rest: &mut &str, len: usize) -> Option<u32> {
    let digits = rest.bytes().take(len).take_while(u8::is_ascii_digit).count();
    let number = rest[..digits].parse().ok()?;
    *rest = &rest[digits..];
    Some(number)
}

/// The text that standard base64 encodes; what is no UTF-8 becomes U+FFFD, as in Go's JSON.
fn base64(text: &str) -> Option<String> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for digit in digits.bytes() {
        let six = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars() {
        let table = [
            ("", Resolved::Null),
            ("~", Resolved::Null),
            ("Null", Resolved::Null),
            ("nULL", Resolved::String),
            ("y", Resolved::Bool(true)),
            ("On", Resolved::Bool(true)),
            ("NO", Resolved::Bool(false)),
            ("1", Resolved::Int(1)),
            ("+1", Resolved::Int(1)),
            ("-0x1F", Resolved::Int(-31)),
            ("0o14", Resolved::Int(12)),
            ("014", Resolved::Int(12)),
            ("08", Resolved::Float(8.0)),
            ("0b11", Resolved::Int(3)),
            ("1_000", Resolved::Int(1000)),
            ("0", Resolved::Int(0)),
            ("-9223372036854775808", Resolved::Int(i64::MIN)),
            ("9223372036854775808", Resolved::Uint(1 << 63)),
            ("18446744073709551616", Resolved::Float(18_446_744_073_709_551_616.0)),
            ("1.5", Resolved::Float(1.5)),
            ("1.", Resolved::Float(1.0)),
            (".5", Resolved::Float(0.5)),
            ("-.5e1", Resolved::Float(-5.0)),
            ("1e3", Resolved::Float(1000.0)),
            ("1e999", Resolved::String),
            (".", Resolved::String),
            ("-", Resolved::String),
            ("1.2.3", Resolved::String),
            ("0x", Resolved::String),
            ("0x+1", Resolved::String),
            ("1:30", Resolved::String),
            ("inf", Resolved::String),
            ("<<", Resolved::String),
            ("2001-01-01", Resolved::Timestamp),
            ("2001-1-1T1:2:3.5Z", Resolved::Timestamp),
            ("2001-01-01t01:02:03+01:00", Resolved::Timestamp),
            ("2001-01-01 01:02:03", Resolved::Timestamp),
            ("2001-02-30", Resolved::String),
            ("2001-01-01 01:02:03Z", Resolved::String),
            ("20010-01-01", Resolved::String),
        ];
        for (text, expected) in table {
            assert_eq!(untagged(text), expected, "{text}");
        }
    }

    #[test]
    fn what_must_be_quoted() {
        for text in ["1", "yes", "~", "", "12:30", "-1:05.5", "2001-01-01", ".5", "0x1"] {
            assert!(!is_string(text), "{text}");
        }
        for text in ["a", "12:60", "1:2:", "v1", "1a", "yEs", "-", "a:b"] {
            assert!(is_string(text), "{text}");
        }
    }

    #[test]
    fn tags() {
        let table = [
            ("str", "1", Ok(Resolved::String)),
            ("float", "1", Ok(Resolved::Float(1.0))),
            ("int", "x", Err("cannot decode !!str `x` as a !!int".to_owned())),
            ("bool", "1", Err("cannot decode !!int `1` as a !!bool".to_owned())),
            ("binary", "aG\nk=", Ok(Resolved::Binary("hi".into()))),
            ("binary", "a", Err("!!binary value contains invalid base64 data".to_owned())),
            ("timestamp", "2001-01-01", Ok(Resolved::Timestamp)),
        ];
        for (tag, text, expected) in table {
            assert_eq!(resolve(&format!("{LONG}{tag}"), text), expected, "{tag} {text}");
        }
    }
}
