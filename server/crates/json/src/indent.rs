//! Compact JSON to indented JSON, piece by piece: long lists are never there as a whole.
//!
//! Invariant: gives what [`crate::to_string_pretty`] gives of the decoded text, wherever the pieces end. Reads what
//! the encoder wrote; what is not JSON comes out as something that is not either.

/// A text that is being indented.
#[derive(Clone, Debug, Default)]
pub struct Indenter {
    depth: usize,
    /// A container has begun, and it is not known yet whether it is empty.
    begun: bool,
    in_string: bool,
    escaped: bool,
}

impl Indenter {
    /// Appends the next piece, indented. New lines between values are left out.
    pub fn add(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        out.reserve(piece.len() * 2);
        let mut rest = piece;
        while let Some((&byte, after)) = rest.split_first() {
            rest = if self.in_string { self.string(rest, out) } else { self.token(byte, after, out) };
        }
    }

    /// Takes what there is of a string; gives what comes behind it.
    fn string<'a>(&mut self, text: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        let start = usize::from(std::mem::take(&mut self.escaped));
        let found = memchr::memchr2(b'"', b'\\', text.get(start..).unwrap_or_default());
        let end = match found {
            None => text.len(),
            Some(at) => start + at + 1,
        };
        match found.map(|_| text[end - 1]) {
            Some(b'"') => self.in_string = false,
            Some(_) => self.escaped = true,
            None => {}
        }
        out.extend_from_slice(&text[..end]);
        &text[end..]
    }

    fn token<'a>(&mut self, byte: u8, after: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        match byte {
            b'\n' => return after,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if !std::mem::take(&mut self.begun) {
                    self.new_line(out);
                }
            }
            _ if std::mem::take(&mut self.begun) => self.new_line(out),
            _ => {}
        }
        out.push(byte);
        match byte {
            b'{' | b'[' => {
                self.depth += 1;
                self.begun = true;
            }
            b',' => self.new_line(out),
            b':' => out.push(b' '),
            b'"' => self.in_string = true,
            _ => {}
        }
        after
    }

    fn new_line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        out.resize(out.len() + 2 * self.depth, b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Object, Value, to_string, to_string_pretty};

    fn indented(text: &str, step: usize) -> String {
        let (mut indenter, mut out) = (Indenter::default(), Vec::new());
        for piece in text.as_bytes().chunks(step) {
            indenter.add(piece, &mut out);
        }
        String::from_utf8(out).expect("as it came")
    }

    #[test]
    fn is_what_the_encoder_gives() {
        let texts = ["", "\"", "\\", "a\\\"{[,:]}", "é\n\u{0}", "\\\\\"\""];
        let strings: Vec<Value> = texts.map(Value::from).to_vec();
        let members: Object = texts.iter().map(|text| (*text, Value::from(strings.clone()))).collect();
        let values = [
            Value::Null,
            Value::from(-1.5),
            Value::from("x"),
            Value::from(Vec::<Value>::new()),
            Value::from(Object::new()),
            Value::from(vec![Value::from(Object::new()), Value::from(vec![Value::from(Vec::new())])]),
            Value::from(vec![Value::from(members), Value::from(true)]),
        ];
        for value in values {
            let (compact, want) = (to_string(&value), to_string_pretty(&value));
            for step in 1..=compact.len() + 1 {
                assert_eq!(indented(&format!("{compact}\n"), step), want, "by {step}");
            }
        }
    }

    #[test]
    fn text_that_is_none_does_no_harm() {
        for text in ["}}]]", "{\"a", "\"\\", ",,::", "[[[["] {
            for step in 1..=text.len() {
                assert!(indented(text, step).len() >= text.len(), "{text}");
            }
        }
    }
}
