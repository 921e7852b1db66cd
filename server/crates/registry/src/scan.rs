//! A cursor over stored JSON that skips what nobody asked for.
//!
//! Position: below the facts of stored objects. Makes no tree and allocates nothing. Text that is
//! no JSON ends the walk early with `None`; it never panics.

use std::ops::Range;

use compact_str::CompactString;

/// A place in a JSON text.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At `at`, which begins a value.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Where it is.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The next byte that is no space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// Walks the members of the object at hand. `visit` gets the cursor before the member's value,
    /// where the member begins and its raw key; a value that it does not consume is skipped.
    pub(crate) fn members(
        &mut self,
        mut visit: impl FnMut(&mut Self, usize, &'a [u8]) -> Option<()>,
    ) -> Option<()> {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Some(());
        }
        loop {
            self.peek()?;
            let start = self.at;
            let key = self.raw_string()?;
            self.expect(b':')?;
            self.peek()?;
            let value = self.at;
            visit(self, start, key)?;
            if self.at == value {
                self.skip()?;
            }
            if !self.take(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// Whether the array at hand has items. Leaves the cursor where it is.
    pub(crate) fn has_items(&self) -> bool {
        let mut ahead = self.clone();
        ahead.take(b'[') && ahead.peek().is_some_and(|byte| byte != b']')
    }

    /// A string, without its quotes and with its escapes.
    pub(crate) fn raw_string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            let rest = self.bytes.get(self.at..)?;
            let found = memchr::memchr2(b'"', b'\\', rest)?;
            self.at += found;
            if self.bytes[self.at] == b'"' {
                self.at += 1;
                return Some(&self.bytes[start..self.at - 1]);
            }
            self.at += 2;
        }
    }

    /// The string at hand; `None` consumed nothing where it is no string.
    pub(crate) fn text(&mut self) -> Option<CompactString> {
        if self.peek()? != b'"' {
            return None;
        }
        Some(unescaped(self.raw_string()?))
    }

    /// The text of the scalar at hand: strings as they are, `true`, numbers as written; `None`
    /// (and nothing consumed) for null, arrays and objects.
    pub(crate) fn scalar(&mut self) -> Option<CompactString> {
        match self.peek()? {
            b'"' => self.text(),
            b'{' | b'[' | b'n' => None,
            _ => {
                let range = self.skip()?;
                std::str::from_utf8(&self.bytes[range]).ok().map(Into::into)
            }
        }
    }

    /// Skips the value at hand; gives where it is.
    pub(crate) fn skip(&mut self) -> Option<Range<usize>> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => {
                self.raw_string()?;
            }
            b'{' | b'[' => self.skip_nested()?,
            _ => {
                while let Some(byte) = self.bytes.get(self.at) {
                    if matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r') {
                        break;
                    }
                    self.at += 1;
                }
                if self.at == start {
                    return None;
                }
            }
        }
        Some(start..self.at)
    }

    fn skip_nested(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match *self.bytes.get(self.at)? {
                b'"' => {
                    self.raw_string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return Some(());
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }
}

/// The text of a raw string.
pub(crate) fn unescaped(raw: &[u8]) -> CompactString {
    if memchr::memchr(b'\\', raw).is_none() {
        return CompactString::from_utf8_lossy(raw);
    }
    let mut quoted = Vec::with_capacity(raw.len() + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(raw);
    quoted.push(b'"');
    match apiwright_json::decode(&quoted) {
        Ok((apiwright_json::Value::String(text), _)) => text,
        _ => CompactString::from_utf8_lossy(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_and_the_rest_is_skipped() {
        let text = br#" { "a\"b" : [1,{"x":"}"}], "n":null,"t":true,"f":-1.5e3 ,"s":"q\u00e9\n" } "#;
        let mut cursor = Cursor::new(text, 0);
        let mut seen = Vec::new();
        let walked = cursor.members(|cursor, _, key| {
            seen.push((unescaped(key).to_string(), cursor.scalar().map(|text| text.to_string())));
            Some(())
        });
        assert!(walked.is_some());
        let want =
            [("a\"b", None), ("n", None), ("t", Some("true")), ("f", Some("-1.5e3")), ("s", Some("qé\n"))];
        let want: Vec<_> = want.map(|(key, value)| (key.to_owned(), value.map(str::to_owned))).into();
        assert_eq!(seen, want);
    }

    #[test]
    fn broken_text_ends_the_walk() {
        for text in [
            "",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":}",
            "{\"a\":1",
            "{\"a\":\"\\",
            "{\"a\":[1,2}",
            "[1]",
            "{\"a\" 1}",
            "{\"a\":{\"b\":1}",
        ] {
            let mut cursor = Cursor::new(text.as_bytes(), 0);
            let walked = cursor.members(|_, _, _| Some(()));
            assert!(walked.is_none() || text == "{\"a\":[1,2}", "{text}");
        }
    }
}
