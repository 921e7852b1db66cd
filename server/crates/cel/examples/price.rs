//! What rules cost: the time to compile one and to ask it about an object.
//!
//! `cargo run --release -p apiwright-cel --example price`

use std::hint::black_box;
use std::time::{Duration, Instant};

use apiwright_cel::{CALL_LIMIT, Decl, Env, Val};
use apiwright_json::Value;

const SCHEMA: &str = r#"{"type":"object","properties":{
    "replicas":{"type":"integer"},"least":{"type":"integer"},"most":{"type":"integer"},"name":{"type":"string"},
    "ports":{"type":"array","maxItems":20,"items":{"type":"object","properties":{
        "name":{"type":"string"},"port":{"type":"integer"}}}}}}"#;
const VALUE: &str = r#"{"replicas":3,"least":1,"most":9,"name":"a-name","ports":[
    {"name":"a","port":1},{"name":"b","port":2},{"name":"c","port":3},{"name":"d","port":4},
    {"name":"e","port":5},{"name":"f","port":6},{"name":"g","port":7},{"name":"h","port":8}]}"#;
const RULES: &[&str] = &[
    "self.replicas <= self.most",
    "self.least <= self.replicas && self.replicas <= self.most",
    "!has(self.name) || self.name.startsWith('a-')",
    "self.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    "self.ports.all(p, p.port > 0 && p.port < 65536)",
];

fn main() {
    let json = |text: &str| -> Value { apiwright_json::decode(text.as_bytes()).expect("JSON").0 };
    let decl = Decl::of_schema(&json(SCHEMA), false, "self").expect("a declaration");
    let value = json(VALUE);
    let env = Env::new().with_decl("self", &decl);
    for rule in RULES {
        let compiled = time(200, || env.compile(rule).is_ok());
        let program = env.compile(rule).expect("it compiles");
        let asked = time(200_000, || {
            let own = Val::declared(&value, &decl).expect("a value of the schema");
            program.evaluate(&[own], CALL_LIMIT).value.is_ok()
        });
        println!("{asked:>10.2?} {compiled:>10.2?} to compile  {rule}");
    }
}

/// The mean time of one turn.
fn time(turns: u32, mut turn: impl FnMut() -> bool) -> Duration {
    let begin = Instant::now();
    for _ in 0..turns {
        assert!(black_box(turn()));
    }
    begin.elapsed() / turns
}
