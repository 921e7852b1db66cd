//! The text of a row up to its object, with places for what time tells: made once an object, shown at any moment.

use apiwright_json::Value;
use apiwright_meta::time::{Time, human_duration};
use apiwright_registry::hooks::Cell;

/// What begins a place for the time since a moment. JSON text has no such byte.
const PLACE: u8 = 0;
/// The moment's seconds and nanoseconds.
const MOMENT_BYTES: usize = 12;

/// The text of a row, and whether it stays the same until the object changes.
pub(super) fn text(cells: Vec<Cell>, conditions: &Value) -> (Vec<u8>, bool) {
    let mut out = Vec::with_capacity(256);
    let mut is_fixed = true;
    out.extend_from_slice(b"{\"cells\":[");
    for (at, cell) in cells.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match cell {
            Cell::Fixed(value) => apiwright_json::to_bytes(&value, &mut out),
            Cell::Now(value) => {
                is_fixed = false;
                apiwright_json::to_bytes(&value, &mut out);
            }
            Cell::Since { before, moment, after } => {
                out.push(b'"');
                inside(&before, &mut out);
                out.push(PLACE);
                out.extend_from_slice(&moment.seconds.to_le_bytes());
                out.extend_from_slice(&moment.nanos.to_le_bytes());
                inside(after, &mut out);
                out.push(b'"');
            }
        }
    }
    out.push(b']');
    if !conditions.is_null() {
        out.extend_from_slice(b",\"conditions\":");
        apiwright_json::to_bytes(conditions, &mut out);
    }
    out.extend_from_slice(b",\"object\":");
    (out, is_fixed)
}

/// Appends a row's text as it is at a moment.
pub(super) fn show(mut text: &[u8], now: Time, out: &mut Vec<u8>) {
    while let Some(at) = text.iter().position(|byte| *byte == PLACE) {
        out.extend_from_slice(&text[..at]);
        let Some((moment, rest)) = text[at + 1..].split_first_chunk::<MOMENT_BYTES>() else { return };
        let [seconds @ .., a, b, c, d] = *moment;
        let moment = Time { seconds: i64::from_le_bytes(seconds), nanos: u32::from_le_bytes([a, b, c, d]) };
        out.extend_from_slice(human_duration(now.since(moment)).as_bytes());
        text = rest;
    }
    out.extend_from_slice(text);
}

/// Appends a text as it is between quotes.
fn inside(text: &str, out: &mut Vec<u8>) {
    let quoted = apiwright_json::to_string(&Value::from(text));
    out.extend_from_slice(quoted.trim_matches('"').as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_when_it_is_shown() {
        let moment = Time { seconds: -62_135_596_800 + 7, nanos: 999_999_999 };
        let later = |seconds| Time { seconds: moment.seconds + seconds, nanos: moment.nanos };
        let cells = vec![
            Cell::Fixed("a\u{0}\"b".into()),
            Cell::Since { before: "3\" (".into(), moment, after: " ago)" },
            Cell::Fixed(Value::Null),
        ];
        let (row, is_fixed) = text(cells, &Value::from("c"));
        assert!(is_fixed);
        for (seconds, ago) in [(5, "5s"), (600, "10m"), (86_400 * 3, "3d")] {
            let mut out = Vec::new();
            show(&row, later(seconds), &mut out);
            let want =
                format!(r#"{{"cells":["a\u0000\"b","3\" ({ago} ago)",null],"conditions":"c","object":"#);
            assert_eq!(String::from_utf8(out).unwrap(), want);
        }
        let (row, is_fixed) = text(vec![Cell::Now(1.into())], &Value::Null);
        assert_eq!(
            (String::from_utf8(row).unwrap().as_str(), is_fixed),
            (r#"{"cells":[1],"object":"#, false)
        );
    }
}
