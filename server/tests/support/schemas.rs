//! Schemas of definitions that nobody would write, and shapes that some did.

use std::fmt::Write;

/// Numbers that look like chance; the same seed gives the same.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// Below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }

    pub fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const TYPES: &[&str] =
    &["object", "object", "object", "array", "string", "integer", "number", "boolean", "null", "x"];
const NAMES: &[&str] =
    &["a", "b", "metadata", "kind", "apiVersion", "status", "c d", "", "ü", "__proto__", "if"];
const NUMBERS: &[&str] =
    &["0", "-1", "1", "3", "1e308", "-0.5", "9223372036854775807", "18446744073709551616"];
const PATTERNS: &[&str] =
    &["^a", "(", "(a*)*b", "[\\\\d-", "\\\\pL{1000}", "a{1001}", "(?i)x", ".*.*.*=.*", "^(a|a?)+$"];
const FORMATS: &[&str] = &["date", "date-time", "int32", "uuid", "x", "cidr", "k8s-short-name"];
const VALUES: &[&str] = &[
    "null",
    "0",
    "1.5",
    "\"a\"",
    "[]",
    "{}",
    "[null]",
    "{\"a\":{\"b\":[1]}}",
    "true",
    "\"\\u0000\"",
    "1e400",
];
const EXPRESSIONS: &[&str] = &[
    "true",
    "self",
    "self.a == oldSelf.a",
    "self.all(x, self.all(y, self.exists(z, x == y && y == z)))",
    "self.map(x, self.map(y, self)).size() > 0",
    "size(self) < 10",
    "self.b.matches('(a*)*b')",
    "self.replace('', 'xxxxxxxxxx').size() > 1",
    "[1,2,3].all(i, i > 0",
    "has(self.a) ? self.a : 1",
    "self.metadata.name.startsWith('a')",
    "((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))",
    "",
    " ",
];

/// A schema, as JSON. What it says may contradict itself, and need not be allowed.
pub fn any(dice: &mut Dice, depth: usize) -> String {
    let mut words = Vec::new();
    if dice.below(12) > 0 {
        let kind = if depth == 0 { "object" } else { dice.one(TYPES) };
        words.push(format!("\"type\":\"{kind}\""));
        if kind == "array" && dice.below(8) > 0 {
            words.push(format!("\"items\":{}", any(dice, depth + 1)));
        }
    }
    let inner = |dice: &mut Dice| if depth < 5 { any(dice, depth + 1) } else { "{}".to_owned() };
    if depth < 6 && dice.below(3) > 0 {
        let count = dice.below(5);
        let members: Vec<String> =
            (0..count).map(|_| format!("\"{}\":{}", dice.one(NAMES), inner(dice))).collect();
        words.push(format!("\"properties\":{{{}}}", members.join(",")));
    }
    for _ in 0..dice.below(4) {
        let word = match dice.below(24) {
            0 => format!("\"additionalProperties\":{}", inner(dice)),
            1 => format!("\"additionalProperties\":{}", dice.below(2) == 0),
            2..=4 => {
                let word = dice.one(&["allOf", "anyOf", "oneOf"]);
                let count = dice.below(3);
                let branches: Vec<String> = (0..count).map(|_| inner(dice)).collect();
                format!("\"{word}\":[{}]", branches.join(","))
            }
            5 => format!("\"not\":{}", inner(dice)),
            6 => format!("\"default\":{}", dice.one(VALUES)),
            7 => format!("\"enum\":[{},{}]", dice.one(VALUES), dice.one(VALUES)),
            8..=10 => {
                let word = dice.one(&["minimum", "maximum", "multipleOf"]);
                format!("\"{word}\":{}", dice.one(NUMBERS))
            }
            11..=13 => {
                let word = dice.one(&["maxLength", "minLength", "maxItems", "minItems", "maxProperties"]);
                format!("\"{word}\":{}", dice.one(NUMBERS))
            }
            14 => format!("\"pattern\":\"{}\"", dice.one(PATTERNS)),
            15 => format!("\"format\":\"{}\"", dice.one(FORMATS)),
            16 => format!("\"required\":[\"{}\",\"{}\"]", dice.one(NAMES), dice.one(NAMES)),
            17 => "\"nullable\":true".to_owned(),
            18 => "\"x-kubernetes-preserve-unknown-fields\":true".to_owned(),
            19 => "\"x-kubernetes-embedded-resource\":true".to_owned(),
            20 => "\"x-kubernetes-int-or-string\":true".to_owned(),
            21 => {
                let kind = dice.one(&["set", "map", "atomic", "x"]);
                let key = dice.one(NAMES);
                format!("\"x-kubernetes-list-type\":\"{kind}\",\"x-kubernetes-list-map-keys\":[\"{key}\"]")
            }
            22 => {
                let (rule, message) = (dice.one(EXPRESSIONS), dice.one(EXPRESSIONS));
                format!(
                    "\"x-kubernetes-validations\":[{{\"rule\":\"{rule}\",\"messageExpression\":\"{message}\"}}]"
                )
            }
            _ => format!(
                "\"{}\":{}",
                dice.one(&["id", "$ref", "definitions", "items", "title"]),
                dice.one(VALUES)
            ),
        };
        words.push(word);
    }
    format!("{{{}}}", words.join(","))
}

/// A value, as JSON.
pub fn value(dice: &mut Dice, depth: usize) -> String {
    match dice.below(if depth < 4 { 6 } else { 3 }) {
        3 => {
            let count = dice.below(4);
            format!("[{}]", (0..count).map(|_| value(dice, depth + 1)).collect::<Vec<_>>().join(","))
        }
        4 | 5 => members(dice, depth),
        _ => dice.one(VALUES).replace("1e400", "1e40"),
    }
}

fn members(dice: &mut Dice, depth: usize) -> String {
    let count = dice.below(5);
    let member = |dice: &mut Dice| format!("\"{}\":{}", dice.one(NAMES), value(dice, depth + 1));
    format!("{{{}}}", (0..count).map(|_| member(dice)).collect::<Vec<_>>().join(","))
}

/// Members of an object of a kind, without its identity.
pub fn object(dice: &mut Dice) -> String {
    let mut all = String::new();
    for name in ["a", "b", "spec", "status"] {
        write!(all, ",\"{name}\":{}", value(dice, 0)).expect("text");
    }
    all
}

/// The shape of a large real definition: a spec that repeats a pod's template in many places, with hundreds
/// of properties, ten levels deep, and a rule at each object.
pub fn large(branches: usize) -> String {
    let mut leaf = String::new();
    for at in 0..12 {
        let schema = match at % 4 {
            0 => {
                r#"{"type":"string","maxLength":253,"pattern":"^[a-z0-9.-]*$","description":"A name, as long as names are."}"#
            }
            1 => r#"{"type":"integer","format":"int32","minimum":0,"maximum":65535}"#,
            2 => r#"{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}"#,
            _ => {
                r#"{"type":"object","maxProperties":16,"additionalProperties":{"type":"string","maxLength":64}}"#
            }
        };
        write!(leaf, "\"f{at}\":{schema},").expect("text");
    }
    let mut schema = format!(r#"{{"type":"object","properties":{{{leaf}"end":{{"type":"boolean"}}}}}}"#);
    for level in 0..8 {
        let list = format!(
            r#"{{"type":"array","maxItems":4,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
            "items":{{"type":"object","required":["name"],"properties":{{"name":{{"type":"string","maxLength":63}},
            {leaf}"deeper":{schema}}}}}}}"#
        );
        schema = format!(
            r#"{{"type":"object","properties":{{{leaf}"l{level}":{list}}},
            "x-kubernetes-validations":[{{"rule":"!has(self.f1) || self.f1 <= 65535","message":"too much"}}]}}"#
        );
    }
    let all: Vec<String> = (0..branches).map(|at| format!("\"branch{at}\":{schema}")).collect();
    format!(
        r#"{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{{}}}}}}}}}"#,
        all.join(",")
    )
}

/// A schema that nests so deep.
pub fn deep(levels: usize) -> String {
    let open = r#"{"type":"object","properties":{"a":"#;
    format!("{}{}{}", open.repeat(levels), r#"{"type":"string"}"#, "}}".repeat(levels))
}
