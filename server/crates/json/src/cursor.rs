//! A cursor over text that our encoder wrote, for those who want some of it and no tree.
//!
//! Position: beside the decoder, which judges what clients send; this trusts the form of the text and says `None`
//! where that is not what it seems. Never panics, allocates nothing.
//! Absence: no spaces between tokens; duplicates, UTF-8, numbers and control characters are not looked at.

use crate::nesting::Nesting;
use crate::swar;

/// A place in a compact JSON text.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// What stands between the quotes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a> {
    /// With its escapes.
    pub bytes: &'a [u8],
    /// Whether it has any.
    pub escaped: bool,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a text.
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Where it is.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Goes to where it has been.
    pub fn seek(&mut self, position: usize) {
        self.at = position.min(self.text.len());
    }

    /// The next byte.
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Goes past this byte, where it is the next.
    pub fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    /// Goes to the first member or item of the container that `open` begins: whether there is one.
    pub fn enter(&mut self, open: u8) -> Option<bool> {
        if !self.take(open) {
            return None;
        }
        // The brackets of ASCII are two apart.
        Some(!self.take(open + 2))
    }

    /// Goes past a comma or past the end of the container that `open` began: whether there is more.
    pub fn more(&mut self, open: u8) -> Option<bool> {
        match self.peek()? {
            b',' => {
                self.at += 1;
                Some(true)
            }
            byte if byte == open + 2 => {
                self.at += 1;
                Some(false)
            }
            _ => None,
        }
    }

    /// A member's name and the colon.
    pub fn key(&mut self) -> Option<Raw<'a>> {
        let key = self.string()?;
        self.take(b':').then_some(key)
    }

    /// A string.
    pub fn string(&mut self) -> Option<Raw<'a>> {
        if !self.take(b'"') {
            return None;
        }
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = self.text.get(self.at..)?;
            self.at += plain_len(rest);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(Raw { bytes: &self.text[start..self.at - 1], escaped });
                }
                b'\\' => {
                    escaped = true;
                    self.at += 2;
                }
                _ => return None,
            }
        }
    }

    /// A number, `true`, `false` or `null`, as it is written.
    pub fn word(&mut self) -> Option<&'a [u8]> {
        let rest = self.text.get(self.at..)?;
        let length = rest.iter().take_while(|byte| !matches!(byte, b',' | b'}' | b']')).count();
        self.at += length;
        (length > 0).then_some(&rest[..length])
    }

    /// Goes past `null`, where that is the next value.
    pub fn null(&mut self) -> bool {
        let there = self.peek() == Some(b'n');
        if there {
            self.word();
        }
        there
    }

    /// Goes past a value, which it gives as it is written.
    pub fn skip(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        match self.peek()? {
            b'"' => {
                self.string()?;
            }
            b'{' | b'[' => self.skip_nested()?,
            _ => {
                self.word()?;
            }
        }
        self.text.get(start..self.at)
    }

    fn skip_nested(&mut self) -> Option<()> {
        let mut nesting = Nesting::default();
        let mut left = self.text.get(self.at..)?;
        while let Some((block, after)) = left.split_first_chunk() {
            if let Some(length) = nesting.end_in(block) {
                self.at += length;
                return Some(());
            }
            self.at += block.len();
            left = after;
        }
        let mut block = [0; 64];
        block[..left.len()].copy_from_slice(left);
        self.at += nesting.end_in(&block)?;
        Some(())
    }
}

impl Raw<'_> {
    /// Appends the text; `None` where an escape is none.
    pub fn unescape(self, out: &mut Vec<u8>) -> Option<()> {
        let mut rest = self.bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
            out.extend_from_slice(&rest[..at]);
            let plain = match rest.get(at + 1)? {
                byte @ (b'"' | b'\\' | b'/') => *byte,
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'u' => {
                    let digits = std::str::from_utf8(rest.get(at + 2..at + 6)?).ok()?;
                    // Halves of characters are left to the decoder: the encoder writes none.
                    let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    rest = &rest[at + 6..];
                    continue;
                }
                _ => return None,
            };
            out.push(plain);
            rest = &rest[at + 2..];
        }
        out.extend_from_slice(rest);
        Some(())
    }
}

/// The bytes up to a quote, a backslash or the end.
fn plain_len(rest: &[u8]) -> usize {
    let mut length = 0;
    let mut left = rest;
    while let Some((chunk, after)) = left.split_first_chunk() {
        let ends = swar::ends(u64::from_le_bytes(*chunk));
        if ends != 0 {
            return length + ends.trailing_zeros() as usize / 8;
        }
        length += 8;
        left = after;
    }
    length + left.iter().take_while(|byte| !matches!(byte, b'"' | b'\\')).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Value, decode, to_string};

    #[test]
    fn walks() {
        let mut cursor = Cursor::new(br#"{"a":[1,{"b":"}\""}],"c\n":null,"d":{}}"#);
        assert_eq!(cursor.enter(b'{'), Some(true));
        assert_eq!(cursor.key(), Some(Raw { bytes: b"a", escaped: false }));
        assert_eq!(cursor.clone().enter(b'['), Some(true));
        assert_eq!(cursor.skip(), Some(&br#"[1,{"b":"}\""}]"#[..]));
        assert_eq!(cursor.more(b'{'), Some(true));
        assert_eq!(cursor.key(), Some(Raw { bytes: b"c\\n", escaped: true }));
        assert!(cursor.null());
        assert_eq!(cursor.more(b'{'), Some(true));
        assert_eq!(cursor.key().map(|key| key.bytes), Some(&b"d"[..]));
        assert_eq!(cursor.enter(b'{'), Some(false));
        assert_eq!(cursor.more(b'{'), Some(false));
        assert_eq!(cursor.peek(), None);
    }

    #[test]
    fn text_that_is_none_ends_a_walk() {
        for text in ["", "\"", "\"a", "\"a\\", "{", "[", "{\"a\"", "[\"a", "[[]"] {
            assert_eq!(Cursor::new(text.as_bytes()).skip(), None, "{text}");
        }
        for text in ["\\", "\\x", "\\u12", "\\ud800", "\\u12é4"] {
            let raw = Raw { bytes: text.as_bytes(), escaped: true };
            assert_eq!(raw.unescape(&mut Vec::new()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn strings_come_back(text: String) {
            let json = to_string(&Value::from(text.as_str()));
            let raw = Cursor::new(json.as_bytes()).string().expect("a string");
            let mut out = Vec::new();
            prop_assert_eq!(raw.unescape(&mut out), Some(()));
            prop_assert_eq!(out, text.as_bytes());
            prop_assert!(raw.escaped || raw.bytes == text.as_bytes());
        }

        #[test]
        fn a_value_ends_where_it_ends(texts: Vec<String>, deep in 0usize..4) {
            let mut value = Value::from(texts.into_iter().map(Value::from).collect::<Vec<_>>());
            for at in 0..deep {
                value = crate::Object::from_iter([(["{", "]\"", "\\"][at % 3], value)]).into();
            }
            let json = to_string(&value);
            let text = format!("{json},[");
            prop_assert_eq!(Cursor::new(text.as_bytes()).skip(), Some(json.as_bytes()));
            prop_assert!(decode(json.as_bytes()).is_ok());
        }

        #[test]
        fn nothing_panics(noise: Vec<u8>) {
            let mut cursor = Cursor::new(&noise);
            while cursor.skip().is_some() || cursor.take(b',') {}
        }
    }
}
