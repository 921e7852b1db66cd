//! Durations as Go reads and writes them (`1h30m0s`), and as kubectl shows ages (`5d12h`).

use super::quote;

/// A length of time in nanoseconds, signed, as Go's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

const MICRO: i64 = 1000;
const MILLI: i64 = 1000 * MICRO;
const SECOND: i64 = 1000 * MILLI;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

impl Duration {
    /// Of nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Of seconds; held at the bounds.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(SECOND))
    }

    /// In nanoseconds.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// In whole seconds.
    pub const fn secs(self) -> i64 {
        self.0 / SECOND
    }

    /// As one of the standard library; a negative one is nothing.
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0.try_into().unwrap_or_default())
    }

    /// Parses `1h15m30.918s`.
    ///
    /// # Errors
    /// With Go's text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let invalid = || format!("time: invalid duration {}", quote(text));
        let (negative, mut rest) = match text.as_bytes() {
            [b'-', ..] => (true, &text[1..]),
            [b'+', ..] => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (whole, after) = digits(rest);
            let (fraction, after) = match after.strip_prefix('.') {
                Some(after) => digits(after),
                None => ("", after),
            };
            if whole.is_empty() && fraction.is_empty() {
                return Err(invalid());
            }
            let unit_len = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
            let (unit_name, next) = after.split_at(unit_len);
            if unit_name.is_empty() {
                return Err(format!("time: missing unit in duration {}", quote(text)));
            }
            let Some(unit) = unit(unit_name) else {
                return Err(format!("time: unknown unit {} in duration {}", quote(unit_name), quote(text)));
            };
            let part = part(whole, fraction, unit).ok_or_else(invalid)?;
            total = total.checked_add(part).filter(|total| *total <= 1 << 63).ok_or_else(invalid)?;
            rest = next;
        }
        match (negative, i64::try_from(total)) {
            (true, _) => Ok(Self((total as i64).wrapping_neg())),
            (false, Ok(total)) => Ok(Self(total)),
            (false, Err(_)) => Err(invalid()),
        }
    }
}

/// As Go's `Duration.String`.
impl std::fmt::Display for Duration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let part = |unit: i64| decimal(size, unit.unsigned_abs());
        if size == 0 {
            return f.write_str("0s");
        }
        if size < MICRO as u64 {
            return write!(f, "{sign}{size}ns");
        }
        if size < MILLI as u64 {
            return write!(f, "{sign}{}µs", part(MICRO));
        }
        if size < SECOND as u64 {
            return write!(f, "{sign}{}ms", part(MILLI));
        }
        let (hours, minutes) = (size / HOUR as u64, size / MINUTE as u64 % 60);
        let seconds = decimal(size % MINUTE as u64, SECOND as u64);
        match (hours, minutes) {
            (0, 0) => write!(f, "{sign}{seconds}s"),
            (0, _) => write!(f, "{sign}{minutes}m{seconds}s"),
            _ => write!(f, "{sign}{hours}h{minutes}m{seconds}s"),
        }
    }
}

/// An age for people, to two or three figures: `90s`, `5m30s`, `3h`, `5d12h`, `2y30d`.
pub fn human_duration(duration: Duration) -> String {
    let pair = |large: i64, large_unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large}{large_unit}"),
        _ => format!("{large}{large_unit}{small}{small_unit}"),
    };
    let seconds = duration.secs();
    let (minutes, hours, days, years) =
        (seconds / 60, seconds / 3600, seconds / 86400, seconds / (86400 * 365));
    match () {
        // Clocks differ a little.
        () if seconds < -1 => "<invalid>".into(),
        () if seconds < 0 => "0s".into(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => pair(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => pair(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => pair(days, "d", hours % 24, "h"),
        () if years < 2 => format!("{days}d"),
        () if years < 8 => pair(years, "y", days % 365, "d"),
        () => format!("{years}y"),
    }
}

/// An age for people, to one figure: `90m` is `1h`.
pub fn short_human_duration(duration: Duration) -> String {
    let seconds = duration.secs();
    match seconds {
        ..-1 => "<invalid>".into(),
        -1 => "0s".into(),
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86400 => format!("{}h", seconds / 3600),
        86400..31_536_000 => format!("{}d", seconds / 86400),
        _ => format!("{}y", seconds / 31_536_000),
    }
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

fn unit(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        "us" | "µs" | "μs" => MICRO as u64,
        "ms" => MILLI as u64,
        "s" => SECOND as u64,
        "m" => MINUTE as u64,
        "h" => HOUR as u64,
        _ => return None,
    })
}

/// `whole.fraction` units; `None` beyond 63 bits.
fn part(whole: &str, fraction: &str, unit: u64) -> Option<u64> {
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let whole = whole.checked_mul(unit).filter(|whole| *whole <= 1 << 63)?;
    let (mut numerator, mut denominator) = (0u64, 1f64);
    for digit in fraction.bytes() {
        // Digits that no longer fit make no difference.
        let Some(longer) = numerator.checked_mul(10).filter(|longer| *longer < 1 << 62) else { break };
        numerator = longer + u64::from(digit - b'0');
        denominator *= 10.0;
    }
    let fraction = (numerator as f64 * (unit as f64 / denominator)) as u64;
    whole.checked_add(fraction).filter(|sum| *sum <= 1 << 63)
}

/// `size / unit` with as many decimals as there are.
fn decimal(size: u64, unit: u64) -> String {
    let digits = unit.ilog10() as usize;
    let fraction = format!("{:0digits$}", size % unit);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { (size / unit).to_string() } else { format!("{}.{fraction}", size / unit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let table = [
            ("0", "0s"),
            ("5s", "5s"),
            ("-1.5h", "-1h30m0s"),
            ("+90m", "1h30m0s"),
            ("1h15m30.918s", "1h15m30.918s"),
            ("1.000000001s", "1.000000001s"),
            ("300ms", "300ms"),
            ("1500us", "1.5ms"),
            ("15ns", "15ns"),
            ("1.5µs", "1.5µs"),
            (".5s", "500ms"),
            ("1.s", "1s"),
            ("2562047h47m16.854775807s", "2562047h47m16.854775807s"),
            ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
        ];
        for (text, expected) in table {
            assert_eq!(
                Duration::parse(text).map(|duration| duration.to_string()),
                Ok(expected.into()),
                "{text}"
            );
        }
    }

    #[test]
    fn faults_have_the_words_of_go() {
        let table = [
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            ("x", "time: invalid duration \"x\""),
            (".s", "time: invalid duration \".s\""),
            ("5", "time: missing unit in duration \"5\""),
            ("5x", "time: unknown unit \"x\" in duration \"5x\""),
            ("1h 5m", "time: unknown unit \"h \" in duration \"1h 5m\""),
            ("3000000h", "time: invalid duration \"3000000h\""),
            ("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""),
        ];
        for (text, expected) in table {
            assert_eq!(Duration::parse(text), Err(expected.into()), "{text}");
        }
    }

    #[test]
    fn ages() {
        let (minute, hour, day) = (60, 3600, 86400);
        let table = [
            (-2, "<invalid>", "<invalid>"),
            (-1, "0s", "0s"),
            (0, "0s", "0s"),
            (119, "119s", "1m"),
            (2 * minute, "2m", "2m"),
            (9 * minute + 59, "9m59s", "9m"),
            (10 * minute + 5, "10m", "10m"),
            (179 * minute, "179m", "2h"),
            (3 * hour, "3h", "3h"),
            (7 * hour + 59 * minute, "7h59m", "7h"),
            (47 * hour, "47h", "1d"),
            (2 * day, "2d", "2d"),
            (7 * day + 23 * hour, "7d23h", "7d"),
            (8 * day + 5 * hour, "8d", "8d"),
            (729 * day, "729d", "1y"),
            (730 * day, "2y", "2y"),
            (1000 * day, "2y270d", "2y"),
            (8 * 365 * day + day, "8y", "8y"),
        ];
        for (seconds, long, short) in table {
            let duration = Duration::from_secs(seconds);
            assert_eq!(
                (human_duration(duration), short_human_duration(duration)),
                (long.into(), short.into())
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn durations_round_trip(nanos: i64) {
            let shown = Duration::from_nanos(nanos).to_string();
            let back = Duration::parse(&shown).map(Duration::nanos);
            assert!(back.is_ok_and(|back| back.abs_diff(nanos) <= 1), "{shown}");
        }
    }
}
