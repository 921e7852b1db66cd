//! Schedules as cron has them: `*/15 0-6 1,15 jan-mar MON-FRI`, `@daily`, `@every 1h30m`.

use apiwright_meta::field::quoted;
use apiwright_meta::time::Duration;

const DESCRIPTORS: [&str; 7] =
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// What a field may hold; names count from the least.
struct Bounds {
    least: u64,
    most: u64,
    names: &'static [&'static str],
}

/// Minute, hour, day of the month, month, day of the week.
const FIELDS: [Bounds; 5] = [
    Bounds { least: 0, most: 59, names: &[] },
    Bounds { least: 0, most: 23, names: &[] },
    Bounds { least: 1, most: 31, names: &[] },
    Bounds { least: 1, most: 12, names: &MONTHS },
    Bounds { least: 0, most: 6, names: &DAYS },
];

/// Checks a schedule.
///
/// # Errors
/// Why nothing can be scheduled by it.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let mut text = schedule;
    if text.is_empty() {
        return Err("empty spec string".into());
    }
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        let Some((_, rest)) = text.split_once(' ') else {
            return Err("expected exactly 5 fields, found 0: []".into());
        };
        text = rest.trim();
    }
    if text.starts_with('@') {
        return descriptor(text);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        for range in field.split(',').filter(|range| !range.is_empty()) {
            check_range(range, bounds)?;
        }
    }
    Ok(())
}

fn descriptor(text: &str) -> Result<(), String> {
    if let Some(every) = text.strip_prefix("@every ") {
        return match Duration::parse(every) {
            Ok(_) => Ok(()),
            Err(why) => Err(format!("failed to parse duration {text}: {why}")),
        };
    }
    if DESCRIPTORS.contains(&text) { Ok(()) } else { Err(format!("unrecognized descriptor: {text}")) }
}

/// `5`, `1-5`, `*/10`, `3/4`
fn check_range(range: &str, bounds: &Bounds) -> Result<(), String> {
    let parts: Vec<&str> = range.split('/').collect();
    let limits: Vec<&str> = parts[0].split('-').collect();
    let (start, mut end) = match limits.as_slice() {
        ["*" | "?", ..] => (bounds.least, bounds.most),
        [one] => {
            let one = number(one, bounds)?;
            (one, one)
        }
        [from, to] => (number(from, bounds)?, number(to, bounds)?),
        _ => return Err(format!("too many hyphens: {range}")),
    };
    let step = match parts.as_slice() {
        [_] => 1,
        [_, step] => {
            let step = parse(step)?;
            if limits.len() == 1 {
                end = bounds.most;
            }
            step
        }
        _ => return Err(format!("too many slashes: {range}")),
    };
    let Bounds { least, most, .. } = *bounds;
    if start < least {
        return Err(format!("beginning of range ({start}) below minimum ({least}): {range}"));
    }
    if end > most {
        return Err(format!("end of range ({end}) above maximum ({most}): {range}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {range}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {range}"));
    }
    Ok(())
}

fn number(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let named = bounds.names.iter().position(|name| name.eq_ignore_ascii_case(text));
    match named {
        Some(at) => Ok(bounds.least + at as u64),
        None => parse(text),
    }
}

fn parse(text: &str) -> Result<u64, String> {
    let number: i64 = text.parse().map_err(|_| {
        format!("failed to parse int from {text}: strconv.Atoi: parsing {}: invalid syntax", quoted(text))
    })?;
    u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn schedules() {
        let table = [
            ("0-30/10,45 */2 1,15 jan-mar MON-FRI", ""),
            ("0 0 ? * ?", ""),
            ("@every 1h30m", ""),
            ("@yearly", ""),
            ("0  0 * * *", ""),
            ("@reboot", "unrecognized descriptor: @reboot"),
            ("0 0 0 * * *", "expected exactly 5 fields, found 6: [0 0 0 * * *]"),
            ("0 0 * * 7", "end of range (7) above maximum (6): 7"),
            ("0 0 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("30-10 * * * *", "beginning of range (30) beyond end of range (10): 30-10"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
        ];
        for (schedule, expected) in table {
            assert_eq!(check(schedule).err().unwrap_or_default(), expected, "{schedule}");
        }
    }
}
