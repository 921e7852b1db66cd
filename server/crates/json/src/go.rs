//! Texts as Go's `fmt` and `strconv` show values: what error messages quote.

/// A text in double quotes with Go's escapes (`%q`).
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            c if is_print(c) => out.push(c),
            c => match c as u32 {
                code @ (..0x20 | 0x7f) => out.push_str(&format!("\\x{code:02x}")),
                code @ ..=0xffff => out.push_str(&format!("\\u{code:04x}")),
                code => out.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    out.push('"');
    out
}

/// Whether a character shows on paper (Go's `unicode.IsPrint`): letters, marks, numbers, punctuation, symbols
/// and the ASCII space.
pub fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    // Rust's own debug form escapes the same characters; one that is not the first is not taken for a lone mark.
    let mut buffer = [b'a'; 5];
    let len = 1 + c.encode_utf8(&mut buffer[1..]).len();
    std::str::from_utf8(&buffer[..len]).is_ok_and(|pair| pair.escape_debug().nth(1) == Some(c))
}

/// A float as Go's `%v` shows it: with an exponent below 1e-4 and from 1e6 on.
pub fn go_float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting() {
        let table = [
            ("plain é 日本", "\"plain é 日本\""),
            ("\"\\\n\t\r\u{7}", r#""\"\\\n\t\r\a""#),
            ("\u{0}\u{1f}\u{7f}", r#""\x00\x1f\x7f""#),
            ("\u{80}\u{a0}\u{200b}\u{e000}\u{e0001}", r#""\u0080\u00a0\u200b\ue000\U000e0001""#),
            ("e\u{301}", "\"e\u{301}\""),
        ];
        for (text, expected) in table {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn floats() {
        let table = [
            (0.5, "0.5"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-1.5e300, "-1.5e+300"),
        ];
        for (number, expected) in table {
            assert_eq!(go_float(number), expected);
        }
    }
}
