//! YAML from and to [`Value`], as sigs.k8s.io/yaml has it: YAML 1.1 by way of JSON.
//!
//! Position: beside `decode` and `encode`, for requests and answers in `application/yaml` and for apply patches.
//! Invariant: what a scalar means, which keys collide, how a value is laid out and the words for most faults are
//! upstream's. Aliases cannot blow a small text up.
//! Absence: only the first document is read; UTF-16; more than [`DEPTH_MAX`] levels.

mod compose;
mod fault;
mod nodes;
mod order;
mod resolve;
mod style;
mod write;

use crate::{Error, Value};

pub use write::{to_bytes, to_string};

/// How deep collections may nest. Upstream takes ten times as much; nobody indents that far.
pub const DEPTH_MAX: usize = 1000;

/// Keys that came more than once, in the words that warnings use: `line 8: key "a" already set in map`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collisions(pub Vec<String>);

impl Collisions {
    /// The one error that strict decoding makes of them; `None` where there is none.
    pub fn strict_error(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| format!("yaml: unmarshal errors:\n  {}", self.0.join("\n  ")))
    }
}

/// Decodes the first document; an empty text is null. Members are sorted by name and the last of equal keys wins.
///
/// # Errors
/// When the text is not YAML, or has no form in JSON.
pub fn decode(text: &[u8]) -> Result<(Value, Collisions), Error> {
    if let Some(value) = json(text) {
        return Ok((value, Collisions::default()));
    }
    let text = fault::check_text(text)?;
    match nodes::read(text)? {
        Some(document) => compose::compose(&document),
        None => Ok((Value::Null, Collisions::default())),
    }
}

/// What is JSON already, as most apply patches are, without keys that collide.
fn json(text: &[u8]) -> Option<Value> {
    if text.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let (mut value, duplicates) = crate::decode(text).ok()?;
    if !duplicates.0.is_empty() {
        return None;
    }
    as_by_yaml(&mut value);
    Some(value)
}

/// Members sorted and whole floats made integers: what a value loses on the way through YAML.
fn as_by_yaml(value: &mut Value) {
    match value {
        Value::Float(number) => *value = whole(*number),
        Value::Array(items) => items.iter_mut().for_each(as_by_yaml),
        Value::Object(object) => {
            object.sort();
            object.iter_mut().for_each(|(_, value)| as_by_yaml(value));
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::String(_) => {}
    }
}

/// A float, or the integer that JSON makes of a whole one.
fn whole(number: f64) -> Value {
    let mut text = Vec::new();
    crate::encode::float_to_bytes(number, &mut text);
    let integer = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
    integer.map_or(Value::Float(number), Value::Int)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decode as decode_json, to_string as to_json};

    fn json(text: &str) -> String {
        match decode(text.as_bytes()) {
            Ok((value, _)) => to_json(&value),
            Err(error) => error.message,
        }
    }

    #[test]
    fn documents() {
        let table = [
            ("", "null"),
            ("# nothing\n", "null"),
            ("---\n", "null"),
            ("a: 1\n---\nb: 2\n", r#"{"a":1}"#),
            ("b: 1\na: [x, 'y', \"z\\n\", ~]\n", r#"{"a":["x","y","z\n",null],"b":1}"#),
            ("- a: b\n  c: d\n-\n- - e\n", r#"[{"a":"b","c":"d"},null,["e"]]"#),
            ("a: |\n  x\n  y\nb: >-\n  x\n  y\n", r#"{"a":"x\ny\n","b":"x y"}"#),
            ("{\"a\": {\"b\": [1, 2.5, true, null]}}", r#"{"a":{"b":[1,2.5,true,null]}}"#),
            ("1: a\ntrue: b\n1.5: c\n", r#"{"1":"a","1.5":"c","true":"b"}"#),
            ("x: &a {b: 1}\nz: *a\n", r#"{"x":{"b":1},"z":{"b":1}}"#),
            ("x: &a {b: 1, c: 2}\nz:\n  <<: *a\n  c: 3\n", r#"{"x":{"b":1,"c":2},"z":{"b":1,"c":3}}"#),
            ("x:\n  <<: [{a: 1, b: 1}, {a: 2, c: 2}]\n", r#"{"x":{"a":1,"b":1,"c":2}}"#),
            ("a: !!str 1\nb: !!float 1\nc: !x y\nd: !!binary aGk=\n", r#"{"a":"1","b":1,"c":"y","d":"hi"}"#),
            ("t: 2001-01-01\nv: 1.20.3\nw: 1:30\n", r#"{"t":"2001-01-01","v":"1.20.3","w":"1:30"}"#),
            ("{\n\t\"a\": 1\n}\n", r#"{"a":1}"#),
            (r#"{"b":[1e3,1.5],"a":{"d":1,"c":2}}"#, r#"{"a":{"c":2,"d":1},"b":[1000,1.5]}"#),
            ("{a: 1, \"b\": 2}", r#"{"a":1,"b":2}"#),
        ];
        for (text, expected) in table {
            assert_eq!(json(text), expected, "{text}");
        }
    }

    #[test]
    fn colliding_keys() {
        let table: &[(&str, &str, &[&str])] = &[
            (
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y2\ndata:\n  a: b\n  a: c\n",
                r#"{"apiVersion":"v1","data":{"a":"c"},"kind":"ConfigMap","metadata":{"name":"y2"}}"#,
                &["line 7: key \"a\" already set in map"],
            ),
            ("1: a\n1: b\n", r#"{"1":"b"}"#, &["line 2: key 1 already set in map"]),
            (
                "x: {a: 1}\nx:\n  a: 2\n  a: 3\n",
                r#"{"x":{"a":3}}"#,
                &["line 4: key \"a\" already set in map", "line 3: key \"x\" already set in map"],
            ),
            (
                "a: &a {b: 1}\nc: {b: 2, <<: *a}\n",
                r#"{"a":{"b":1},"c":{"b":1}}"#,
                &["line 1: key \"b\" already set in map"],
            ),
        ];
        for (text, expected, collisions) in table {
            let (value, found) = decode(text.as_bytes()).unwrap_or_default();
            assert_eq!(
                (to_json(&value).as_str(), found.0),
                (*expected, collisions.iter().map(ToString::to_string).collect())
            );
        }
        assert_eq!(
            Collisions(vec!["line 2: a".into(), "line 3: b".into()]).strict_error().as_deref(),
            Some("yaml: unmarshal errors:\n  line 2: a\n  line 3: b")
        );
    }

    #[test]
    fn faults_have_the_words_of_upstream() {
        let table = [
            ("a: [b", "yaml: line 1: did not find expected ',' or ']'"),
            ("a: [b\nc: d\n", "yaml: line 1: did not find expected ',' or ']'"),
            ("apiVersion: v1\nkind: [ConfigMap\n", "yaml: line 2: did not find expected ',' or ']'"),
            (
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: broken\n data: {a: b}\n",
                "yaml: line 4: did not find expected key",
            ),
            ("x: y\na: {b\n", "yaml: line 2: did not find expected ',' or '}'"),
            ("a: b\n c: d\n", "yaml: line 2: mapping values are not allowed in this context"),
            ("a: b\nc\n", "yaml: line 3: could not find expected ':'"),
            ("a:\n  - b\n  c: d\n", "yaml: line 2: did not find expected '-' indicator"),
            ("a:\n   b: c\n  d: e\n", "yaml: line 2: did not find expected key"),
            ("a: 'b", "yaml: found unexpected end of stream"),
            ("x: y\na: \"b\\q\"\n", "yaml: line 2: found unknown escape character"),
            ("x: y\na: @b\n", "yaml: line 2: found character that cannot start any token"),
            ("a: *b\n", "yaml: unknown anchor 'b' referenced"),
            ("a: &a [*a]\n", "yaml: anchor 'a' value contains itself"),
            ("a: !!int x\n", "yaml: cannot decode !!str `x` as a !!int"),
            ("<<: 1\n", "yaml: map merge requires map or sequence of maps as the value"),
            ("a: .nan\n", "json: unsupported value: NaN"),
            ("[a]: b\n", "yaml: invalid map key: []interface {}{\"a\"}"),
            ("a: \u{1}\n", "yaml: control characters are not allowed"),
        ];
        let wrong: Vec<_> = table
            .iter()
            .filter(|(text, expected)| json(text) != *expected)
            .map(|(text, expected)| (text, expected, json(text)))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert_eq!(
            decode(b"a: \xff").map_err(|error| error.message),
            Err("yaml: invalid leading UTF-8 octet".into())
        );
    }

    #[test]
    fn nothing_blows_up() {
        let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for at in 1..12 {
            let list = vec![format!("*a{}", at - 1); 10].join(",");
            bomb.push_str(&format!("a{at}: &a{at} [{list}]\n"));
        }
        assert_eq!(json(&bomb), "yaml: document contains excessive aliasing");
        for deep in ["[".repeat(100_000), "{a: ".repeat(5000), "- ".repeat(5000)] {
            assert!(json(&deep).contains("exceeded max depth"), "{}", json(&deep));
        }
        let mut chain = String::from("a0: &a0 [x]\n");
        for at in 1..5000 {
            chain.push_str(&format!("a{at}: &a{at} [*a{}]\n", at - 1));
        }
        assert!(json(&chain).starts_with("yaml: "));
        let deepest = format!("{}{}", "[".repeat(DEPTH_MAX), "]".repeat(DEPTH_MAX));
        assert!(json(&deepest).starts_with("[["));
    }

    #[test]
    fn values_are_laid_out_as_by_upstream() {
        let table = [
            ("null", "null\n"),
            ("{}", "{}\n"),
            ("[]", "[]\n"),
            ("\"x\"", "x\n"),
            (
                r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c","labels":{}},"data":{"a":"1","b":"true","e":"","t":"2026-01-01T00:00:00Z"}}"#,
                "apiVersion: v1\ndata:\n  a: \"1\"\n  b: \"true\"\n  e: \"\"\n  t: \"2026-01-01T00:00:00Z\"\nkind: ConfigMap\nmetadata:\n  labels: {}\n  name: c\n",
            ),
            (
                r#"{"a":[{"b":1,"c":[1,[2,3],[]]},"x"],"d":[]}"#,
                "a:\n- b: 1\n  c:\n  - 1\n  - - 2\n    - 3\n  - []\n- x\nd: []\n",
            ),
            (
                r#"{"a":"x\ny","b":"x\ny\n","c":"x\ny\n\n","d":" x\ny","e":"x \ny","f":"x\ty"}"#,
                "a: |-\n  x\n  y\nb: |\n  x\n  y\nc: |+\n  x\n  y\n\nd: |2-\n   x\n  y\ne: \"x \\ny\"\nf: \"x\\ty\"\n",
            ),
            (
                r##"{"a":"- x","b":"x: y","c":"#","d":"it's","e":"'q'","f":" lead","g":"*","h":"a#b","i":"x:","j":"-1","k":"-x","l":"? "}"##,
                "a: '- x'\nb: 'x: y'\nc: '#'\nd: it's\ne: '''q'''\nf: ' lead'\ng: '*'\nh: a#b\ni: 'x:'\nj: \"-1\"\nk: -x\nl: '? '\n",
            ),
            (
                r#"{"a":1.5,"b":1e21,"c":1234567.5,"d":100.0,"e":-0.00001}"#,
                "a: 1.5\nb: 1e+21\nc: 1.2345675e+06\nd: 100\ne: -1e-05\n",
            ),
            (
                r#"{"a":"é","b":"😀","c":"\u0007","y":"n","z":"~","true":1}"#,
                "a: é\nb: \"\\U0001F600\"\nc: \"\\a\"\n\"true\": 1\n\"y\": \"n\"\nz: \"~\"\n",
            ),
            (r#"{"a10":1,"a9":2,"A":3,"a_":4,"ab":5}"#, "A: 3\na_: 4\na9: 2\na10: 1\nab: 5\n"),
            (
                r#"{"message":"configmaps \"shoemaker\" is forbidden: User \"bob\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"default\""}"#,
                "message: 'configmaps \"shoemaker\" is forbidden: User \"bob\" cannot get resource \"configmaps\"\n  in API group \"\" in the namespace \"default\"'\n",
            ),
            (r#"{"a\nb":{"c":1}}"#, "? |-\n  a\n  b\n: c: 1\n"),
            (r#"["a\n",{"b":"c\n"}]"#, "- |\n  a\n- b: |\n    c\n"),
        ];
        for (text, expected) in table {
            let value = decode_json(text.as_bytes()).map(|decoded| decoded.0).unwrap_or_default();
            assert_eq!(to_string(&value), expected, "{text}");
        }
    }

    #[test]
    fn long_lines_are_folded() {
        let words = "abcdefghi ".repeat(12);
        let value = decode_json(
            format!("{{\"a\":{:?},\"b\":{:?}}}", words.trim_end(), format!("'{}", words.trim_end()))
                .as_bytes(),
        )
        .map(|decoded| decoded.0)
        .unwrap_or_default();
        let first = "abcdefghi ".repeat(8);
        let (first, rest) = (first.trim_end(), "abcdefghi ".repeat(4));
        assert_eq!(to_string(&value), format!("a: {first}\n  {0}\nb: '''{first}\n  {0}'\n", rest.trim_end()));
    }

    fn any_value() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Int),
            (-1e300..1e300f64).prop_map(|number| Value::Float(number + 0.5)),
            "[ a-z0-9:#'\"\\n\\t,{}\\[\\]&*!|>%@`?.~<=-]{0,12}".prop_map(Value::from),
            "[a-z ]{60,120}".prop_map(Value::from),
            "(y|no|1_0|0x1f|1e3|\\.5|\\+1|null|~|<<|2001-01-01|12:30)".prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
                prop::collection::vec(("[a-z ]{0,3}|[ a-z0-9:#'\"\\n,-]{0,8}", inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest::proptest! {
        #[test]
        fn written_values_are_read_back(value in any_value()) {
            let text = to_string(&value);
            // By way of JSON, as floats that are whole become integers there.
            let expected = decode_json(to_json(&value).as_bytes()).map(|decoded| decoded.0).unwrap_or_default();
            let (back, collisions) = decode(text.as_bytes()).unwrap_or_else(|error| panic!("{}\n{text}", error.message));
            assert_eq!(back, expected, "{text}");
            assert_eq!(collisions.0.len(), 0, "{text}");
        }

        #[test]
        fn any_text_decodes_or_fails(text in "[ \\n:a-c0-2'\"\\[\\]{}&*!|>%@`?,~<.#\\\\-]{0,40}|.*") {
            let _ = decode(text.as_bytes());
        }

        #[test]
        fn any_bytes_decode_or_fail(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }
    }
}
