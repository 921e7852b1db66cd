//! Indexes of completions, as texts: `1,3-5,7`.

use apiwright_meta::field::quoted;

/// How many indexes a text names.
///
/// # Errors
/// Why it names none.
pub(super) fn count(text: &str, completions: i64) -> Result<i64, String> {
    let (mut total, mut last) = (0, None);
    for interval in text.split(',').filter(|_| !text.is_empty()) {
        let (from, to) = bounds(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= from) {
            return Err(format!("non-increasing order, previous: {last}, current: {from}"));
        }
        total += to - from + 1;
        last = Some(to);
    }
    Ok(total)
}

fn bounds(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let number = |text: &str| {
        let number: i64 = text
            .parse()
            .map_err(|_| format!("cannot convert string to integer for index: {}", quoted(text)))?;
        if number >= completions {
            return Err(format!("too large index: {}", quoted(text)));
        }
        Ok(number)
    };
    let parts: Vec<&str> = interval.split('-').collect();
    match parts.as_slice() {
        [one] => number(one).map(|one| (one, one)),
        [from, to] => {
            let from = number(from)?;
            let to = number(to)?;
            if from >= to {
                return Err(format!("non-increasing order, previous: {from}, current: {to}"));
            }
            Ok((from, to))
        }
        _ => Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two parts separated by '-'",
            quoted(interval)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn texts() {
        let table = [
            ("", Ok(0)),
            ("1", Ok(1)),
            ("0-2,4", Ok(4)),
            ("9", Err("too large index: \"9\"")),
            ("2,1", Err("non-increasing order, previous: 2, current: 1")),
            ("3-1", Err("non-increasing order, previous: 3, current: 1")),
            ("x", Err("cannot convert string to integer for index: \"x\"")),
        ];
        for (text, expected) in table {
            assert_eq!(count(text, 5), expected.map_err(str::to_owned), "{text}");
        }
    }
}
