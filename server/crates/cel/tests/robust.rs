//! Whatever is written, nothing panics and nothing runs on.

use std::time::{Duration, Instant};

use apiwright_cel::{CALL_LIMIT, Decl, Env, Type, Val};
use apiwright_json::Value;
use proptest::prelude::*;

fn json(text: &str) -> Value {
    apiwright_json::decode(text.as_bytes()).expect("JSON").0
}

const SCHEMA: &str = r#"{"type":"object","properties":{
    "a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"number"},
    "l":{"type":"array","items":{"type":"string"}},
    "m":{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}},
    "x":{"x-kubernetes-preserve-unknown-fields":true},"i":{"x-kubernetes-int-or-string":true}}}"#;
const VALUE: &str = r#"{"a":9223372036854775807,"b":"ab\u00e9\u4e16","c":-0.5,"l":["p","q","q"],
    "m":{"k":[1,2,3],"j":[]},"x":{"y":[null,{"z":1e300}]},"i":"5%"}"#;

/// Pieces that expressions are made of, in any order.
const PIECES: &[&str] = &[
    "self",
    "d",
    ".a",
    ".b",
    ".c",
    ".l",
    ".m",
    ".x",
    ".i",
    ".?a",
    "[0]",
    "[?0]",
    "['k']",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "?",
    " + ",
    " - ",
    " * ",
    " / ",
    " % ",
    " == ",
    " != ",
    " < ",
    " >= ",
    " in ",
    " && ",
    " || ",
    "!",
    "-",
    "1",
    "0",
    "-9223372036854775808",
    "1u",
    "1.5",
    "'s'",
    "b'\\xff'",
    "r'\\d'",
    "\"\"\"t\"\"\"",
    "true",
    "null",
    "has(self.b)",
    ".all(e, ",
    ".exists(e, ",
    ".exists_one(e, ",
    ".map(e, ",
    ".filter(e, ",
    ".all(i, v, ",
    ".transformList(i, v, ",
    ".transformMap(k, v, ",
    "e",
    "i",
    "v",
    "k",
    "size(",
    ".size()",
    ".matches('a.*b')",
    ".replace('', 'xx')",
    ".split('')",
    ".join('-')",
    ".format([self.a])",
    "'%s%d%e'",
    ".substring(1)",
    ".charAt(9)",
    "int(",
    "string(",
    "double(",
    "duration('1h')",
    "timestamp('2024-01-01T00:00:00Z')",
    ".getHours('Europe/Berlin')",
    "quantity('1Gi')",
    "ip('::1')",
    "cidr('10.0.0.0/8')",
    "url('https://a/b')",
    "semver('1.2.3')",
    ".sum()",
    ".min()",
    ".isSorted()",
    ".indexOf('q')",
    "optional.of(1)",
    "optional.none()",
    ".orValue(2)",
    ".optMap(e, e)",
    "dyn(",
    "type(",
    "cel.bind(z, self.l, z)",
    "sets.contains(self.l, ['q'])",
    ".find('a')",
    ".findAll('b', 2)",
    "\n",
    "// note\n",
];

fn run(source: &str) {
    let decl = Decl::of_schema(&json(SCHEMA), false, "self").expect("a declaration");
    let env = Env::new().with_decl("self", &decl).with("d", Type::Dyn, None);
    let begin = Instant::now();
    match env.compile(source) {
        Err(issues) => drop(issues.to_string()),
        Ok(program) => {
            let value = json(VALUE);
            let own = Val::declared(&value, &decl).expect("a value of the schema");
            let unknown = Decl::dynamic();
            let any = Val::declared(&value, &unknown).expect("any value");
            let outcome = program.evaluate(&[own, any], CALL_LIMIT);
            match outcome.value {
                Ok(value) => drop(value.to_json()),
                Err(why) => drop(why.to_string()),
            }
        }
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{source}");
}

proptest! {
    #[test]
    fn any_text_is_read(source in "\\PC{0,80}") {
        run(&source);
    }

    #[test]
    fn any_order_of_pieces_is_read(pieces in prop::collection::vec(prop::sample::select(PIECES), 1..14)) {
        run(&pieces.concat());
    }

    #[test]
    fn whatever_follows_a_field_is_evaluated(
        start in prop::sample::select(&["self.a", "self.b", "self.l", "self.m", "self.x", "d", "d.l", "d.x.y"][..]),
        rest in prop::collection::vec(prop::sample::select(PIECES), 0..4),
    ) {
        run(&format!("{start}{}", rest.concat()));
    }

    #[test]
    fn any_schema_is_declared(schema in any_schema()) {
        if let Some(decl) = Decl::of_schema(&schema, true, "self") {
            let env = Env::new().with_decl("self", &decl);
            for source in ["self == self", "has(self.a)", "self.a.all(x, x == x)", "self.b[0] + 1"] {
                if let Ok(program) = env.compile(source)
                    && let Ok(own) = Val::declared(&json(VALUE), &decl)
                {
                    drop(program.evaluate(&[own], CALL_LIMIT));
                }
            }
        }
    }
}

/// Schemas, most of which make no sense.
fn any_schema() -> impl Strategy<Value = Value> {
    let kinds = &["object", "array", "string", "integer", "number", "boolean", "null", "file"][..];
    let leaf = (prop::sample::select(kinds), any::<i64>(), any::<bool>()).prop_map(|(kind, most, nullable)| {
        json(&format!(
            r#"{{"type":"{kind}","maxLength":{most},"maxItems":{most},"maxProperties":{most},"nullable":{nullable},"format":"byte"}}"#
        ))
    });
    leaf.prop_recursive(5, 40, 3, |inner| {
        let text = |schema: &Value| apiwright_json::to_string(schema);
        prop_oneof![
            inner
                .clone()
                .prop_map(move |item| json(&format!(r#"{{"type":"array","items":{}}}"#, text(&item)))),
            inner.clone().prop_map(move |one| {
                json(&format!(r#"{{"type":"object","additionalProperties":{}}}"#, text(&one)))
            }),
            (inner.clone(), inner).prop_map(move |(a, b)| {
                json(&format!(r#"{{"type":"object","properties":{{"a":{},"b":{}}}}}"#, text(&a), text(&b)))
            }),
        ]
    })
}

#[test]
fn what_is_deep_or_long_is_refused() {
    for source in ["(".repeat(100_000), "-".repeat(100_000), "[".repeat(5000), "1+".repeat(20_000) + "1"] {
        run(&source);
    }
    run(&format!("{}1{}", "(".repeat(300), ")".repeat(300)));
}

#[test]
fn loops_in_loops_run_out_of_budget() {
    let list = format!("[{}]", vec!["1"; 300].join(","));
    let source = format!("{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, a + b + c + d > 0))))");
    let begin = Instant::now();
    let program = Env::new().compile(&source).expect("it compiles");
    let outcome = program.evaluate(&[], CALL_LIMIT);
    assert!(outcome.value.is_err());
    assert!(begin.elapsed() < Duration::from_secs(20));
}
