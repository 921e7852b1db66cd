//! [`Value`] to JSON text as Go's encoder writes it: `<`, `>`, `&`, U+2028 and U+2029 escaped, floats in Go's form.
//!
//! Position: the last thing that an object meets on its way out.
//! Invariant: what is written decodes to an equal value. A float that JSON has no number for is written as null.

use std::io::Write;

use crate::{Object, Value, swar};

/// Appends the compact form.
pub fn to_bytes(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(number) => out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes()),
        Value::Float(number) => float_to_bytes(*number, out),
        Value::String(text) => string_to_bytes(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                to_bytes(item, out);
            }
            out.push(b']');
        }
        Value::Object(object) => object_to_bytes(object, out),
    }
}

/// Appends the compact form of an object.
pub fn object_to_bytes(object: &Object, out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, (key, value)) in object.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        string_to_bytes(key, out);
        out.push(b':');
        to_bytes(value, out);
    }
    out.push(b'}');
}

/// Appends a string with its quotes.
pub fn string_to_bytes(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let (mut written, mut at) = (0, 0);
    loop {
        at += plain_len(&bytes[at..]);
        let Some(&byte) = bytes.get(at) else { break };
        let escaped: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0x08 => b"\\b",
            0x0c => b"\\f",
            0xe2 if bytes[at..].starts_with(b"\xe2\x80\xa8") => b"\\u2028",
            0xe2 if bytes[at..].starts_with(b"\xe2\x80\xa9") => b"\\u2029",
            0xe2 => {
                at += 1;
                continue;
            }
            _ => &[b'\\', b'u', b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]],
        };
        out.extend_from_slice(&bytes[written..at]);
        out.extend_from_slice(escaped);
        at += if byte == 0xe2 { 3 } else { 1 };
        written = at;
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}

/// How many bytes stand for themselves.
fn plain_len(bytes: &[u8]) -> usize {
    let mut len = 0;
    for chunk in bytes.chunks_exact(8) {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        if !swar::is_plain(u64::from_le_bytes(word)) {
            break;
        }
        len += 8;
    }
    len + bytes[len..].iter().take_while(|byte| PLAIN[usize::from(**byte)]).count()
}

/// The compact form.
pub fn to_string(value: &Value) -> String {
    let mut out = Vec::new();
    to_bytes(value, &mut out);
    text(out)
}

/// The form that `pretty=true` asks for: two spaces of indentation.
pub fn to_string_pretty(value: &Value) -> String {
    let mut out = Vec::new();
    to_bytes_pretty(value, &mut out);
    text(out)
}

/// Appends the form that `pretty=true` asks for.
pub fn to_bytes_pretty(value: &Value, out: &mut Vec<u8>) {
    indented(value, 0, out);
}

/// Appends a float as Go's encoder has it: exponents outside of 1e-6..1e21 only.
pub fn float_to_bytes(number: f64, out: &mut Vec<u8>) {
    let size = number.abs();
    // Writing to a Vec cannot fail.
    let _ = if !number.is_finite() {
        out.write_all(b"null")
    } else if size == 0.0 || (1e-6..1e21).contains(&size) {
        write!(out, "{number}")
    } else {
        let text = format!("{number:e}");
        match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => write!(out, "{digits}e+{exponent}"),
            _ => out.write_all(text.as_bytes()),
        }
    };
}

fn indented(value: &Value, depth: usize, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                new_line(at > 0, depth + 1, out);
                indented(item, depth + 1, out);
            }
            new_line(false, depth, out);
            out.push(b']');
        }
        Value::Object(object) if !object.is_empty() => {
            out.push(b'{');
            for (at, (key, value)) in object.iter().enumerate() {
                new_line(at > 0, depth + 1, out);
                string_to_bytes(key, out);
                out.extend_from_slice(b": ");
                indented(value, depth + 1, out);
            }
            new_line(false, depth, out);
            out.push(b'}');
        }
        _ => to_bytes(value, out),
    }
}

fn new_line(comma: bool, depth: usize, out: &mut Vec<u8>) {
    if comma {
        out.push(b',');
    }
    out.push(b'\n');
    for _ in 0..depth {
        out.extend_from_slice(b"  ");
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The bytes that stand for themselves in a string; 0xe2 may begin U+2028.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut byte = 0;
    while byte < 0x20 {
        plain[byte] = false;
        byte += 1;
    }
    plain[b'"' as usize] = false;
    plain[b'\\' as usize] = false;
    plain[b'<' as usize] = false;
    plain[b'>' as usize] = false;
    plain[b'&' as usize] = false;
    plain[0xe2] = false;
    plain
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_by_go() {
        let table = [
            ("plain é 日本 😀", "\"plain é 日本 😀\""),
            ("<a href=\"x\">&</a>", r#""\u003ca href=\"x\"\u003e\u0026\u003c/a\u003e""#),
            ("\u{2028}x\u{2029}", r#""\u2028x\u2029""#),
            ("\u{2027}\u{202a}", "\"\u{2027}\u{202a}\""),
            (
                "\\ \n \r \t \u{8} \u{c} \u{0} \u{1f} \u{7f}",
                "\"\\\\ \\n \\r \\t \\b \\f \\u0000 \\u001f \u{7f}\"",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(to_string(&Value::from(text)), expected);
        }
    }

    #[test]
    fn floats_are_formatted_as_by_go() {
        let table = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (100.0, "100"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.25e300, "1.25e+300"),
            (0.000_001, "0.000001"),
            (0.000_000_9, "9e-7"),
            (-2.5e-10, "-2.5e-10"),
            (f64::NAN, "null"),
        ];
        for (number, expected) in table {
            assert_eq!(to_string(&Value::Float(number)), expected);
        }
    }

    #[test]
    fn pretty() {
        let value = Value::Object(
            [
                ("a", Value::from(vec![Value::Int(1), Value::from(Object::new())])),
                ("b", Value::Array(Vec::new())),
            ]
            .into_iter()
            .collect(),
        );
        assert_eq!(to_string_pretty(&value), "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
    }
}
