//! Quantities: `500m`, `1.5Gi`, `12e6` (upstream: `k8s.io/apimachinery/pkg/api/resource`).
//!
//! Invariant: a quantity shows as upstream's does: as it was written where that is canonical by upstream's
//! judgement, else with the largest suffix that needs no fraction. Parsing rounds up to a billionth.
//! Absence: integers of more than 38 digits; upstream has no bound.

use apiwright_json::Value;

mod parse;

pub use parse::ParseError;

/// An amount, and the notation it likes to be shown in.
#[derive(Clone, Debug, Default)]
pub struct Quantity {
    /// The amount is `unscaled * 10^scale`.
    unscaled: i128,
    scale: i32,
    format: Format,
    /// The text it was parsed from, where that is canonical.
    text: Option<compact_str::CompactString>,
}

/// A notation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi`
    BinarySI,
    /// `12M`
    #[default]
    DecimalSI,
}

const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// The exponent of the first of them.
const NANO: i32 = -9;

impl Quantity {
    /// Parses a text.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::parse(text)
    }

    /// The quantity that a JSON value is: a string, a number, or nothing for null.
    ///
    /// # Errors
    /// With upstream's text.
    pub fn from_value(value: &Value) -> Result<Self, ParseError> {
        match value {
            Value::Null => Ok(Self::default()),
            Value::String(text) => Self::parse(text.trim()),
            other => Self::parse(&apiwright_json::to_string(other)),
        }
    }

    /// A whole number.
    pub fn new(value: i64, format: Format) -> Self {
        Self { unscaled: value.into(), scale: 0, format, text: None }
    }

    /// A number of thousandths.
    pub fn from_milli(value: i64, format: Format) -> Self {
        Self { unscaled: value.into(), scale: -3, format, text: None }
    }

    /// The notation.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.unscaled == 0
    }

    /// -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        self.unscaled.signum() as i32
    }

    /// The amount in whole units, rounded away from zero; held at the bounds of `i64`.
    pub fn value(&self) -> i64 {
        self.scaled_value(0)
    }

    /// The amount in thousandths, rounded away from zero; held at the bounds of `i64`.
    pub fn milli_value(&self) -> i64 {
        self.scaled_value(-3)
    }

    /// The amount in units of `10^scale`, rounded away from zero; held at the bounds of `i64`.
    pub fn scaled_value(&self, scale: i32) -> i64 {
        let bound = if self.unscaled < 0 { i64::MIN } else { i64::MAX };
        match self.scale.checked_sub(scale) {
            Some(up @ 0..) => {
                raised(self.unscaled, up).and_then(|value| value.try_into().ok()).unwrap_or(bound)
            }
            Some(down) => lowered(self.unscaled, down.unsigned_abs()).0.try_into().unwrap_or(bound),
            None if scale < 0 => bound,
            None => self.sign().into(),
        }
    }

    /// The amount as a whole number, where it is one that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self.scale {
            0.. => raised(self.unscaled, self.scale)?.try_into().ok(),
            down => match lowered(self.unscaled, down.unsigned_abs()) {
                (value, true) => value.try_into().ok(),
                (_, false) => None,
            },
        }
    }

    /// The amount, about.
    pub fn as_f64(&self) -> f64 {
        // The parser for decimals rounds best.
        format!("{}e{}", self.unscaled, self.scale).parse().unwrap_or_default()
    }

    /// Adds another; zero takes over the other's notation.
    pub fn add(&mut self, other: &Self) {
        if self.is_zero() {
            self.format = other.format;
        }
        self.text = None;
        (self.unscaled, self.scale) = sum((self.unscaled, self.scale), (other.unscaled, other.scale));
    }

    /// Takes another away; zero takes over the other's notation.
    pub fn sub(&mut self, other: &Self) {
        let mut other = other.clone();
        other.neg();
        self.add(&other);
    }

    /// Turns the sign.
    pub fn neg(&mut self) {
        self.text = None;
        self.unscaled = -self.unscaled;
    }

    /// Rounds up (away from zero) to multiples of `10^scale`; whether nothing was lost.
    pub fn round_up(&mut self, scale: i32) -> bool {
        if self.scale >= scale {
            return true;
        }
        let (value, exact) = lowered(self.unscaled, self.scale.abs_diff(scale));
        *self = Self { unscaled: value, scale, format: self.format, text: None };
        exact
    }

    fn canonical(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        let whole = match self.format {
            Format::BinarySI
                if self.cmp(&Self::new(-1024, Format::DecimalSI)).is_gt()
                    && self.cmp(&Self::new(1024, Format::DecimalSI)).is_lt() =>
            {
                None
            }
            Format::BinarySI => match self.scale {
                0.. => raised(self.unscaled, self.scale),
                down => match lowered(self.unscaled, down.unsigned_abs()) {
                    (value, true) => Some(value),
                    (_, false) => None,
                },
            },
            Format::DecimalExponent | Format::DecimalSI => None,
        };
        if let Some(mut whole) = whole {
            let mut times = 0;
            while whole % 1024 == 0 {
                whole /= 1024;
                times += 1;
            }
            return write!(f, "{whole}{}", BINARY_SUFFIXES.get(times).unwrap_or(&""));
        }
        let (mut mantissa, mut exponent) = (self.unscaled, self.scale);
        while mantissa % 10 == 0 {
            mantissa /= 10;
            exponent = exponent.wrapping_add(1);
        }
        let zeros = exponent.rem_euclid(3);
        exponent = exponent.wrapping_sub(zeros);
        write!(f, "{mantissa}{}", &"00"[..zeros as usize])?;
        if self.format == Format::DecimalExponent {
            return if exponent == 0 { Ok(()) } else { write!(f, "e{exponent}") };
        }
        let at = usize::try_from((i64::from(exponent) - i64::from(NANO)) / 3).ok();
        f.write_str(at.and_then(|at| DECIMAL_SUFFIXES.get(at)).unwrap_or(&""))
    }
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => self.canonical(f),
        }
    }
}

impl std::str::FromStr for Quantity {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// Amounts are compared, notations are not.
impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_sign = self.sign().cmp(&other.sign());
        if by_sign.is_ne() || self.is_zero() {
            return by_sign;
        }
        // What does not fit when brought to the smaller scale is the larger in size.
        let larger = if self.unscaled > 0 { std::cmp::Ordering::Greater } else { std::cmp::Ordering::Less };
        match self.scale.checked_sub(other.scale) {
            Some(up @ 0..) => raised(self.unscaled, up).map_or(larger, |value| value.cmp(&other.unscaled)),
            Some(down) => {
                let value = down.checked_neg().and_then(|up| raised(other.unscaled, up));
                value.map_or(larger.reverse(), |value| self.unscaled.cmp(&value))
            }
            None if self.scale > other.scale => larger,
            None => larger.reverse(),
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Quantity {}

/// `value * 10^up`, where it fits.
fn raised(value: i128, up: i32) -> Option<i128> {
    if value == 0 {
        return Some(0);
    }
    value.checked_mul(10i128.checked_pow(up.try_into().ok()?)?)
}

/// `value / 10^down`, rounded away from zero; whether nothing was lost.
fn lowered(value: i128, down: u32) -> (i128, bool) {
    match 10i128.checked_pow(down) {
        Some(divisor) if value % divisor == 0 => (value / divisor, true),
        Some(divisor) => (value / divisor + value.signum(), false),
        None => (value.signum(), value == 0),
    }
}

/// The sum of two scaled numbers, at the smaller of their scales where it fits; else rounded away from zero.
fn sum(a: (i128, i32), b: (i128, i32)) -> (i128, i32) {
    if a.0 == 0 {
        return b;
    }
    if b.0 == 0 {
        return a;
    }
    let (coarse, fine) = if a.1 > b.1 { (a, b) } else { (b, a) };
    let exact = coarse.1.checked_sub(fine.1).and_then(|up| raised(coarse.0, up)?.checked_add(fine.0));
    match exact {
        Some(exact) => (exact, fine.1),
        None => (coarse.0.saturating_add(lowered(fine.0, coarse.1.abs_diff(fine.1)).0), coarse.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Quantity {
        Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn values() {
        let table = [
            ("0", 0, 0, Some(0)),
            ("1", 1, 1000, Some(1)),
            ("100m", 1, 100, None),
            ("1100m", 2, 1100, None),
            ("-100m", -1, -100, None),
            ("1500m", 2, 1500, None),
            ("1n", 1, 1, None),
            ("1Gi", 1 << 30, 1000 << 30, Some(1 << 30)),
            ("2.0", 2, 2000, Some(2)),
            ("12E", i64::MAX, i64::MAX, None),
            ("-12E", i64::MIN, i64::MIN, None),
        ];
        for (text, value, milli, exact) in table {
            let quantity = quantity(text);
            assert_eq!(
                (quantity.value(), quantity.milli_value(), quantity.as_i64()),
                (value, milli, exact),
                "{text}"
            );
        }
    }

    #[test]
    fn order() {
        let table = [
            "-1E",
            "-1",
            "-1n",
            "0",
            "1n",
            "50m",
            "100m",
            "1",
            "1023",
            "1Ki",
            "100Gi",
            "10000T",
            "1e2000000000",
        ];
        for (at, text) in table.iter().enumerate() {
            for (other_at, other) in table.iter().enumerate() {
                assert_eq!(quantity(text).cmp(&quantity(other)), at.cmp(&other_at), "{text} {other}");
            }
        }
        for (a, b) in [("1", "1000m"), ("1Ki", "1024"), ("0", "0Gi"), ("1e3", "1k")] {
            assert_eq!(quantity(a), quantity(b));
        }
    }

    #[test]
    fn arithmetic() {
        let table = [
            ("1", "500m", "1500m", "500m"),
            ("0", "1Gi", "1Gi", "-1Gi"),
            ("1Gi", "0", "1Gi", "1Gi"),
            ("1Gi", "1Mi", "1025Mi", "1023Mi"),
            ("1Gi", "1", "1073741825", "1073741823"),
            ("100m", "100m", "200m", "0"),
            ("1e3", "1", "1001", "999"),
            ("10E", "10E", "20E", "0"),
        ];
        for (a, b, plus, minus) in table {
            let (mut added, mut taken) = (quantity(a), quantity(a));
            added.add(&quantity(b));
            taken.sub(&quantity(b));
            assert_eq!((added.to_string(), taken.to_string()), (plus.into(), minus.into()), "{a} {b}");
        }
    }

    #[test]
    fn from_json() {
        for (value, expected) in
            [(Value::Null, "0"), (" 1Gi ".into(), "1Gi"), (Value::Int(5), "5"), (Value::Float(0.5), "500m")]
        {
            assert_eq!(
                Quantity::from_value(&value).map(|quantity| quantity.to_string()),
                Ok(expected.into())
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn texts_are_read_back(text in "[+-]?[0-9]{0,20}(\\.[0-9]{0,12})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?") {
            if let Ok(first) = Quantity::parse(&text) {
                let shown = first.to_string();
                let huge = first.scale > 0 && raised(first.unscaled, first.scale).is_none_or(|value| value.abs() >= 1 << 62);
                if !huge {
                    let again = quantity(&shown);
                    assert_eq!(again, first, "{text} {shown}");
                    assert_eq!(again.to_string(), shown, "{text}");
                }
            }
        }

        #[test]
        fn any_text_parses_or_fails(text in "[0-9eEinumkKMGTP.+-]{0,12}|.*") {
            if let Ok(quantity) = Quantity::parse(&text) {
                let _ = (quantity.to_string(), quantity.value(), quantity.milli_value(), quantity.as_f64());
                assert_eq!(quantity, quantity.clone());
            }
        }

        #[test]
        fn sums_are_those_of_integers(a in -1_000_000i64..1_000_000, b in -1_000_000i64..1_000_000) {
            let mut sum = Quantity::from_milli(a, Format::DecimalSI);
            sum.add(&Quantity::from_milli(b, Format::DecimalSI));
            assert_eq!(sum.milli_value(), a + b);
            assert_eq!(quantity(&sum.to_string()).milli_value(), a + b);
        }
    }
}
