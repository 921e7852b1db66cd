//! The text of a quantity taken apart.
//!
//! Invariant: keeps upstream's two ways, the one for what fits 64 bits and the one for the rest, because which
//! texts are kept as they are written depends on them.

use super::{Format, NANO, Quantity, lowered};

/// Why a text is no quantity, in upstream's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// It does not look like one.
    Format,
    /// Its number is none.
    Numeric,
    /// Its suffix is none.
    Suffix,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Format => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            Self::Numeric => "unable to parse numeric part of quantity",
            Self::Suffix => "unable to parse quantity's suffix",
        })
    }
}

impl std::error::Error for ParseError {}

pub(super) fn parse(text: &str) -> Result<Quantity, ParseError> {
    if text.is_empty() {
        return Err(ParseError::Format);
    }
    let parts = Parts::of(text)?;
    let suffix = Suffix::of(parts.suffix)?;
    if let Some(quantity) = small(text, &parts, suffix) {
        return Ok(quantity);
    }
    large(&parts, suffix)
}

/// A text cut up; nothing before the point is `0`.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, ParseError> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text).trim_start_matches('0');
        let (whole, rest) = digits(unsigned);
        let whole = if whole.is_empty() { "0" } else { whole };
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), digits);
        let letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let exponent = letters.strip_prefix(['-', '+']).unwrap_or(letters);
        if digits(exponent).1.is_empty() {
            Ok(Self { negative, whole, fraction, suffix })
        } else {
            Err(ParseError::Format)
        }
    }

    fn len(&self) -> i32 {
        i32::try_from(self.whole.len() + self.fraction.len()).unwrap_or(i32::MAX)
    }
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// What a suffix multiplies by: a power of two for [`Format::BinarySI`], of ten for the others.
#[derive(Clone, Copy)]
struct Suffix {
    exponent: i32,
    format: Format,
}

impl Suffix {
    fn of(text: &str) -> Result<Self, ParseError> {
        if let Some(at) = super::DECIMAL_SUFFIXES.iter().position(|one| *one == text) {
            return Ok(Self { exponent: NANO + 3 * at as i32, format: Format::DecimalSI });
        }
        if let Some(at) = super::BINARY_SUFFIXES.iter().position(|one| *one == text) {
            return Ok(Self { exponent: 10 * at as i32, format: Format::BinarySI });
        }
        match text.strip_prefix(['e', 'E']).and_then(|exponent| exponent.parse::<i64>().ok()) {
            // Upstream cuts to 32 bits as well.
            Some(exponent) => Ok(Self { exponent: exponent as i32, format: Format::DecimalExponent }),
            None => Err(ParseError::Suffix),
        }
    }
}

/// What surely fits 64 bits and needs no rounding.
fn small(text: &str, parts: &Parts<'_>, suffix: Suffix) -> Option<Quantity> {
    let (factor, scale, spare) = match suffix.format {
        Format::BinarySI if parts.fraction.is_empty() => {
            (1i64 << suffix.exponent, 0, 15 - parts.len() - suffix.exponent * 3 / 10 - 1)
        }
        Format::BinarySI => return None,
        Format::DecimalSI | Format::DecimalExponent => (1, suffix.exponent, 18i32.checked_sub(parts.len())?),
    };
    let scale = scale.wrapping_sub(parts.fraction.len() as i32);
    if spare < 0 || scale < NANO {
        return None;
    }
    let shifted = [parts.whole, parts.fraction].concat();
    let value: i64 = shifted.parse().ok()?;
    let result = value.checked_mul(factor)?;
    let canonical = match suffix.format {
        Format::BinarySI => value & 7 != 0,
        Format::DecimalSI | Format::DecimalExponent => {
            scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0')
        }
    };
    Some(Quantity {
        unscaled: if parts.negative { -i128::from(result) } else { result.into() },
        scale,
        format: suffix.format,
        text: canonical.then(|| text.into()),
    })
}

/// Anything else: rounded up to a billionth, and where it is binary held at the largest 64-bit number.
fn large(parts: &Parts<'_>, suffix: Suffix) -> Result<Quantity, ParseError> {
    let (mut unscaled, mut scale) = decimal(parts)?;
    let mut format = suffix.format;
    if format == Format::BinarySI {
        let factor = 1i128 << suffix.exponent;
        while unscaled.checked_mul(factor).is_none() && scale < 0 {
            (unscaled, scale) = (lowered(unscaled, 1).0, scale + 1);
        }
        unscaled = unscaled.saturating_mul(factor);
    } else {
        scale = scale.wrapping_add(suffix.exponent);
    }
    if scale < NANO {
        (unscaled, scale) = (lowered(unscaled, scale.abs_diff(NANO)).0, NANO);
    }
    let mut quantity = Quantity { unscaled, scale, format, text: None };
    if format == Format::BinarySI {
        let most = Quantity::new(i64::MAX, format);
        if quantity > most {
            quantity = most;
        }
        if unscaled > 0 && quantity < Quantity::new(1, format) {
            // A fraction of a byte has no binary suffix.
            format = Format::DecimalSI;
        }
    }
    quantity.format = format;
    if parts.negative {
        quantity.neg();
    }
    Ok(quantity)
}

/// The number without its sign and suffix. Digits of a fraction that no longer fit are rounded up.
fn decimal(parts: &Parts<'_>) -> Result<(i128, i32), ParseError> {
    let mut unscaled: i128 = parts.whole.parse().map_err(|_| ParseError::Numeric)?;
    let mut scale = 0;
    for (at, digit) in parts.fraction.bytes().enumerate() {
        let longer = unscaled.checked_mul(10).and_then(|longer| longer.checked_add((digit - b'0').into()));
        let Some(longer) = longer else {
            let lost = parts.fraction.bytes().skip(at).any(|digit| digit != b'0');
            return Ok((unscaled.saturating_add(lost.into()), scale));
        };
        (unscaled, scale) = (longer, scale - 1);
    }
    Ok((unscaled, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_their_canonical_form() {
        let table = [
            ("0", "0"),
            ("0Ki", "0"),
            (".", "0"),
            ("-", "0"),
            ("m", "0"),
            ("1", "1"),
            ("+1", "+1"),
            ("01Ki", "01Ki"),
            ("1000m", "1"),
            ("1.5", "1500m"),
            ("1.500", "1.500"),
            ("0.5", "500m"),
            (".001", "1m"),
            ("1.G", "1.G"),
            ("1000", "1k"),
            ("10000", "10k"),
            ("1024", "1024"),
            ("1024Ki", "1Mi"),
            ("8Ki", "8Ki"),
            ("1048576", "1048576"),
            ("1Ki", "1Ki"),
            ("512Ki", "512Ki"),
            ("0.5Gi", "512Mi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("100.035Ki", "102435840m"),
            ("0.000000000001Ki", "2n"),
            ("0.0000000001", "1n"),
            ("0.00000012345", "124n"),
            ("3.001n", "4n"),
            ("-3.001n", "-4n"),
            ("1e3", "1e3"),
            ("1E6", "1E6"),
            ("1e1", "10"),
            ("1.2e3", "1200"),
            ("12e6", "12e6"),
            ("120e6", "120e6"),
            ("1e4", "10e3"),
            ("1E-3", "1E-3"),
            ("1e-4", "100e-6"),
            ("0.5e-9", "1e-9"),
            ("9Ei", "9223372036854775807"),
            ("9223372036854775807Ki", "9223372036854775807"),
            ("-9Ei", "-9223372036854775807"),
            ("12E", "12E"),
            ("1E", "1E"),
            ("10000T", "10P"),
            ("100000000000000000000000", "100"),
            ("123456789012345678901234567", "123456789012345678901234567"),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text).map(|quantity| quantity.to_string()), Ok(expected.into()), "{text}");
        }
    }

    #[test]
    fn faults() {
        let table = [
            ("", ParseError::Format),
            ("abc", ParseError::Format),
            ("1 ", ParseError::Format),
            ("1.2.3", ParseError::Format),
            ("--1", ParseError::Suffix),
            ("1Gi-", ParseError::Suffix),
            ("1e", ParseError::Suffix),
            ("1ki", ParseError::Suffix),
            ("1Kib", ParseError::Format),
            ("1mm", ParseError::Suffix),
            ("1K", ParseError::Suffix),
            ("1e5k", ParseError::Format),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Err(expected), "{text}");
        }
    }
}
