//! Many definitions, one after the other: all are served soon, take little memory and, afterwards, no time.
//!
//! `APIWRIGHT_DEFINITIONS=1000` makes that many; the figures are printed. Whatever a definition says, nothing
//! panics and nothing runs on: `APIWRIGHT_RANDOM_DEFINITIONS=1000` tries that many, `APIWRIGHT_SEED` the same
//! again.

mod support;

use std::fmt::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use apiwright_json::Value;
use support::api::Api;
use support::process::Server;
use support::schemas::{self, Dice};
use tempfile::TempDir;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP: &str = "many.example.com";
const PROPERTIES: usize = 30;
/// A clock tick of `/proc`.
const TICK: Duration = Duration::from_millis(10);

/// A definition whose objects have properties of every kind.
fn definition(number: usize) -> String {
    let mut properties = String::new();
    for at in 0..PROPERTIES {
        let schema = match at % 6 {
            0 => r#"{"type":"string","maxLength":64,"description":"What it is called."}"#,
            1 => r#"{"type":"integer","minimum":0,"default":1}"#,
            2 => r#"{"type":"array","maxItems":8,"items":{"type":"string"}}"#,
            3 => r#"{"type":"object","additionalProperties":{"type":"string"}}"#,
            4 => r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"}}}"#,
            _ => r#"{"type":"string","enum":["A","B","C"],"default":"A"}"#,
        };
        let comma = if at == 0 { "" } else { "," };
        write!(properties, "{comma}\"p{number}x{at}\":{schema}").expect("text");
    }
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
        "metadata":{{"name":"things{number}.{GROUP}"}},"spec":{{"group":"{GROUP}","scope":"Namespaced",
        "names":{{"plural":"things{number}","singular":"thing{number}","kind":"Thing{number}"}},
        "versions":[{{"name":"v1","served":true,"storage":true,"subresources":{{"status":{{}}}},"schema":{{
        "openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{{properties}}},
        "x-kubernetes-validations":[{{"rule":"self.p{number}x1 < 10"}}]}},
        "status":{{"type":"object","properties":{{"phase":{{"type":"string"}}}}}}}}}}}}}}]}}}}"#
    )
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// The CPU time that a process has taken.
fn busy(id: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("a process");
    let (_, rest) = stat.rsplit_once(") ").expect("a name");
    let ticks = |at: usize| rest.split(' ').nth(at).and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
    TICK * (ticks(11) + ticks(12))
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition.at(&["status", "conditions"]).and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|one| one.text_at(&["type"]) == "Established" && one.text_at(&["status"]) == "True")
}

/// How many definitions are established.
async fn established(api: &Api) -> usize {
    let list = api.get(DEFINITIONS).await.ok();
    let items = list.get("items").and_then(Value::as_array);
    items.into_iter().flatten().filter(|one| is_established(one)).count()
}

/// How many resources discovery tells of, subresources aside.
async fn discovered(api: &Api) -> usize {
    let answer = api.get(&format!("/apis/{GROUP}/v1")).await;
    if answer.code != 200 {
        return 0;
    }
    let list = answer.ok();
    let items = list.get("resources").and_then(Value::as_array);
    items.into_iter().flatten().filter(|one| !one.text_at(&["name"]).contains('/')).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_definitions_are_no_burden() {
    let wanted = variable("APIWRIGHT_DEFINITIONS", 60) as usize;
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &[]);
    let api = Api(server.client().await);
    let (empty, idle_before) = (resident(server.id()), busy(server.id()));
    let began = Instant::now();
    for number in 1..wanted {
        assert_eq!(api.post(DEFINITIONS, &definition(number)).await.code, 201);
    }
    let last = Instant::now();
    assert_eq!(api.post(DEFINITIONS, &definition(wanted)).await.code, 201);
    while discovered(&api).await < wanted {
        assert!(last.elapsed() < Duration::from_secs(10), "the last definition is not in discovery");
    }
    let in_discovery = last.elapsed();
    let document = api.get(&format!("/openapi/v3/apis/{GROUP}/v1")).await;
    let in_openapi = last.elapsed();
    assert!(
        document.ok().at(&["components", "schemas", &format!("com.example.many.v1.Thing{wanted}")]).is_some()
    );
    while established(&api).await < wanted {
        assert!(began.elapsed() < Duration::from_mins(1), "not all are established");
    }
    let (took, cost) = (began.elapsed(), busy(server.id()).saturating_sub(idle_before));
    let made = resident(server.id());
    // Whoever uses them makes the server compile them.
    for number in 1..=wanted {
        let path = format!("/apis/{GROUP}/v1/namespaces/default/things{number}");
        let body = format!(
            r#"{{"apiVersion":"{GROUP}/v1","kind":"Thing{number}","metadata":{{"name":"one"}},"spec":{{"p{number}x1":3}}}}"#
        );
        assert_eq!(api.post(&path, &body).await.code, 201);
    }
    let used = resident(server.id());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let rest = busy(server.id());
    tokio::time::sleep(Duration::from_secs(3)).await;
    let idle = busy(server.id()).saturating_sub(rest);
    let each = |bytes: u64| (bytes.saturating_sub(empty) / wanted as u64) >> 10;
    println!(
        "{wanted} definitions of {PROPERTIES} properties: established and in discovery after {took:.1?}, {cost:.1?} of CPU \
         time; {} KiB each, {} KiB with an object; the last in discovery after {in_discovery:.0?}, in OpenAPI after \
         {in_openapi:.0?}; then {idle:.0?} of CPU time in 3 s",
        each(made),
        each(used),
    );
    // Machines are busy; the factors say what is not by chance.
    assert!(took < Duration::from_secs(15) + Duration::from_millis(50) * wanted as u32);
    assert!(wanted < 500 || each(used) < 300, "{} KiB each", each(used));
    assert!(idle <= Duration::from_millis(60), "it has nothing to do and is busy: {idle:?}");
}

/// A definition of a kind with this schema.
fn with_schema(number: u64, schema: &str) -> String {
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
        "metadata":{{"name":"odd{number}s.{GROUP}"}},"spec":{{"group":"{GROUP}","scope":"Namespaced",
        "names":{{"plural":"odd{number}s","singular":"odd{number}","kind":"Odd{number}"}},
        "versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
    )
}

/// What an answer may say of what cannot be: never that the server failed.
async fn asked(api: &Api, path: &str, body: &str) -> u16 {
    const PATIENCE: Duration = Duration::from_secs(20);
    let answer = tokio::time::timeout(PATIENCE, api.post(path, body)).await;
    let code = answer.unwrap_or_else(|_| panic!("it takes too long: {body}")).code;
    assert!(matches!(code, 201 | 400 | 404 | 409 | 422), "{code}: {body}");
    code
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_definition_says_the_server_goes_on() {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let seed = variable("APIWRIGHT_SEED", clock >> 1);
    println!("APIWRIGHT_SEED={seed}");
    let mut dice = Dice::new(seed);
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &[]);
    let api = Api(server.client().await);
    let empty = resident(server.id());
    let (tried, mut accepted) = (variable("APIWRIGHT_RANDOM_DEFINITIONS", 100), 0);
    for number in 0..tried {
        let definition = with_schema(number, &schemas::any(&mut dice, 0));
        if asked(&api, DEFINITIONS, &definition).await != 201 {
            continue;
        }
        accepted += 1;
        let path = format!("/apis/{GROUP}/v1/namespaces/default/odd{number}s");
        for name in ["one", "two"] {
            let members = schemas::object(&mut dice);
            let object = format!(
                r#"{{"apiVersion":"{GROUP}/v1","kind":"Odd{number}","metadata":{{"name":"{name}"}}{members}}}"#
            );
            asked(&api, &path, &object).await;
        }
        assert_eq!(api.get(&path).await.code, 200);
    }
    println!("{accepted} of {tried} were accepted");
    asked(&api, DEFINITIONS, &with_schema(tried, &schemas::deep(150))).await;
    let path = format!("/apis/{GROUP}/v1/namespaces/default/odd{tried}s");
    let (open, close) = (r#"{"a":"#.repeat(150), "}".repeat(150));
    let nested = format!(
        r#"{{"apiVersion":"{GROUP}/v1","kind":"Odd{tried}","metadata":{{"name":"one"}},"a":{open}1{close}}}"#
    );
    asked(&api, &path, &nested).await;
    for path in [&format!("/openapi/v3/apis/{GROUP}/v1"), "/openapi/v2", "/readyz"] {
        assert_eq!(api.get(path).await.code, 200, "{path}");
    }
    let grown = resident(server.id()).saturating_sub(empty) >> 20;
    assert!(grown < 64 + tried, "{grown} MiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn large_definitions_are_served() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &[]);
    let api = Api(server.client().await);
    let empty = resident(server.id());
    let schema = schemas::large(4);
    let began = Instant::now();
    let answer = api.post(DEFINITIONS, &with_schema(0, &schema)).await;
    assert_eq!(answer.code, 201, "{}", answer.text());
    let created = began.elapsed();
    let path = format!("/apis/{GROUP}/v1/namespaces/default/odd0s");
    let object = |name: &str, number: i32| {
        format!(
            r#"{{"apiVersion":"{GROUP}/v1","kind":"Odd0","metadata":{{"name":"{name}"}},"spec":{{"branch0":{{"f1":{number},
            "l7":[{{"name":"a","deeper":{{"f1":{number}}}}}]}}}}}}"#
        )
    };
    assert_eq!(api.post(&path, &object("one", 5)).await.code, 201);
    let first = began.elapsed().saturating_sub(created);
    let refused = api.post(&path, &object("two", 70000)).await;
    assert_eq!(refused.code, 422, "{}", refused.text());
    assert_eq!(api.get(&format!("/openapi/v3/apis/{GROUP}/v1")).await.code, 200);
    let told = began.elapsed().saturating_sub(created + first);
    let grown = resident(server.id()).saturating_sub(empty) >> 10;
    println!(
        "{} KiB of schema: created in {created:.0?}, its first object in {first:.0?}, told of in {told:.0?}; {grown} KiB resident",
        schema.len() >> 10
    );
    assert!(began.elapsed() < Duration::from_secs(30));
}

/// What custom resources answer, step by step, as upstream does.
#[tokio::test(flavor = "multi_thread")]
async fn custom_resources_answer_as_upstream_does() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &[]);
    let api = Api(server.client().await);
    let schema = r#"{"type":"object","properties":{"kind":{"type":"string","enum":["Odd1"]},
        "spec":{"type":"object","properties":{
            "open":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true},
            "closed":{"type":"object","additionalProperties":false},
            "day":{"type":"string","format":"date"},"unset":{"type":"string","nullable":true,"enum":["a"]},
            "inner":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{
                "metadata":{"type":"object","required":["name"]}}}}},
        "status":{"type":"object","properties":{"phase":{"type":"string"}}}}}"#;
    let definition = with_schema(1, schema)
        .replace("\"storage\":true", "\"storage\":true,\"subresources\":{\"status\":{}}");
    let since =
        api.post(DEFINITIONS, &definition).await.ok().text_at(&["metadata", "resourceVersion"]).to_owned();
    let root = r#"{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}"#;
    api.post(DEFINITIONS, &with_schema(2, root)).await.ok();
    let path = |number: u32| format!("/apis/{GROUP}/v1/namespaces/default/odd{number}s");
    while api.get(&path(2)).await.code != 200 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let object = |number: u32, members: &str| {
        format!(
            r#"{{"apiVersion":"{GROUP}/v1","kind":"Odd{number}","metadata":{{"name":"one","labels":{{"a":"b"}}}}{members}}}"#
        )
    };
    for (number, members, code, want) in [
        (
            1,
            r#","spec":{"closed":{"k":1}}"#,
            422,
            r#"spec.closed: Invalid value: \"k\": spec.closed.k in body is a forbidden property"#,
        ),
        (
            1,
            r#","spec":{"day":5}"#,
            422,
            r#"spec.day: Invalid value: \"int64\": spec.day in body must be of type date: \"int64\""#,
        ),
        (
            1,
            r#","spec":{"unset":null}"#,
            422,
            r#"spec.unset: Unsupported value: null: supported values: \"a\""#,
        ),
        (
            1,
            r#","spec":{"inner":{"apiVersion":"v1","kind":5}}"#,
            400,
            "spec.inner.kind: Invalid value: 5: must be a string",
        ),
        (
            1,
            r#","spec":{"inner":{"apiVersion":"v1","kind":"X","metadata":{}}}"#,
            422,
            "spec.inner.metadata.name: Required value",
        ),
        (1, r#","spec":{"open":{"a":"x","b":{"c":1}}}"#, 201, r#""spec":{"open":{"a":"x","b":{}}}"#),
        (2, "", 422, r#"\"\" must validate at least one schema (anyOf), a: Required value]"#),
        (2, r#","b":1"#, 201, r#""b":1"#),
    ] {
        let answer = api.post(&path(number), &object(number, members)).await;
        assert_eq!(answer.code, code, "{members}: {}", answer.text());
        assert!(answer.text().contains(want), "{members}: {}", answer.text());
    }
    // A status is written by itself, and told of as if there were nothing around it.
    let one = format!("{}/one", path(1));
    let patch = |members: &str| format!(r#"{{"metadata":{{"labels":{{"c":"d"}}}},{members}}}"#);
    let refused = api.patch(&format!("{one}/status"), &patch(r#""status":{"phase":1}"#)).await;
    let want =
        r#"status.phase: Invalid value: \"integer\": phase in body must be of type string: \"integer\""#;
    assert!(refused.code == 422 && refused.text().contains(want), "{}", refused.text());
    let written =
        api.patch(&format!("{one}/status"), &patch(r#""status":{"phase":"A"},"spec":null"#)).await.ok();
    assert_eq!(written.text_at(&["status", "phase"]), "A");
    assert!(written.at(&["metadata", "labels", "c"]).is_none() && written.get("spec").is_some());
    // Nobody may ask for changes from before there was such a thing.
    let before = since.parse::<u64>().expect("a number") - 1;
    let mut events = api.watch(&format!("{}?watch=1&resourceVersion={before}", path(1))).await;
    let event = events.next().await.expect("an event");
    assert_eq!(event.at(&["object", "code"]), Some(&Value::from(410)), "{event:?}");
}
