//! Moments and lengths of time.

use apiwright_meta::time::Time;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::value::Val;

pub(super) const FUNCTIONS: &[Entry] = &[
    part(
        "getFullYear",
        year,
        &["timestamp_to_year: timestamp.() -> int", "timestamp_to_year_with_tz: timestamp.(string) -> int"],
    ),
    part(
        "getMonth",
        month,
        &["timestamp_to_month: timestamp.() -> int", "timestamp_to_month_with_tz: timestamp.(string) -> int"],
    ),
    part(
        "getDayOfYear",
        day_of_year,
        &[
            "timestamp_to_day_of_year: timestamp.() -> int",
            "timestamp_to_day_of_year_with_tz: timestamp.(string) -> int",
        ],
    ),
    part(
        "getDayOfMonth",
        day_of_month,
        &[
            "timestamp_to_day_of_month: timestamp.() -> int",
            "timestamp_to_day_of_month_with_tz: timestamp.(string) -> int",
        ],
    ),
    part(
        "getDate",
        date,
        &[
            "timestamp_to_day_of_month_1_based: timestamp.() -> int",
            "timestamp_to_day_of_month_1_based_with_tz: timestamp.(string) -> int",
        ],
    ),
    part(
        "getDayOfWeek",
        day_of_week,
        &[
            "timestamp_to_day_of_week: timestamp.() -> int",
            "timestamp_to_day_of_week_with_tz: timestamp.(string) -> int",
        ],
    ),
    part(
        "getHours",
        hours,
        &[
            "timestamp_to_hours: timestamp.() -> int",
            "timestamp_to_hours_with_tz: timestamp.(string) -> int",
            "duration_to_hours: duration.() -> int",
        ],
    ),
    part(
        "getMinutes",
        minutes,
        &[
            "timestamp_to_minutes: timestamp.() -> int",
            "timestamp_to_minutes_with_tz: timestamp.(string) -> int",
            "duration_to_minutes: duration.() -> int",
        ],
    ),
    part(
        "getSeconds",
        seconds,
        &[
            "timestamp_to_seconds: timestamp.() -> int",
            "timestamp_to_seconds_tz: timestamp.(string) -> int",
            "duration_to_seconds: duration.() -> int",
        ],
    ),
    part(
        "getMilliseconds",
        milliseconds,
        &[
            "timestamp_to_milliseconds: timestamp.() -> int",
            "timestamp_to_milliseconds_with_tz: timestamp.(string) -> int",
            "duration_to_milliseconds: duration.() -> int",
        ],
    ),
];

const fn part(
    name: &'static str,
    native: crate::functions::Native,
    signatures: &'static [&'static str],
) -> Entry {
    Entry { name, price: Price::One, native, signatures }
}

const SECOND: i64 = 1_000_000_000;
/// The first and the last second that a timestamp may be.
const BOUNDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// A moment, if it is one that expressions know.
pub(crate) fn moment<'a>(time: Time) -> Result<Val<'a>, EvalError> {
    if BOUNDS.contains(&time.seconds) {
        Ok(Val::Timestamp(time))
    } else {
        Err(EvalError::new("timestamp overflow"))
    }
}

/// A moment so many nanoseconds later.
pub(crate) fn later<'a>(time: Time, nanos: i128) -> Result<Val<'a>, EvalError> {
    let total = i128::from(time.seconds) * i128::from(SECOND) + i128::from(time.nanos) + nanos;
    let seconds =
        i64::try_from(total.div_euclid(SECOND.into())).map_err(|_| EvalError::new("timestamp overflow"))?;
    moment(Time { seconds, nanos: total.rem_euclid(SECOND.into()) as u32 })
}

/// How long one moment is after another.
pub(crate) fn between<'a>(a: Time, b: Time) -> Result<Val<'a>, EvalError> {
    let nanos = (i128::from(a.seconds) - i128::from(b.seconds)) * i128::from(SECOND)
        + (i128::from(a.nanos) - i128::from(b.nanos));
    i64::try_from(nanos).map(Val::Duration).map_err(|_| EvalError::new("duration overflow"))
}

/// A length of time as expressions write it: in seconds.
pub(crate) fn duration_text(nanos: i64) -> String {
    let seconds = (nanos / SECOND) as f64 + (nanos % SECOND) as f64 / 1e9;
    format!("{seconds}s")
}

/// A moment where it is, in the zone that a call names or in UTC.
fn local(args: &[Val<'_>]) -> Result<Zoned, EvalError> {
    let (time, zone) = match args {
        [Val::Timestamp(time)] => (time, TimeZone::UTC),
        [Val::Timestamp(time), Val::String(name)] => (time, zone(name)?),
        _ => return Err(EvalError::NO_OVERLOAD),
    };
    let moment =
        Timestamp::new(time.seconds, time.nanos as i32).map_err(|_| EvalError::new("timestamp overflow"))?;
    Ok(moment.to_zoned(zone))
}

fn zone(name: &str) -> Result<TimeZone, EvalError> {
    let Some((hours, minutes)) = name.split_once(':') else {
        return match name {
            "" | "UTC" => Ok(TimeZone::UTC),
            _ => TimeZone::get(name).map_err(|_| EvalError::new(format!("unknown time zone {name}"))),
        };
    };
    let number = |text: &str| {
        text.parse::<i32>()
            .map_err(|_| EvalError::new(format!("strconv.Atoi: parsing {text:?}: invalid syntax")))
    };
    let (hour, minute) = (number(hours)?, number(minutes)?);
    if !(0..=59).contains(&minute) {
        return Err(EvalError::new(format!("timezone offset minutes out of range [0, 59]: {name}")));
    }
    let minute = if name.starts_with('-') { -minute } else { minute };
    let seconds = hour.saturating_mul(3600).saturating_add(minute * 60);
    let offset = Offset::from_seconds(seconds);
    offset.map(TimeZone::fixed).map_err(|_| EvalError::new(format!("timezone offset out of range: {name}")))
}

fn year<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    local(args).map(|at| Val::Int(at.year().into()))
}

fn month<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    local(args).map(|at| Val::Int(i64::from(at.month()) - 1))
}

fn day_of_year<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    local(args).map(|at| Val::Int(i64::from(at.day_of_year()) - 1))
}

fn day_of_month<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    local(args).map(|at| Val::Int(i64::from(at.day()) - 1))
}

fn date<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    local(args).map(|at| Val::Int(at.day().into()))
}

fn day_of_week<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    local(args).map(|at| Val::Int(at.weekday().to_sunday_zero_offset().into()))
}

fn hours<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::Duration(nanos)] => Ok(Val::Int(nanos / (3600 * SECOND))),
        _ => local(args).map(|at| Val::Int(at.hour().into())),
    }
}

fn minutes<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::Duration(nanos)] => Ok(Val::Int(nanos / (60 * SECOND))),
        _ => local(args).map(|at| Val::Int(at.minute().into())),
    }
}

fn seconds<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::Duration(nanos)] => Ok(Val::Int(nanos / SECOND)),
        _ => local(args).map(|at| Val::Int(at.second().into())),
    }
}

fn milliseconds<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::Duration(nanos)] => Ok(Val::Int(nanos / 1_000_000)),
        _ => local(args).map(|at| Val::Int(at.millisecond().into())),
    }
}
