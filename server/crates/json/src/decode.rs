//! JSON text to [`Value`] in one pass, noting duplicate members on the way.
//!
//! Position: the first thing that a request body meets.
//! Invariant: what is accepted, what is refused and the words for it are those of Go's scanner;
//! malformed UTF-8 and lone surrogates become U+FFFD, as there. Never recurses, so the nesting of
//! a text costs heap and no stack.
//! Absence: no types; whether a number fits its field is the schema's business.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::scan::Scanner;
use crate::{Object, Str, Value};

/// What is wrong with a text that is not JSON: the words that Go's decoder has for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// For instance `invalid character 'x' looking for beginning of value`.
    pub message: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The paths of members that came more than once, each once, in the order in which they were met,
/// in the form that strict decoding errors use: `spec.ports[0].name`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Duplicates(pub Vec<String>);

/// How deep a value may nest.
pub const DEPTH_MAX: usize = 10_000;

/// How many duplicate members are reported; sigs.k8s.io/json stops there as well.
const DUPLICATES_MAX: usize = 100;

/// From this many members on, an object finds its duplicates by hash.
const WIDE: usize = 16;

/// Decodes one JSON value; the last of duplicate members wins, in the place of the first.
///
/// # Errors
/// When the text is not one JSON value, nests deeper than [`DEPTH_MAX`], or has a number that no
/// 64-bit float holds.
pub fn decode(text: &[u8]) -> Result<(Value, Duplicates), Error> {
    let mut decoder = Decoder { scanner: Scanner::new(text), open: Vec::new(), duplicates: Vec::new() };
    let value = decoder.document()?;
    Ok((value, Duplicates(decoder.duplicates)))
}

struct Decoder<'a> {
    scanner: Scanner<'a>,
    /// The arrays and objects that have begun and not ended, outermost first.
    open: Vec<Open>,
    duplicates: Vec<String>,
}

enum Open {
    Array(Vec<Value>),
    Object(Members),
}

/// An object being read.
struct Members {
    object: Object,
    /// The member whose value comes next.
    key: Str,
    /// Where that member already is.
    slot: Option<usize>,
    /// Finds members of a wide object by name.
    index: Option<(HashTable<usize>, RandomState)>,
}

impl Decoder<'_> {
    fn document(&mut self) -> Result<Value, Error> {
        loop {
            let Some(mut value) = self.begin()? else { continue };
            // A value is complete: it may complete what contains it, and so on.
            loop {
                self.scanner.skip_space();
                match self.open.last_mut() {
                    None => {
                        self.scanner.end()?;
                        return Ok(value);
                    }
                    Some(Open::Array(items)) => {
                        items.push(value);
                        if !self.scanner.more(b']', "after array element")? {
                            value = self.close();
                            continue;
                        }
                    }
                    Some(Open::Object(members)) => {
                        members.set(value);
                        if !self.scanner.more(b'}', "after object key:value pair")? {
                            value = self.close();
                            continue;
                        }
                        self.scanner.skip_space();
                        self.key()?;
                    }
                }
                break;
            }
        }
    }

    /// Reads a scalar or an empty container; `None` when a container has begun and its first
    /// value comes next.
    fn begin(&mut self) -> Result<Option<Value>, Error> {
        self.scanner.skip_space();
        let first = self.scanner.peek();
        match first {
            Some(b'"') => self.scanner.string().map(|text| Some(Value::String(text))),
            Some(b'{') => {
                self.descend(b'{')?;
                if self.scanner.take(b'}') {
                    return Ok(Some(Value::Object(Object::new())));
                }
                let members = Members { object: Object::new(), key: Str::default(), slot: None, index: None };
                self.open.push(Open::Object(members));
                self.key()?;
                Ok(None)
            }
            Some(b'[') => {
                self.descend(b'[')?;
                if self.scanner.take(b']') {
                    return Ok(Some(Value::Array(Vec::new())));
                }
                self.open.push(Open::Array(Vec::new()));
                Ok(None)
            }
            _ => self.scanner.scalar().map(Some),
        }
    }

    fn descend(&mut self, bracket: u8) -> Result<(), Error> {
        if self.open.len() >= DEPTH_MAX {
            return Err(self.scanner.unexpected("exceeded max depth"));
        }
        self.scanner.take(bracket);
        self.scanner.skip_space();
        Ok(())
    }

    /// Reads the name of the next member of the innermost object, and the colon.
    fn key(&mut self) -> Result<(), Error> {
        if self.scanner.peek() != Some(b'"') {
            return Err(self.scanner.unexpected("looking for beginning of object key string"));
        }
        let key = self.scanner.string()?;
        self.scanner.skip_space();
        if !self.scanner.take(b':') {
            return Err(self.scanner.unexpected("after object key"));
        }
        if let Some(Open::Object(members)) = self.open.last_mut() {
            members.slot = members.position(&key);
            members.key = key;
            if members.slot.is_some() {
                self.note_duplicate();
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Value {
        match self.open.pop() {
            Some(Open::Array(items)) => Value::Array(items),
            Some(Open::Object(members)) => Value::Object(members.object),
            None => Value::Null,
        }
    }

    #[cold]
    fn note_duplicate(&mut self) {
        if self.duplicates.len() >= DUPLICATES_MAX {
            return;
        }
        let mut path = String::new();
        for open in &self.open {
            match open {
                Open::Array(items) => path.push_str(&format!("[{}]", items.len())),
                Open::Object(members) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&members.key);
                }
            }
        }
        if !self.duplicates.contains(&path) {
            self.duplicates.push(path);
        }
    }
}

impl Members {
    fn position(&mut self, key: &str) -> Option<usize> {
        if self.object.len() < WIDE {
            return self.object.position(key);
        }
        let object = &self.object;
        let (table, hasher) = self.index.get_or_insert_with(|| {
            let hasher = RandomState::new();
            let mut table = HashTable::with_capacity(object.len() * 2);
            for (at, name) in object.keys().enumerate() {
                table.insert_unique(hasher.hash_one(name.as_str()), at, |at| {
                    hasher.hash_one(object.key_at(*at))
                });
            }
            (table, hasher)
        });
        table.find(hasher.hash_one(key), |at| object.key_at(*at) == key).copied()
    }

    fn set(&mut self, value: Value) {
        let key = std::mem::take(&mut self.key);
        if let Some(at) = self.slot {
            self.object.set_at(at, value);
            return;
        }
        self.object.push(key, value);
        if let Some((table, hasher)) = &mut self.index {
            let (object, at) = (&self.object, self.object.len() - 1);
            table.insert_unique(hasher.hash_one(object.key_at(at)), at, |at| {
                hasher.hash_one(object.key_at(*at))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::to_string;

    #[test]
    fn values() {
        let table: &[(&[u8], &str)] = &[
            (b" null ", "null"),
            (b"[true,false , null]", "[true,false,null]"),
            (b"{}", "{}"),
            (b"[ ]", "[]"),
            (b"{ \"a\" : [ { } , [ ] ] }", r#"{"a":[{},[]]}"#),
            (
                b"[0,-0,-1,9223372036854775807,9223372036854775808]",
                "[0,0,-1,9223372036854775807,9223372036854776000]",
            ),
            (b"[1.0,1e2,1.5e-7,1e21,0.000001]", "[1,100,1.5e-7,1e+21,0.000001]"),
            (br#""a\"b\\c\/d\b\f\n\r\t""#, r#""a\"b\\c/d\b\f\n\r\t""#),
            (br#""\u00e9\ud83d\ude00""#, "\"é😀\""),
            (
                br#"["\ud83d","\ude00x","\ud83dx","\ud83d\u0041"]"#,
                "[\"\u{fffd}\",\"\u{fffd}x\",\"\u{fffd}x\",\"\u{fffd}A\"]",
            ),
            (b"\"a\xffb\xe2\x82\"", "\"a\u{fffd}b\u{fffd}\u{fffd}\""),
            (
                b"\"a long enough text with \\n a line end and \xc3\xa9 in it\"",
                "\"a long enough text with \\n a line end and é in it\"",
            ),
            (b"{\"a\":1,\"b\":2,\"a\":{\"c\":3}}", r#"{"a":{"c":3},"b":2}"#),
        ];
        for (text, expected) in table {
            let (value, _) =
                decode(text).unwrap_or_else(|e| panic!("{}: {e}", String::from_utf8_lossy(text)));
            assert_eq!(to_string(&value), *expected, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn errors_have_the_words_of_go() {
        let table: &[(&str, &str)] = &[
            ("", "unexpected end of JSON input"),
            ("  ", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("[1", "unexpected end of JSON input"),
            ("\"abc", "unexpected end of JSON input"),
            ("{\"a\":1", "unexpected end of JSON input"),
            ("hello", "invalid character 'h' looking for beginning of value"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("{'a': 1}", "invalid character '\\'' looking for beginning of object key string"),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("{\"a\"}", "invalid character '}' after object key"),
            ("{\"a\":1 \"b\"", "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{} a", "invalid character 'a' after top-level value"),
            ("01", "invalid character '1' after top-level value"),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
            ("\"a\u{1}\"", "invalid character '\\x01' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\\", "invalid character ' ' in string escape code"),
            ("\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"),
            ("\"\\ud800\\u12", "invalid character ' ' in \\u hexadecimal character escape"),
            ("-", "invalid character ' ' in numeric literal"),
            ("-a", "invalid character 'a' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1e", "invalid character ' ' in exponent of numeric literal"),
            ("1e+x", "invalid character 'x' in exponent of numeric literal"),
            ("trux", "invalid character 'x' in literal true (expecting 'e')"),
            ("nul", "invalid character ' ' in literal null (expecting 'l')"),
            ("fa\\", "invalid character '\\\\' in literal false (expecting 'l')"),
            ("é", "invalid character 'Ã' looking for beginning of value"),
            ("1e999", "json: cannot unmarshal number 1e999 into Go value of type float64"),
            ("[1e999,]", "invalid character ']' looking for beginning of value"),
        ];
        for (text, expected) in table {
            match decode(text.as_bytes()) {
                Ok((value, _)) => panic!("{text}: {value:?}"),
                Err(error) => assert_eq!(error.message, *expected, "{text}"),
            }
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        // Walking and dropping values recurses: give it room, as the server does.
        let deepest = std::thread::Builder::new()
            .stack_size(crate::STACK_BYTES)
            .spawn(move || decode(&nested(DEPTH_MAX)).is_ok());
        assert!(deepest.is_ok_and(|thread| thread.join().is_ok_and(|decoded| decoded)));
        let error = decode(&[b'['; DEPTH_MAX + 1]).map_err(|error| error.message);
        assert_eq!(error, Err("invalid character '[' exceeded max depth".into()));
    }

    #[test]
    fn duplicates_are_reported_by_path() {
        let table = [
            (r#"{"a":1,"b":2}"#, vec![]),
            (r#"{"metadata":{"name":"x","name":"x"}}"#, vec!["metadata.name"]),
            (r#"{"data":{"a":"1"},"data":{"a":"2","a":"3","a":"4"}}"#, vec!["data", "data.a"]),
            (r#"{"spec":{"ports":[{},{"name":1,"name":2}]}}"#, vec!["spec.ports[1].name"]),
            (r#"[[{"a":{},"a":{}}]]"#, vec!["[0][0].a"]),
        ];
        for (text, expected) in table {
            assert_eq!(
                decode(text.as_bytes()).map(|decoded| decoded.1.0),
                Ok(expected.iter().map(ToString::to_string).collect()),
                "{text}"
            );
        }
    }

    #[test]
    fn wide_objects_find_their_duplicates() {
        let members: Vec<String> = (0..200).map(|at| format!("\"k{}\":{at}", at % 120)).collect();
        let text = format!("{{{}}}", members.join(","));
        let (value, duplicates) = decode(text.as_bytes()).unwrap_or_default();
        let expected: Vec<String> = (0..80).map(|at| format!("k{at}")).collect();
        assert_eq!(duplicates.0, expected);
        assert_eq!(value.as_object().map(Object::len), Some(120));
        assert_eq!(value.get("k7"), Some(&Value::Int(127)));
        assert_eq!(value.get("k119"), Some(&Value::Int(119)));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_decode_or_fail(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }

        #[test]
        fn near_json_is_judged_as_by_serde(text in r#"[\[\]{}",:0-9eE.+\-a-c\\ ntrufals]{0,24}"#) {
            let ours = decode(text.as_bytes());
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            let range = |message: &str| message.contains("out of range");
            match (&ours, &theirs) {
                (Ok(_), Ok(_)) | (Err(_), Err(_)) => {}
                (Err(ours), Ok(_)) => panic!("{text}: {ours}"),
                (Ok(_), Err(theirs)) => assert!(range(&theirs.to_string()), "{text}: {theirs}"),
            }
        }

        #[test]
        fn strings_round_trip(text: String) {
            let value = Value::from(text);
            assert_eq!(decode(to_string(&value).as_bytes()).map(|decoded| decoded.0), Ok(value));
        }

        #[test]
        fn numbers_round_trip(integer: i64, float in proptest::num::f64::NORMAL) {
            for value in [Value::Int(integer), Value::Float(float)] {
                let text = to_string(&value);
                match decode(text.as_bytes()) {
                    Ok((Value::Int(back), _)) if value == Value::Float(float) => assert!((back as f64 - float).abs() < f64::EPSILON),
                    Ok((back, _)) => assert_eq!(back, value),
                    Err(error) => panic!("{text}: {error}"),
                }
            }
        }
    }
}
