//! Some members of a stored object as a value: what a look at many large objects needs of each.
//!
//! Position: above the cursor; what is wanted is decoded as ever, the rest is passed over.
//! Invariant: what is there, is as the whole object has it; lists keep all their items.

use crate::cursor::Cursor;
use crate::{Object, Value, decode};

/// Which members are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Those wanted in part; none where all is wanted.
    members: Vec<(Box<str>, Wanted)>,
}

impl Wanted {
    /// Wants what lies at dotted paths, which pass through the items of lists; all where there is no path.
    pub fn at<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut wanted = Self::default();
        for path in paths {
            wanted.add(path.trim_start_matches('.'));
        }
        wanted
    }

    fn add(&mut self, path: &str) {
        let (name, rest) = path.split_once('.').unwrap_or((path, ""));
        let at = self.members.iter().position(|(one, _)| **one == *name);
        match (at, rest) {
            (Some(at), "") => self.members[at].1 = Self::default(),
            // All of it is wanted anyway.
            (Some(at), _) if self.members[at].1.members.is_empty() => {}
            (Some(at), rest) => self.members[at].1.add(rest),
            (None, rest) => {
                let mut below = Self::default();
                if !rest.is_empty() {
                    below.add(rest);
                }
                self.members.push((name.into(), below));
            }
        }
    }

    fn member(&self, name: &[u8]) -> Option<&Self> {
        self.members.iter().find(|(one, _)| one.as_bytes() == name).map(|(_, wanted)| wanted)
    }
}

/// Decodes what is wanted of an object that our encoder wrote; `None` where the text does not look like that.
pub fn decode_wanted(text: &[u8], wanted: &Wanted) -> Option<Value> {
    value(&mut Cursor::new(text), wanted)
}

/// The value at hand. Recurses no deeper than paths are long.
fn value(cursor: &mut Cursor<'_>, wanted: &Wanted) -> Option<Value> {
    match cursor.peek()? {
        b'{' if !wanted.members.is_empty() => {
            let mut object = Object::new();
            let mut more = cursor.enter(b'{')?;
            while more {
                let key = cursor.key()?;
                match wanted.member(key.bytes) {
                    Some(wanted) => {
                        object.push(std::str::from_utf8(key.bytes).ok()?, value(cursor, wanted)?);
                    }
                    None if key.escaped => return None,
                    None => {
                        cursor.skip()?;
                    }
                }
                more = cursor.more(b'{')?;
            }
            Some(object.into())
        }
        b'[' if !wanted.members.is_empty() => {
            let mut items = Vec::new();
            let mut more = cursor.enter(b'[')?;
            while more {
                items.push(value(cursor, wanted)?);
                more = cursor.more(b'[')?;
            }
            Some(items.into())
        }
        _ => decode(cursor.skip()?).ok().map(|(value, _)| value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::to_string;

    #[test]
    fn keeps_what_is_wanted() {
        let text = r#"{"a":{"b":1,"c":[{"d":2,"e":{"f":[3]}},{"e":4},5]},"g":"h","i":{"j":"k"}}"#;
        for (paths, expected) in [
            (&[][..], text),
            (&["a"], r#"{"a":{"b":1,"c":[{"d":2,"e":{"f":[3]}},{"e":4},5]}}"#),
            (&["a.b", ".g", "none", "i.none"], r#"{"a":{"b":1},"g":"h","i":{}}"#),
            (&["a.c.d", "g.x"], r#"{"a":{"c":[{"d":2},{},5]},"g":"h"}"#),
            (&["a.c.e.f", "a.c", "a.c.d"], r#"{"a":{"c":[{"d":2,"e":{"f":[3]}},{"e":4},5]}}"#),
        ] {
            let found = decode_wanted(text.as_bytes(), &Wanted::at(paths.iter().copied()));
            assert_eq!(found.as_ref().map(to_string).as_deref(), Some(expected), "{paths:?}");
        }
    }

    #[test]
    fn says_where_it_cannot_tell() {
        for text in ["", "{", r#"{"\u0061":1}"#, r#"{"a":}"#, r#"{"a":{"b":x}}"#, r#"{ "a":1}"#] {
            assert_eq!(decode_wanted(text.as_bytes(), &Wanted::at(["a"])), None, "{text}");
        }
    }
}
