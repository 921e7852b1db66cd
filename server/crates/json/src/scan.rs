//! The tokens of JSON, with the words of Go's scanner for what is none.
//!
//! Invariant: at the end of the text, Go's scanner is asked for one more space; that is why
//! `tru` is an invalid space and `[1` an unexpected end.

use crate::decode::Error;
use crate::{Str, Value, swar};

/// Walks through a text.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// A number out of range: reported only when the rest of the text is in order, as Go checks
    /// the form of the whole before it reads any of it.
    out_of_range: Option<Error>,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, out_of_range: None }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    pub(crate) fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// After an item of a container: whether a comma promises another, or the container ends.
    pub(crate) fn more(&mut self, end: u8, context: &str) -> Result<bool, Error> {
        if self.take(b',') {
            Ok(true)
        } else if self.take(end) {
            Ok(false)
        } else {
            Err(self.unexpected(context))
        }
    }

    /// Nothing may follow.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        if self.at < self.text.len() {
            return Err(self.unexpected("after top-level value"));
        }
        self.out_of_range.take().map_or(Ok(()), Err)
    }

    /// The error for the byte at hand where a space would have been fine.
    #[cold]
    pub(crate) fn unexpected(&self, context: &str) -> Error {
        match self.peek() {
            Some(byte) => invalid(byte, context),
            None => Error { message: "unexpected end of JSON input".into() },
        }
    }

    /// The error for the byte at hand where not even a space is fine.
    #[cold]
    fn unexpected_or_space(&self, context: &str) -> Error {
        invalid(self.peek().unwrap_or(b' '), context)
    }

    /// A number, `true`, `false` or `null`.
    pub(crate) fn scalar(&mut self) -> Result<Value, Error> {
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value, Error> {
        for expected in word.bytes() {
            if !self.take(expected) {
                let context = format!("in literal {word} (expecting '{}')", expected as char);
                return Err(self.unexpected_or_space(&context));
            }
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, Error> {
        let start = self.at;
        self.take(b'-');
        let mut integer = true;
        if !self.take(b'0') && !self.digits() {
            return Err(self.unexpected_or_space("in numeric literal"));
        }
        if self.take(b'.') {
            integer = false;
            if !self.digits() {
                return Err(self.unexpected_or_space("after decimal point in numeric literal"));
            }
        }
        if self.take(b'e') || self.take(b'E') {
            integer = false;
            if !self.take(b'+') {
                self.take(b'-');
            }
            if !self.digits() {
                return Err(self.unexpected_or_space("in exponent of numeric literal"));
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        Ok(self.parsed(text, integer))
    }

    fn parsed(&mut self, text: &str, integer: bool) -> Value {
        if integer && let Ok(number) = text.parse() {
            return Value::Int(number);
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Float(number),
            _ => {
                let message = format!("json: cannot unmarshal number {text} into Go value of type float64");
                self.out_of_range.get_or_insert(Error { message });
                Value::Null
            }
        }
    }

    fn digits(&mut self) -> bool {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        self.at > start
    }

    /// A string; the opening quote is at hand.
    pub(crate) fn string(&mut self) -> Result<Str, Error> {
        self.at += 1;
        let plain = self.plain();
        if self.take(b'"') {
            if let Ok(text) = std::str::from_utf8(plain) {
                return Ok(text.into());
            }
            let mut out = String::with_capacity(plain.len());
            push_lossy(plain, &mut out);
            return Ok(out.into());
        }
        let mut out = String::with_capacity(plain.len() + 16);
        push_lossy(plain, &mut out);
        loop {
            if self.take(b'"') {
                return Ok(out.into());
            }
            if !self.take(b'\\') {
                return Err(self.unexpected("in string literal"));
            }
            self.escape(&mut out)?;
            push_lossy(self.plain(), &mut out);
        }
    }

    /// The bytes up to a quote, a backslash, a control character or the end.
    fn plain(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let mut len = 0;
        for chunk in rest.chunks_exact(8) {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            if swar::has_special(u64::from_le_bytes(word)) {
                break;
            }
            len += 8;
        }
        while let Some(byte) = rest.get(len)
            && *byte >= 0x20
            && *byte != b'"'
            && *byte != b'\\'
        {
            len += 1;
        }
        self.at += len;
        &rest[..len]
    }

    /// What follows a backslash.
    fn escape(&mut self, out: &mut String) -> Result<(), Error> {
        let c = match self.peek() {
            Some(b'u') => {
                self.at += 1;
                let unit = self.hex()?;
                out.push(self.character(unit)?);
                return Ok(());
            }
            Some(byte @ (b'"' | b'\\' | b'/')) => byte as char,
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.unexpected_or_space("in string escape code")),
        };
        self.at += 1;
        out.push(c);
        Ok(())
    }

    /// The character of a UTF-16 unit, which takes a second escape where it is half of one.
    fn character(&mut self, unit: u16) -> Result<char, Error> {
        if let Some(c) = char::from_u32(unit.into()) {
            return Ok(c);
        }
        if unit < 0xdc00 && self.text[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let low = self.hex()?;
            if let Some(Ok(c)) = char::decode_utf16([unit, low]).next() {
                return Ok(c);
            }
            self.at = before;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Result<u16, Error> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| (byte as char).to_digit(16)) else {
                return Err(self.unexpected_or_space("in \\u hexadecimal character escape"));
            };
            unit = unit << 4 | digit as u16;
            self.at += 1;
        }
        Ok(unit)
    }
}

/// Appends text with one U+FFFD for each byte that belongs to no character.
fn push_lossy(bytes: &[u8], out: &mut String) {
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for _ in chunk.invalid() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

#[cold]
fn invalid(byte: u8, context: &str) -> Error {
    let shown = match byte {
        b'\'' => "\\'".into(),
        b'\\' => "\\\\".into(),
        0x07 => "\\a".into(),
        0x08 => "\\b".into(),
        0x0b => "\\v".into(),
        0x0c => "\\f".into(),
        b'\n' => "\\n".into(),
        b'\r' => "\\r".into(),
        b'\t' => "\\t".into(),
        0x00..0x20 | 0x7f => format!("\\x{byte:02x}"),
        0x80..=0xa0 | 0xad => format!("\\u{:04x}", u32::from(byte)),
        _ => char::from(byte).to_string(),
    };
    Error { message: format!("invalid character '{shown}' {context}") }
}
