//! RFC 3339 as Go's `time.Parse` reads it: an hour of one digit and a comma for the point are fine, too.

use super::{Time, day_number, quote};

#[derive(Clone, Copy)]
pub(super) enum Layout {
    Rfc3339,
    Rfc3339Micro,
}

impl Layout {
    fn text(self) -> &'static str {
        match self {
            Self::Rfc3339 => "2006-01-02T15:04:05Z07:00",
            Self::Rfc3339Micro => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

pub(super) fn parse(text: &str, layout: Layout) -> Result<Time, String> {
    read(text, layout).map_err(|fault| {
        let value = quote(text);
        match fault {
            Fault::Mismatch { rest, element } => format!(
                "parsing time {value} as {}: cannot parse {} as {}",
                quote(layout.text()),
                quote(rest),
                quote(element)
            ),
            Fault::OutOfRange(what) => format!("parsing time {value}: {what} out of range"),
            Fault::Extra(rest) => format!("parsing time {value}: extra text: {}", quote(rest)),
        }
    })
}

enum Fault<'a> {
    Mismatch { rest: &'a str, element: &'static str },
    OutOfRange(&'static str),
    Extra(&'a str),
}

fn read(text: &str, layout: Layout) -> Result<Time, Fault<'_>> {
    let mut reader = Reader { rest: text };
    let year = reader.year()?;
    reader.literal("-")?;
    let month = reader.number("01", true, 1..=12, "month")?;
    reader.literal("-")?;
    // Whether the month has such a day is looked at last.
    let day = reader.number("02", true, 0..=99, "day")?;
    reader.literal("T")?;
    let hour = reader.number("15", false, 0..=23, "hour")?;
    reader.literal(":")?;
    let minute = reader.number("04", true, 0..=59, "minute")?;
    reader.literal(":")?;
    let second = reader.number("05", true, 0..=59, "second")?;
    let nanos = match layout {
        Layout::Rfc3339 => reader.fraction_if_any(),
        Layout::Rfc3339Micro => reader.micros()?,
    };
    let offset = reader.zone()?;
    if !reader.rest.is_empty() {
        return Err(Fault::Extra(reader.rest));
    }
    if !(1..=days_in(year, month)).contains(&day) {
        return Err(Fault::OutOfRange("day"));
    }
    let seconds = day_number(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
    Ok(Time { seconds, nanos })
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn mismatch(&self, element: &'static str) -> Fault<'a> {
        Fault::Mismatch { rest: self.rest, element }
    }

    fn literal(&mut self, literal: &'static str) -> Result<(), Fault<'a>> {
        self.rest = self.rest.strip_prefix(literal).ok_or(self.mismatch(literal))?;
        Ok(())
    }

    /// Takes exactly so many digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let digits = self.rest.get(..count)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.rest = &self.rest[count..];
        digits.parse().ok()
    }

    fn year(&mut self) -> Result<i64, Fault<'a>> {
        self.digits(4).ok_or(self.mismatch("2006"))
    }

    /// A number of two digits, or, unless it is fixed, of one.
    fn number(
        &mut self,
        element: &'static str,
        fixed: bool,
        range: std::ops::RangeInclusive<i64>,
        what: &'static str,
    ) -> Result<i64, Fault<'a>> {
        let mut number = self.digits(2);
        if number.is_none() && !fixed {
            number = self.digits(1);
        }
        let number = number.ok_or(self.mismatch(element))?;
        if range.contains(&number) { Ok(number) } else { Err(Fault::OutOfRange(what)) }
    }

    /// A fraction of a second that the layout doesn't mention; digits beyond the ninth are dropped.
    fn fraction_if_any(&mut self) -> u32 {
        let Some(digits) = self.rest.strip_prefix(['.', ',']) else { return 0 };
        let len = digits.bytes().take_while(u8::is_ascii_digit).count();
        if len == 0 {
            return 0;
        }
        self.rest = &digits[len..];
        digits[..len]
            .bytes()
            .chain(std::iter::repeat(b'0'))
            .take(9)
            .fold(0, |nanos, digit| nanos * 10 + u32::from(digit - b'0'))
    }

    fn micros(&mut self) -> Result<u32, Fault<'a>> {
        let before = self.mismatch(".000000");
        match self.rest.strip_prefix(['.', ',']) {
            Some(rest) => self.rest = rest,
            None => return Err(before),
        }
        self.digits(6).map(|micros| micros as u32 * 1000).ok_or(before)
    }

    /// `Z` or a difference to UTC, in seconds.
    fn zone(&mut self) -> Result<i64, Fault<'a>> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let before = self.mismatch("Z07:00");
        let (sign, rest) = match self.rest.split_at_checked(1) {
            Some(("+", rest)) => (1, rest),
            Some(("-", rest)) => (-1, rest),
            _ => return Err(before),
        };
        self.rest = rest;
        let hours = self.digits(2);
        let colon = self.literal(":").is_ok();
        match (hours, colon, self.digits(2)) {
            (Some(25..), true, Some(_)) => Err(Fault::OutOfRange("time zone offset hour")),
            (Some(_), true, Some(61..)) => Err(Fault::OutOfRange("time zone offset minute")),
            (Some(hours), true, Some(minutes)) => Ok(sign * (hours * 3600 + minutes * 60)),
            _ => Err(before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let table = [
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T3:04:05Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.5Z"),
            ("2026-01-02T03:04:05,123456789123Z", "2026-01-02T03:04:05.123456789Z"),
            ("2026-01-02T03:04:05+01:30", "2026-01-02T01:34:05Z"),
            ("2026-01-02T03:04:05-24:60", "2026-01-03T04:04:05Z"),
            ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
        ];
        for (text, expected) in table {
            assert_eq!(
                parse(text, Layout::Rfc3339).map(Time::to_rfc3339_nano),
                Ok(expected.into()),
                "{text}"
            );
        }
    }

    #[test]
    fn faults_have_the_words_of_go() {
        let as_plain = "as \"2006-01-02T15:04:05Z07:00\"";
        let table = [
            ("", format!("parsing time \"\" {as_plain}: cannot parse \"\" as \"2006\"")),
            (
                "tomorrow",
                format!("parsing time \"tomorrow\" {as_plain}: cannot parse \"tomorrow\" as \"2006\""),
            ),
            ("2026", format!("parsing time \"2026\" {as_plain}: cannot parse \"\" as \"-\"")),
            ("2026-1-02", format!("parsing time \"2026-1-02\" {as_plain}: cannot parse \"1-02\" as \"01\"")),
            ("2026-13-02T03:04:05Z", "parsing time \"2026-13-02T03:04:05Z\": month out of range".into()),
            ("2026-02-30T03:04:05Z", "parsing time \"2026-02-30T03:04:05Z\": day out of range".into()),
            ("2026-02-20T24:04:05Z", "parsing time \"2026-02-20T24:04:05Z\": hour out of range".into()),
            (
                "2026-02-20T03:04:05",
                format!("parsing time \"2026-02-20T03:04:05\" {as_plain}: cannot parse \"\" as \"Z07:00\""),
            ),
            ("2026-02-20T03:04:05ZZ", "parsing time \"2026-02-20T03:04:05ZZ\": extra text: \"Z\"".into()),
            (
                "2026-02-20T03:04:05+25:00",
                "parsing time \"2026-02-20T03:04:05+25:00\": time zone offset hour out of range".into(),
            ),
            (
                "é\"",
                format!(
                    "parsing time \"\\xc3\\xa9\\\"\" {as_plain}: cannot parse \"\\xc3\\xa9\\\"\" as \"2006\""
                ),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text, Layout::Rfc3339), Err(expected), "{text}");
        }
        assert_eq!(
            parse("2026-02-20T03:04:05Z", Layout::Rfc3339Micro),
            Err("parsing time \"2026-02-20T03:04:05Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \
                 \".000000\""
                .into())
        );
    }
}
