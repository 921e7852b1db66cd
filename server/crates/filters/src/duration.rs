//! Durations as Go writes them: `1h30m`, `250ms`, `-1.5s`.

/// Nanoseconds.
///
/// # Errors
/// Go's words for what is wrong.
pub fn parse(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    // As many nanoseconds as the smallest integer has, which has no positive counterpart.
    let total_max = 1_u64 << 63;
    let mut total = 0_u64;
    while !rest.is_empty() {
        let whole = digits(&mut rest);
        let fraction = match rest.strip_prefix('.') {
            Some(after) => {
                rest = after;
                digits(&mut rest)
            }
            None => "",
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let unit_length = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
        let unit_name = &rest[..unit_length];
        rest = &rest[unit_length..];
        if unit_name.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        let unit = unit(unit_name)
            .ok_or_else(|| format!("time: unknown unit {unit_name:?} in duration {text:?}"))?;
        let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().map_err(|_| invalid())? };
        let part = whole.checked_mul(unit).and_then(|part| part.checked_add(fraction_of(fraction, unit)));
        total = part
            .and_then(|part| total.checked_add(part))
            .filter(|&total| total <= total_max)
            .ok_or_else(invalid)?;
    }
    if negative {
        return Ok((total as i64).wrapping_neg());
    }
    i64::try_from(total).map_err(|_| invalid())
}

fn digits<'a>(rest: &mut &'a str) -> &'a str {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    *rest = after;
    digits
}

fn fraction_of(digits: &str, unit: u64) -> u64 {
    // More digits than this are below a nanosecond in any unit.
    let digits = &digits[..digits.len().min(15)];
    if digits.is_empty() {
        return 0;
    }
    let numerator = u128::from(digits.parse::<u64>().unwrap_or_default()) * u128::from(unit);
    (numerator / 10_u128.pow(digits.len() as u32)) as u64
}

fn unit(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::*;

    #[test]
    fn durations() {
        const SECOND: i64 = 1_000_000_000;
        for (text, expected) in [
            ("0", 0),
            ("5s", 5 * SECOND),
            ("-5s", -5 * SECOND),
            ("+5s", 5 * SECOND),
            ("1h2m3s", 3723 * SECOND),
            ("1.5m", 90 * SECOND),
            (".5s", SECOND / 2),
            ("1.s", SECOND),
            ("10ns11\u{b5}s12ms", 12_011_010),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        for (text, expected) in [
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            ("s", "time: invalid duration \"s\""),
            (".", "time: invalid duration \".\""),
            (".s", "time: invalid duration \".s\""),
            ("3", "time: missing unit in duration \"3\""),
            ("3000000h", "time: invalid duration \"3000000h\""),
            ("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
        ] {
            assert_eq!(parse(text).unwrap_err(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "[-+]?([0-9.]{0,22}(ns|us|\u{b5}s|ms|s|m|h|x)?){0,4}") {
            let _ = parse(&text);
        }
    }
}
