//! Comma-separated values as Go's `encoding/csv` reads them: quotes double inside quotes, blank
//! lines do not count, rows may differ in length.

const QUOTE_MISPLACED: &str = "extraneous or missing \" in quoted-field";

/// The records of a text.
///
/// # Errors
/// Go's words for what is wrong, with line and column.
pub(crate) fn parse(text: &str) -> Result<Vec<Vec<String>>, String> {
    let mut records = Vec::new();
    let mut lines = text.split_inclusive('\n').enumerate();
    while let Some((number, line)) = lines.next() {
        if matches!(line, "\n" | "\r\n") {
            continue;
        }
        let mut record = Vec::new();
        let mut line = without_carriage_return(line);
        let mut number = number + 1;
        let mut start = 0;
        let first = number;
        loop {
            let rest = &line[start..];
            if let Some(quoted) = rest.strip_prefix('"') {
                let mut field = String::new();
                let mut at = line.len() - quoted.len();
                loop {
                    if let Some(offset) = line[at..].find('"') {
                        field.push_str(&line[at..at + offset]);
                        at += offset + 1;
                        if !line[at..].starts_with('"') {
                            break;
                        }
                        field.push('"');
                        at += 1;
                    } else {
                        field.push_str(&line[at..]);
                        let Some((next_number, next)) = lines.next() else {
                            return Err(problem(first, number, line.len() + 1, QUOTE_MISPLACED));
                        };
                        (line, number, at) = (without_carriage_return(next), next_number + 1, 0);
                    }
                }
                record.push(field);
                match &line[at..] {
                    after if after.starts_with(',') => start = at + 1,
                    "" | "\n" => break,
                    _ => return Err(problem(first, number, at, QUOTE_MISPLACED)),
                }
            } else {
                let end = rest.find(',');
                let field = &rest[..end.unwrap_or(rest.len())];
                let field = if end.is_none() { field.strip_suffix('\n').unwrap_or(field) } else { field };
                if let Some(quote) = field.find('"') {
                    return Err(problem(first, number, start + quote + 1, "bare \" in non-quoted-field"));
                }
                record.push(field.into());
                match end {
                    Some(end) => start += end + 1,
                    None => break,
                }
            }
        }
        records.push(record);
    }
    Ok(records)
}

fn without_carriage_return(line: &str) -> std::borrow::Cow<'_, str> {
    match line.strip_suffix("\r\n") {
        Some(line) => format!("{line}\n").into(),
        None => line.into(),
    }
}

fn problem(first: usize, line: usize, column: usize, what: &str) -> String {
    if first == line {
        format!("parse error on line {line}, column {column}: {what}")
    } else {
        format!("record on line {first}; parse error on line {line}, column {column}: {what}")
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn records() {
        let cases: &[(&str, &[&[&str]])] = &[
            ("", &[]),
            ("a,b,c\n", &[&["a", "b", "c"]]),
            ("a,b,c", &[&["a", "b", "c"]]),
            ("a,b\r\n\r\n\nc\r\n", &[&["a", "b"], &["c"]]),
            ("t,u,i,\"a,b\"\n", &[&["t", "u", "i", "a,b"]]),
            ("\"a\"\"b\",c\n", &[&["a\"b", "c"]]),
            ("\"a\nb\",c\n", &[&["a\nb", "c"]]),
            (",,\n", &[&["", "", ""]]),
            (" a, b\n", &[&[" a", " b"]]),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).unwrap(), *expected, "{text:?}");
        }
    }

    #[test]
    fn faults() {
        for (text, expected) in [
            ("a,b\"c\n", "parse error on line 1, column 4: bare \" in non-quoted-field"),
            ("x\n\"a\"b\n", "parse error on line 2, column 3: extraneous or missing \" in quoted-field"),
            ("\"a\n", "parse error on line 1, column 4: extraneous or missing \" in quoted-field"),
        ] {
            assert_eq!(parse(text).unwrap_err(), expected, "{text:?}");
        }
    }
}
