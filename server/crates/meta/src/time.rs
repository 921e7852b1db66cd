//! Times and durations as Go reads and writes them.
//!
//! Invariant: every text that Go's `time` takes for an RFC 3339 time is taken, and refused ones get its words.
//! Absence: time zones; everything is UTC once read.

mod duration;
mod parse;

pub use duration::{Duration, human_duration, short_human_duration};

/// A moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Seconds since 1970.
    pub seconds: i64,
    /// And a part of one: less than a billion.
    pub nanos: u32,
}

/// The zero of Go's times, which counts as no time.
const YEAR_ONE: Time = Time { seconds: -62_135_596_800, nanos: 0 };

impl Time {
    /// The moment this is called.
    pub fn now() -> Self {
        match std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
            Ok(since) => Self { seconds: since.as_secs() as i64, nanos: since.subsec_nanos() },
            Err(before) => Self::from_unix(0).minus(before.duration()),
        }
    }

    /// The moment some seconds after the start of 1970.
    pub const fn from_unix(seconds: i64) -> Self {
        Self { seconds, nanos: 0 }
    }

    /// Parses what `metav1.Time` takes: RFC 3339.
    ///
    /// # Errors
    /// With Go's text.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse::parse(text, parse::Layout::Rfc3339)
    }

    /// Parses what `metav1.MicroTime` takes: RFC 3339 with six digits of a second.
    ///
    /// # Errors
    /// With Go's text.
    pub fn parse_micro(text: &str) -> Result<Self, String> {
        parse::parse(text, parse::Layout::Rfc3339Micro)
    }

    /// Whether this is the time that counts as none.
    pub fn is_zero(self) -> bool {
        self == YEAR_ONE
    }

    /// As `metav1.Time` shows: `2026-01-02T03:04:05Z`.
    pub fn to_rfc3339(self) -> String {
        format!("{}Z", self.date_and_time())
    }

    /// As `metav1.MicroTime` shows: `2026-01-02T03:04:05.000006Z`.
    pub fn to_rfc3339_micro(self) -> String {
        format!("{}.{:06}Z", self.date_and_time(), self.nanos / 1000)
    }

    /// As Go's `RFC3339Nano` shows: with as many digits of a second as there are.
    pub fn to_rfc3339_nano(self) -> String {
        let nanos = format!(".{:09}", self.nanos);
        format!("{}{}Z", self.date_and_time(), nanos.trim_end_matches('0').trim_end_matches('.'))
    }

    /// How long this is after another moment; held at the bounds of a duration.
    pub fn since(self, other: Self) -> Duration {
        let nanos = (i128::from(self.seconds) - i128::from(other.seconds)) * 1_000_000_000
            + (i128::from(self.nanos) - i128::from(other.nanos));
        Duration::from_nanos(nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// Some time later.
    #[must_use]
    pub fn plus(self, duration: std::time::Duration) -> Self {
        let nanos = self.nanos + duration.subsec_nanos();
        let seconds = self.seconds.saturating_add_unsigned(duration.as_secs());
        Self { seconds: seconds.saturating_add((nanos / 1_000_000_000).into()), nanos: nanos % 1_000_000_000 }
    }

    /// Some time earlier.
    #[must_use]
    pub fn minus(self, duration: std::time::Duration) -> Self {
        let borrow = self.nanos < duration.subsec_nanos();
        let nanos = self.nanos + u32::from(borrow) * 1_000_000_000 - duration.subsec_nanos();
        let seconds = self.seconds.saturating_sub_unsigned(duration.as_secs());
        Self { seconds: seconds.saturating_sub(borrow.into()), nanos }
    }

    fn date_and_time(self) -> String {
        let (year, month, day) = civil(self.seconds.div_euclid(86400));
        let second = self.seconds.rem_euclid(86400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let sign = if year < 0 { "-" } else { "" };
        format!("{sign}{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}", year.abs())
    }
}

/// As `metav1.Time` shows.
impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

/// Now, as `metav1.Time` shows it.
pub fn now() -> String {
    Time::now().to_rfc3339()
}

/// Now, as `metav1.MicroTime` shows it.
pub fn now_micro() -> String {
    Time::now().to_rfc3339_micro()
}

/// The days of an era of the calendar: 400 years.
const ERA: i64 = 146_097;
/// The days from the 1st of March of year 0 to 1970.
const EPOCH: i64 = 719_468;

/// Year, month and day of a day counted from 1970. Years begin in March here, so that the odd day comes last.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day.saturating_add(EPOCH);
    let (era, day) = (day.div_euclid(ERA), day.rem_euclid(ERA));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// The reverse of [`civil`].
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let month = (month + 9) % 12;
    era * ERA + 365 * year + year / 4 - year / 100 + (153 * month + 2) / 5 + day - 1 - EPOCH
}

/// A text in quotes as Go's `time` shows it in errors.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='\u{7f}' => out.push(c),
            _ => {
                let mut buffer = [0; 4];
                for byte in c.encode_utf8(&mut buffer).bytes() {
                    out.push_str(&format!("\\x{byte:02x}"));
                }
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown() {
        let table = [
            (0, 0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:00Z"),
            (
                951_782_400,
                1500,
                "2000-02-29T00:00:00Z",
                "2000-02-29T00:00:00.000001Z",
                "2000-02-29T00:00:00.0000015Z",
            ),
            (
                -1,
                500_000_000,
                "1969-12-31T23:59:59Z",
                "1969-12-31T23:59:59.500000Z",
                "1969-12-31T23:59:59.5Z",
            ),
            (4_102_444_799, 0, "2099-12-31T23:59:59Z", "2099-12-31T23:59:59.000000Z", "2099-12-31T23:59:59Z"),
            (
                -62_135_596_800,
                0,
                "0001-01-01T00:00:00Z",
                "0001-01-01T00:00:00.000000Z",
                "0001-01-01T00:00:00Z",
            ),
        ];
        for (seconds, nanos, plain, micro, nano) in table {
            let time = Time { seconds, nanos };
            assert_eq!(time.to_rfc3339(), plain);
            assert_eq!(time.to_rfc3339_micro(), micro);
            assert_eq!(time.to_rfc3339_nano(), nano);
        }
        assert!(YEAR_ONE.is_zero());
    }

    #[test]
    fn moved() {
        let (half, second) = (std::time::Duration::from_millis(500), std::time::Duration::from_secs(1));
        let time = Time { seconds: 10, nanos: 700_000_000 };
        assert_eq!(time.plus(half), Time { seconds: 11, nanos: 200_000_000 });
        assert_eq!(time.plus(half).minus(half).minus(second), Time { seconds: 9, nanos: 700_000_000 });
        assert_eq!(time.since(time.minus(half)).to_string(), "500ms");
    }

    proptest::proptest! {
        #[test]
        fn times_round_trip(seconds in -62_135_596_800i64..253_402_300_800, nanos in 0u32..1_000_000_000) {
            let time = Time { seconds, nanos: nanos / 1000 * 1000 };
            assert_eq!(Time::parse_micro(&time.to_rfc3339_micro()), Ok(time));
            assert_eq!(Time::parse(&time.to_rfc3339_nano()), Ok(time));
            assert_eq!(Time::parse(&time.to_rfc3339()), Ok(Time::from_unix(seconds)));
        }

        #[test]
        fn any_moment_shows(seconds: i64, nanos in 0u32..1_000_000_000) {
            let _ = Time { seconds, nanos }.to_rfc3339_nano();
        }

        #[test]
        fn any_text_parses_or_fails(text in "[0-9:T.Z+-]{0,32}|.*") {
            let _ = (Time::parse(&text), Time::parse_micro(&text), Duration::parse(&text));
        }
    }
}
